/** The requests to each server, in the protocol revision that it supports. */
import { type Connection, post } from './server-connection.ts';

/** The client's view of a server with tasks. */
export interface Peer {
  /** The bytes of a call of the tool that returns at once. */
  create(): string;
  /** The bytes of a poll of a task. */
  get(taskId: string): string;
}

export const toolName = 'nothing';

const json = 'content-type: application/json\r\naccept: application/json, text/event-stream\r\n';

/** For revision 2026-07-28. */
export function holdfastPeer(): Peer {
  const client = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  };
  const meta = JSON.stringify(client);
  let id = 0;
  const request = (method: string, name: string, params: string) =>
    post(
      `${json}mcp-protocol-version: 2026-07-28\r\nmcp-method: ${method}\r\nmcp-name: ${name}\r\n`,
      `{"jsonrpc":"2.0","id":${++id},"method":"${method}","params":{${params},"_meta":${meta}}}`,
    );
  return {
    create: () => request('tools/call', toolName, `"name":"${toolName}","arguments":{}`),
    get: (taskId) => request('tasks/get', taskId, `"taskId":"${taskId}"`),
  };
}

/** For revision 2025-11-25, with a session for each connection. */
export async function openSdkSession(connection: Connection): Promise<Peer> {
  let headers = json;
  let id = 0;
  const request = (method: string, params: string) =>
    post(headers, `{"jsonrpc":"2.0","id":${++id},"method":"${method}","params":{${params}}}`);
  const client = `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}`;
  const answer = await connection.ask(request('initialize', client));
  const session = /\r\nmcp-session-id: (\S+)/i.exec(answer)?.[1];
  if (session === undefined) throw new Error(`The server gave no session: ${answer}`);
  headers += `mcp-protocol-version: 2025-11-25\r\nmcp-session-id: ${session}\r\n`;
  return {
    create: () => request('tools/call', `"name":"${toolName}","arguments":{},"task":{}`),
    get: (taskId) => request('tasks/get', `"taskId":"${taskId}"`),
  };
}

/** Calls the tool and polls its task until it is completed, without pauses. */
export async function fullCycle(connection: Connection, peer: Peer): Promise<string> {
  const created = await connection.ask(peer.create());
  const taskId = /"taskId":"([^"]+)"/.exec(created)?.[1];
  if (taskId === undefined) throw new Error(`The call gave no task: ${created}`);
  for (;;) {
    const shown = await look(connection, peer.get(taskId));
    if (shown.includes('"status":"completed"')) return taskId;
    if (!shown.includes('"status":"working"')) throw new Error(`The task did not complete: ${shown}`);
  }
}

/** An error is a fast answer, too, and must not count. */
export async function look(connection: Connection, request: string): Promise<string> {
  const shown = await connection.ask(request);
  if (!shown.includes('"status":"')) throw new Error(`The answer shows no task: ${shown}`);
  return shown;
}
