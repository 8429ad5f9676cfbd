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

export class HostileServer {
  url = '';
  readonly asked: Asked[] = [];
  readonly says: Map<string, Says>;
  /** The most requests that were open at the same time. */
  mostAtOnce = 0;
  #open = 0;
  readonly #revision: Revision;
  readonly #capabilities: Wire;
  readonly #server = createServer((request, response) => {
    this.#take(request, response).catch(() => response.destroy());
  });
  #sessions = 0;

  constructor(revision: Revision, says: Readonly<Record<string, Says>>, capabilities: Wire) {
    this.#revision = revision;
    this.#capabilities = capabilities;
    this.says = new Map(Object.entries(says));
  }

  async listen(): Promise<this> {
    this.url = `http://127.0.0.1:${await listen(this.#server)}/`;
    return this;
  }

  count(method: string): number {
    return this.asked.filter((asked) => asked.method === method).length;
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
    if (request.method !== 'POST') {
      const said = request.method === 'GET' ? this.says.get('GET') : undefined;
      const asked = this.#note(undefined, 'GET', {}, request);
      const answer = said?.(asked);
      if (answer instanceof Raw) return answer.write(response, asked);
      return void response.writeHead(405).end();
    }
    let body = '';
    for await (const chunk of request) body += chunk;
    const message = JSON.parse(body) as Wire;
    const isRequest = 'method' in message && message.id !== undefined;
    const asked = this.#note(message.id, message.method ?? 'response', message.params ?? message, request);
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#open);
    response.once('close', () => this.#open--);
    if (!isRequest && !this.says.has(asked.method)) return void response.writeHead(202).end();
    this.answer(asked, response);
  }

  /** Says what there is to say. */
  answer(asked: Asked, response: ServerResponse): void {
    const answer = this.#answer(asked);
    if (answer instanceof Raw) return answer.write(response, asked);
    if (asked.id === undefined || asked.method === 'response') return void response.writeHead(202).end();
    if (asked.method === 'initialize') response.setHeader('mcp-session-id', `session-${++this.#sessions}`);
    response.setHeader('content-type', 'application/json');
    const said = answer instanceof Fault ? { error: answer.error } : { result: answer ?? {} };
    response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, ...said }));
  }

  #note(id: Asked['id'], method: string, params: Wire, { headers }: IncomingMessage): Asked {
    const session = headers['mcp-session-id'] as string | undefined;
    const asked = { id, method, params, session, before: this.count(method), at: performance.now() };
    this.asked.push(asked);
    return asked;
  }

  #answer(asked: Asked): ReturnType<Says> {
    const said = this.says.get(asked.method);
    if (said) return said(asked);
    switch (asked.method) {
      case 'server/discover':
        return this.#revision === '2026-07-28'
          ? discovered(this.#capabilities)
          : new Fault(-32601, 'Method not found');
      case 'initialize':
        return {
          protocolVersion: '2025-11-25',
          capabilities: this.#capabilities,
          serverInfo: { name: 'hostile', version: '1' },
        };
      case 'tools/list':
        return complete({
          tools: [{ name: 't', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }],
        });
      case 'tools/call':
        return created(this.#revision, 'root');
      case 'tasks/update':
      case 'tasks/cancel':
        return complete({});
      case 'subscriptions/listen':
        return new Fault(-32601, 'Method not found');
    }
    return 'id' in asked && asked.id !== undefined ? new Fault(-32601, 'Method not found') : undefined;
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
  return complete({
    taskId,
    status,
    createdAt: at,
    lastUpdatedAt: at,
    ttl: null,
    ttlMs: null,
    ...more,
  });
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

/** Closes the connection without a word. */
export const hangUp = new Raw((response) => response.destroy());
/** Never says anything. */
export const silence = new Raw(() => {});
