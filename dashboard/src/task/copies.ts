/** The call of a task as commands that make the same call again. Secrets were hidden before they came here, and stay so. */
import { isJsonObject } from '../../../src/model/json.ts';
import type { TaskStory } from '../../../src/operator/api.ts';

const revision = '2026-07-28';

/** As one argument of a POSIX shell: nothing inside single quotes means anything to it. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function curlOf({ task, arguments: given, origin }: TaskStory, server: string): string {
  const params =
    origin.method === 'resources/read' && isJsonObject(given) ? given : { name: task.tool, arguments: given };
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: origin.method,
    params: {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': revision,
        'io.modelcontextprotocol/clientCapabilities': {
          elicitation: {},
          extensions: { 'io.modelcontextprotocol/tasks': {} },
        },
      },
    },
  };
  const name = 'uri' in params && typeof params.uri === 'string' ? params.uri : task.tool;
  const headers = [
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `MCP-Protocol-Version: ${revision}`,
    `Mcp-Method: ${origin.method}`,
    `Mcp-Name: ${name}`,
    'Authorization: Bearer TOKEN',
  ];
  return [
    `curl ${quoted(server)}`,
    ...headers.map((header) => `  -H ${quoted(header)}`),
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n');
}

export function holdfastCallOf({ task, arguments: given }: TaskStory, server: string): string {
  const hasArguments = !isJsonObject(given) || Object.keys(given).length > 0;
  const words = ['holdfast', 'call', server, task.tool, ...(hasArguments ? [JSON.stringify(given)] : [])];
  return words.map(quoted).join(' ');
}
