/** Commands that repeat the call of a task. The server has already redacted secrets. */
import { isJsonObject, type Json, type JsonObject } from '../../../src/model/json.ts';
import type { TaskDetails } from '../../../src/operator/api.ts';

const revision = '2026-07-28';

/** Quotes one argument for a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

interface Request {
  readonly method: string;
  readonly params: JsonObject;
  /** The value of the `Mcp-Name` header. */
  readonly name: string;
}

/** In the engine, resources, prompts and upstreams of a gateway are tools; callers use other names. */
export function requestOf({ task, arguments: given }: TaskDetails): Request {
  const [kind, ...rest] = task.tool.split('/');
  const input = isJsonObject(given) ? given : {};
  if (rest.length === 0) return toolCall(task.tool, given);
  if (kind === 'upstream') return toolCall(String(input.name ?? rest.join('/')), input.arguments ?? {});
  const name = rest.join('/');
  if (kind === 'prompt') return { method: 'prompts/get', params: { name, arguments: given }, name };
  const uri = String(input.uri ?? name);
  return { method: 'resources/read', params: { uri }, name: uri };
}

function toolCall(name: string, given: Json): Request {
  return { method: 'tools/call', params: { name, arguments: given }, name };
}

export function curlOf(details: TaskDetails, server: string): string {
  const { method, params, name } = requestOf(details);
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientCapabilities': {
      elicitation: {},
      extensions: { 'io.modelcontextprotocol/tasks': {} },
    },
  };
  const headers = [
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `MCP-Protocol-Version: ${revision}`,
    `Mcp-Method: ${method}`,
    `Mcp-Name: ${name}`,
    'Authorization: Bearer TOKEN',
  ];
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
  return [
    `curl ${quoted(server)}`,
    ...headers.map((header) => `  -H ${quoted(header)}`),
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n');
}

/** Undefined if the task is not a tool call. */
export function holdfastCallOf(details: TaskDetails, server: string): string | undefined {
  const { method, params, name } = requestOf(details);
  if (method !== 'tools/call') return undefined;
  const given = params.arguments ?? {};
  const hasArguments = !isJsonObject(given) || Object.keys(given).length > 0;
  const words = ['holdfast', 'call', server, name, ...(hasArguments ? [JSON.stringify(given)] : [])];
  return words.map(quoted).join(' ');
}
