/** A requestor of SEP-1686 that sends exactly what it is told, over HTTP or a pipe, and remembers what it heard. */
import type { Tasks } from 'holdfast';
import { onTestFinished } from 'vitest';
import { pagesOf } from '../../kit/listed.ts';
import { until, untilStatus } from '../../kit/until.ts';
import { nextId } from '../../serving/raw-client.ts';
import {
  Peer as HttpPeer,
  type Message,
  openEar,
  type PeerOptions,
  served,
} from '../revision-2025-11-25/peer.ts';

export type { Message } from '../revision-2025-11-25/peer.ts';

export const taskKey = 'modelcontextprotocol.io/task';
export const relatedTask = 'modelcontextprotocol.io/related-task';
export const created = 'notifications/tasks/created';
export const drafts = ['sep-1686'] as const;
export const tokens = { 'token-of-ada': 'ada', 'token-of-bob': 'bob' };

export const related = (taskId: string) => ({ [relatedTask]: { taskId } });

/** HTTP or a pipe. */
interface Wire {
  /** Sends a request, and hands over what comes until it is answered. */
  exchange(request: Message, hear: (message: Message) => void, signal: AbortSignal): Promise<void>;
  /** Sends what has no answer. */
  post(message: object): unknown;
}

export class Exchange {
  readonly id: string | number;
  readonly messages: Message[] = [];
  readonly reply: Promise<Message>;
  readonly #abort = new AbortController();

  constructor(wire: Wire, request: Message & { id: string | number }) {
    this.id = request.id;
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    this.reply = promise;
    // Of a request that is cancelled or dropped nobody waits for the answer.
    promise.catch(() => {});
    const hear = (message: Message) => {
      this.messages.push(message);
      if (message.id === this.id && !('method' in message)) resolve(message);
    };
    wire
      .exchange(request, hear, this.#abort.signal)
      .then(() => reject(new Error('The stream ended without an answer.')), reject);
    // A server that stops waits for its requests.
    onTestFinished(() => this.drop());
  }

  /** Messages of that method, as soon as there are so many. */
  async heard(method: string, count: number): Promise<Message[]> {
    const found = () => this.messages.filter((message) => message.method === method);
    await until(() => found().length >= count);
    return found();
  }

  async next(method: string): Promise<Message> {
    return (await this.heard(method, 1))[0]!;
  }

  /** The connection is cut, which says nothing about the task. */
  drop(): void {
    this.#abort.abort();
  }
}

export class Requestor {
  readonly wire: Wire;

  constructor(wire: Wire) {
    this.wire = wire;
  }

  open(method: string, params: object = {}): Exchange {
    return new Exchange(this.wire, { id: nextId(), method, params });
  }

  request(method: string, params: object = {}): Promise<Message> {
    return this.open(method, params).reply;
  }

  /** Asks for a task of that name; whatever else is in the wish goes along. */
  augment(method: string, params: object, wish: unknown, meta: object = {}): Exchange {
    return this.open(method, { ...params, _meta: { ...meta, [taskKey]: wish } });
  }

  begin(taskId: string, tool: string, input: object = {}, wish: object = {}): Exchange {
    return this.augment('tools/call', { name: tool, arguments: input }, { taskId, ...wish });
  }

  async start(taskId: string, tool: string, input: object = {}, wish: object = {}): Promise<Exchange> {
    const exchange = this.begin(taskId, tool, input, wish);
    await exchange.next(created);
    return exchange;
  }

  get(taskId: string): Promise<Message> {
    return this.#about('tasks/get', taskId);
  }

  result(taskId: string): Promise<Message> {
    return this.#about('tasks/result', taskId);
  }

  delete(taskId: string): Promise<Message> {
    return this.#about('tasks/delete', taskId);
  }

  list(cursor?: unknown): Promise<Message> {
    const _meta = { [relatedTask]: {} };
    return this.request('tasks/list', { _meta, ...(cursor !== undefined && { cursor }) });
  }

  async listAll(): Promise<Message[]> {
    const pages = pagesOf(async ({ cursor }) => (await this.list(cursor)).result);
    return (await Array.fromAsync(pages)).flatMap(({ tasks }) => tasks);
  }

  until(taskId: string, status: string): Promise<Message> {
    return untilStatus(() => this.get(taskId), status);
  }

  /** Cancels the request that made a task, and names the task if it is told to. */
  cancel(requestId: string | number, taskId?: string): unknown {
    const _meta = taskId === undefined ? {} : { _meta: related(taskId) };
    return this.wire.post({ method: 'notifications/cancelled', params: { requestId, ..._meta } });
  }

  answer(id: unknown, result: object): unknown {
    return this.wire.post({ id, result });
  }

  #about(method: string, taskId: string): Promise<Message> {
    return this.request(method, { taskId, _meta: related(taskId) });
  }
}

type Options = NonNullable<Parameters<typeof served>[0]>;

/** The fixture server with the draft on, and a requestor in a session of its own. */
export async function serving(options: Options = {}) {
  const server = await served({ drafts, ...options });
  return { ...server, requestor: new Requestor(server.peer) };
}

export async function sessionOn(url: string, options: PeerOptions = {}): Promise<Requestor> {
  const peer = new HttpPeer(url, options);
  await peer.open();
  return new Requestor(peer);
}

/** The id under which the store knows the newest task of an owner. */
export async function newest(tasks: Tasks, owner = 'anonymous'): Promise<string> {
  const { tasks: found } = await tasks.list({ owner, limit: 1 });
  return found[0]!.id;
}

/** What comes on the stream that belongs to no request, from now on to the end of the test. */
export async function unasked(peer: HttpPeer): Promise<Message[]> {
  const ear = await openEar(peer);
  onTestFinished(() => ear[Symbol.asyncDispose]());
  return ear.heard;
}
