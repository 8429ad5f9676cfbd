/** A client of 2026-07-28 that sends exactly what it is told, and a server to send it to. */

import type { Tasks, TasksOptions } from 'holdfast';
import { serveFixture } from '../kit/serve.ts';

export const revision = '2026-07-28';
export const extension = 'io.modelcontextprotocol/tasks';
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

export interface Frame {
  readonly id?: unknown;
  readonly method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says.
  readonly params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says.
  readonly result?: any;
}

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

  async post(method: string, params: Record<string, unknown> = {}, signal?: AbortSignal): Promise<Response> {
    const name = method.startsWith('tasks/') ? params.taskId : params.name;
    return fetch(this.#url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': revision,
        'mcp-method': method,
        ...(typeof name === 'string' && { 'mcp-name': name }),
        ...this.#headers,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: ++this.#lastId,
        method,
        params: { ...params, _meta: { ...this.meta(), ...(params._meta as object) } },
      }),
      ...(signal && { signal }),
    });
  }

  async request(method: string, params: Record<string, unknown> = {}): Promise<Reply> {
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
  async until(taskId: string, status: string): Promise<Reply['result']> {
    for (;;) {
      const { result } = await this.get(taskId);
      if (result.status === status) return result;
      if (['completed', 'failed', 'cancelled'].includes(result.status))
        throw new Error(`The task is ${result.status}, and was to be ${status}.`);
    }
  }

  /** The frames of a subscription, as they come. */
  async *listen(notifications: object): AsyncGenerator<Frame> {
    const abort = new AbortController();
    const response = await this.post('subscriptions/listen', { notifications }, abort.signal);
    let text = '';
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
          text = text.slice(end + 2);
          if (data) yield JSON.parse(data);
        }
      }
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
