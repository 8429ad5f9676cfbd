/** A server that says exactly what it is told to say, on 2026-07-28 or in sessions of 2025-11-25. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from '../../kit/port.ts';
import type { Message } from '../../kit/wire.ts';

export type Revision = '2026-07-28' | '2025-11-25';
export const revisions: readonly Revision[] = ['2026-07-28', '2025-11-25'];

export type Wire = Message;

export interface Asked {
  readonly id: string | number | undefined;
  /** `response` for an answer of the client, `GET` for whatever is not sent with POST. */
  readonly method: string;
  readonly params: Wire;
  readonly session: string | undefined;
  /** How often this method was asked before. */
  readonly before: number;
  readonly at: number;
}

/** Writes the whole answer itself. */
export class Raw {
  readonly write: (response: ServerResponse, asked: Asked) => void;

  constructor(write: Raw['write']) {
    this.write = write;
  }
}

export class Fault {
  readonly error: Wire;

  constructor(code: number, message: string) {
    this.error = { code, message };
  }
}

export type Says = (asked: Asked) => Wire | Raw | Fault | undefined;

export const tasksOf2025 = { tasks: { requests: { tools: { call: {} } }, list: {}, cancel: {} }, tools: {} };

/** What it says unless it is told otherwise. */
export function usual(revision: Revision, capabilities: Wire): Readonly<Record<string, Wire>> {
  const tools = [{ name: 't', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }];
  const serverInfo = { name: 'hostile', version: '1' };
  return {
    ...(revision === '2026-07-28' && { 'server/discover': discovered(capabilities) }),
    initialize: { protocolVersion: '2025-11-25', capabilities, serverInfo },
    'tools/list': complete({ tools }),
    'tools/call': created(revision, 'root'),
    'tasks/update': complete({}),
    'tasks/cancel': complete({}),
  };
}

const unknown = new Fault(-32601, 'Method not found');

export class HostileServer {
  url = '';
  readonly asked: Asked[] = [];
  readonly says: Map<string, Says>;
  /** The most requests that were open at the same time. */
  mostAtOnce = 0;
  #open = 0;
  #sessions = 0;
  readonly #usual: Readonly<Record<string, Wire>>;
  readonly #server = createServer((request, response) => {
    this.#take(request, response).catch(() => response.destroy());
  });

  constructor(revision: Revision, says: Readonly<Record<string, Says>>, capabilities: Wire) {
    this.says = new Map(Object.entries(says));
    this.#usual = usual(revision, capabilities);
  }

  async listen(): Promise<this> {
    this.url = `http://127.0.0.1:${await listen(this.#server)}/`;
    return this;
  }

  count(method: string): number {
    return this.times(method).length;
  }

  times(method: string): number[] {
    return this.asked.filter((asked) => asked.method === method).map(({ at }) => at);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('connection', 'close');
    const isPost = request.method === 'POST';
    const body = Buffer.concat(await request.toArray()).toString();
    const message: Wire = isPost ? JSON.parse(body) : { method: 'GET', params: {} };
    const { id, method = 'response', params = message } = message;
    const session = request.headers['mcp-session-id'] as string | undefined;
    const asked = { id, method, params, session, before: this.count(method), at: performance.now() };
    this.asked.push(asked);
    if (!isPost) {
      const answer = request.method === 'GET' ? this.says.get('GET')?.(asked) : undefined;
      return answer instanceof Raw ? answer.write(response, asked) : void response.writeHead(405).end();
    }
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#open);
    response.once('close', () => this.#open--);
    this.answer(asked, response);
  }

  answer(asked: Asked, response: ServerResponse): void {
    const { id, method } = asked;
    const said = this.says.get(method);
    const answer = said ? said(asked) : (this.#usual[method] ?? unknown);
    if (answer instanceof Raw) return answer.write(response, asked);
    if (id === undefined || method === 'response') return void response.writeHead(202).end();
    if (method === 'initialize') response.setHeader('mcp-session-id', `session-${++this.#sessions}`);
    response.setHeader('content-type', 'application/json');
    const what = answer instanceof Fault ? { error: answer.error } : { result: answer ?? {} };
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...what }));
  }
}

export function discovered(capabilities: Wire): Wire {
  return complete({
    supportedVersions: ['2026-07-28'],
    capabilities,
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'hostile', version: '1' } },
  });
}

export function complete(result: Wire): Wire {
  return { resultType: 'complete', ...result };
}

/** A task as `tasks/get` shows it, in the words of both revisions. */
export function task(taskId: string, status: string, more: Wire = {}): Wire {
  const at = '2026-08-01T00:00:00.000Z';
  return complete({ taskId, status, createdAt: at, lastUpdatedAt: at, ttl: null, ttlMs: null, ...more });
}

export function created(revision: Revision, taskId: string, more: Wire = {}): Wire {
  const shown = task(taskId, 'working', more);
  return revision === '2026-07-28' ? { ...shown, resultType: 'task' } : { task: shown };
}

export const done = { content: [{ type: 'text', text: 'done' }] };

/** Completed, with the result where the revision has it. */
export function completed(taskId: string, result: unknown = complete(done)): Wire {
  return task(taskId, 'completed', { result });
}

export function sse(...messages: readonly unknown[]): string {
  return messages.map((message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`).join('');
}

export const hangUp = new Raw((response) => response.destroy());
export const silence = new Raw(() => {});
