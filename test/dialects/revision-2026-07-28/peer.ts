/** A client of 2026-07-28 that sends exactly what it is told, and a server to send it to. */

import type { Tasks, TasksOptions } from 'holdfast';
import { serveFixture } from '../../kit/serve.ts';
import { untilStatus } from '../../kit/until.ts';
import { extension, frames, headersOf, type Message, requestOf, revision } from '../../kit/wire.ts';

export { extension, revision } from '../../kit/wire.ts';

export const withTasks = { extensions: { [extension]: {} }, elicitation: { form: {} }, sampling: {} };
export const withoutTasks = { elicitation: { form: {} } };

export interface Reply {
  readonly status: number;
  readonly id: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says.
  readonly result?: any;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says.
  readonly error?: any;
}

export type Frame = Message;

export class Peer {
  readonly #url: string;
  readonly #capabilities: object;
  readonly #headers: Readonly<Record<string, string>>;
  #lastId = 0;

  constructor(url: string, capabilities: object, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#capabilities = capabilities;
    this.#headers = headers;
  }

  meta(): object {
    return {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientInfo': { name: 'peer', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': this.#capabilities,
    };
  }

  post(method: string, params: Message = {}, signal?: AbortSignal): Promise<Response> {
    const _meta = { ...this.meta(), ...params._meta };
    const message = requestOf(++this.#lastId, method, { ...params, _meta }, this.#capabilities);
    const headers = { ...headersOf(method, params), ...this.#headers };
    const body = JSON.stringify(message);
    return fetch(this.#url, { method: 'POST', headers, body, ...(signal && { signal }) });
  }

  async request(method: string, params: Message = {}): Promise<Reply> {
    const response = await this.post(method, params);
    return { status: response.status, ...((await response.json()) as Omit<Reply, 'status'>) };
  }

  call(name: string, input: object = {}, more: object = {}): Promise<Reply> {
    return this.request('tools/call', { name, arguments: input, ...more });
  }

  async start(name: string, input: object = {}): Promise<string> {
    const { result } = await this.call(name, input);
    return result.taskId;
  }

  get(taskId: string): Promise<Reply> {
    return this.request('tasks/get', { taskId });
  }

  /** Looks until the task is as wanted; the server pushes nothing here. */
  until(taskId: string, status: string): Promise<Message> {
    return untilStatus(() => this.get(taskId), status);
  }

  /** The frames of a subscription, as they come. */
  async *listen(notifications: object): AsyncGenerator<Frame> {
    const abort = new AbortController();
    try {
      yield* frames(await this.post('subscriptions/listen', { notifications }, abort.signal));
    } finally {
      abort.abort();
    }
  }
}

export interface Served {
  readonly tasks: Tasks;
  readonly url: string;
  /** A client that can take tasks and answer questions. */
  readonly peer: Peer;
  /** A client that knows nothing of tasks. */
  readonly plain: Peer;
  stop(): Promise<void>;
}

/** The fixture server, until the end of the test. */
export async function served(options: Partial<TasksOptions> = {}): Promise<Served> {
  const server = await serveFixture(options);
  const { url } = server;
  return { ...server, peer: new Peer(url, withTasks), plain: new Peer(url, withoutTasks) };
}
