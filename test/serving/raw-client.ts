/**
 * A client of 2026-07-28 that does nothing by itself: it sends what the test says, on a socket of its own that the
 * test may cut, and hands back what came over the wire.
 */
import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
} from 'node:http';
import { createInterface } from 'node:readline';
import { Inbox } from '../kit/inbox.ts';
import { untilStatus } from '../kit/until.ts';
import { eventData, extension, headersOf, type Message, requestOf } from '../kit/wire.ts';

export type { Message } from '../kit/wire.ts';

export interface RawClientOptions {
  /** Whether every request declares the Tasks extension. Default true. */
  readonly tasks?: boolean;
  /** The capabilities that it declares besides. By default it can be shown forms. */
  readonly capabilities?: object;
  readonly token?: string;
  /** What every request has in its `_meta` and in its headers besides. */
  readonly meta?: object;
  readonly headers?: OutgoingHttpHeaders;
  /** By default each request has a connection of its own. */
  readonly agent?: Agent;
}

interface Result extends Message {
  readonly status: string;
  readonly inputRequests: Message;
}

/** The answer to a request. The notifications that came before it on its stream are `frames`. */
export interface Reply {
  readonly status: number;
  readonly result: Result;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says.
  readonly error: any;
  readonly frames: readonly Message[];
}

let lastId = 0;

/** No request of this process has it but the next. */
export function nextId(): number {
  return ++lastId;
}

export function rawMessage(method: string, params: Message, options: RawClientOptions = {}) {
  const { tasks = true, capabilities = { elicitation: {} }, meta } = options;
  const declared = { ...capabilities, ...(tasks && { extensions: { [extension]: {} } }) };
  const all = { ...params, _meta: { ...meta, ...params._meta } };
  const id = nextId();
  return { ...requestOf(id, method, all, declared), id };
}

export function callParams(name: string, input: object = {}, { meta, ...more }: Message = {}): object {
  return { name, arguments: input, ...more, ...(meta && { _meta: meta }) };
}

export function accept(content: object): object {
  return { action: 'accept', content };
}

export class RawClient {
  readonly #url: string;
  readonly #options: RawClientOptions;

  constructor(url: string, options: RawClientOptions = {}) {
    this.#url = url;
    this.#options = options;
  }

  call(tool: string, input?: object, extras?: object): Promise<Reply> {
    return this.openCall(tool, input, extras).reply;
  }

  openCall(tool: string, input?: object, extras?: object) {
    return this.open('tools/call', callParams(tool, input, extras));
  }

  get(taskId: string): Promise<Reply> {
    return this.request('tasks/get', { taskId });
  }

  update(taskId: string, inputResponses: object): Promise<Reply> {
    return this.request('tasks/update', { taskId, inputResponses });
  }

  cancel(taskId: string): Promise<Reply> {
    return this.request('tasks/cancel', { taskId });
  }

  until(taskId: string, ...statuses: readonly string[]): Promise<Message> {
    return untilStatus(() => this.get(taskId), ...statuses);
  }

  request(method: string, params: object = {}, signal?: AbortSignal): Promise<Reply> {
    return this.open(method, params, signal).reply;
  }

  open(method: string, params: object, signal?: AbortSignal) {
    const { response, cut } = this.post(method, params, signal);
    const reply = response.then(replyOf);
    // Whoever cuts a request, or kills its server, need not wait for the answer.
    reply.catch(() => {});
    return { reply, cut };
  }

  /** Opens a subscription to tasks. The first message is its acknowledgement, unless it was refused. */
  async listen(taskIds: readonly string[], also: object = {}, signal?: AbortSignal): Promise<Subscription> {
    const { id, response } = this.post(
      'subscriptions/listen',
      { notifications: { ...also, taskIds } },
      signal,
    );
    return new Subscription(id, await response);
  }

  /** The response resolves when it begins; `cut` destroys its socket. */
  post(method: string, params: object, signal?: AbortSignal) {
    const { agent = false, token, headers } = this.#options;
    const message = rawMessage(method, params, this.#options);
    const all = { ...headersOf(method, params, token), ...headers };
    const { promise: response, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = request(this.#url, { method: 'POST', agent, headers: all, ...(signal && { signal }) });
    sent.on('response', resolve).on('error', reject).end(JSON.stringify(message));
    return { id: message.id, response, cut: () => void sent.destroy() };
  }
}

export class Subscription extends Inbox {
  readonly id: number;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Resolves when it is over: true if the response came to its proper end, false if it broke off. */
  readonly ended: Promise<boolean>;
  readonly close: () => void;
  #read = 0;

  constructor(id: number, response: IncomingMessage) {
    super(response, eventData);
    this.id = id;
    this.status = response.statusCode!;
    this.headers = response.headers;
    this.close = () => void response.destroy();
    response.on('error', () => {});
    this.ended = new Promise((resolve) => response.on('close', () => resolve(response.complete)));
  }

  /** The messages one after the other; undefined once the stream has ended. */
  async next(): Promise<Message | undefined> {
    await this.until(() => this.messages.length > this.#read).catch(() => {});
    return this.messages[this.#read++];
  }

  /** The next message of that kind. Passes over what comes before. */
  async find(isIt: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const message = await this.next();
      if (!message) throw new Error('The stream ended before.');
      if (isIt(message)) return message;
    }
  }
}

/** The messages of an answer, which is a stream or a single one. */
export async function* messagesOf(response: IncomingMessage): AsyncGenerator<Message> {
  // It may be cut when nobody reads any more.
  const lines = createInterface({ input: response }).on('error', () => {});
  for await (const line of lines) {
    const message = eventData(line);
    if (message) yield message;
  }
}

async function replyOf(response: IncomingMessage): Promise<Reply> {
  const frames = await Array.fromAsync(messagesOf(response));
  const last = frames.pop();
  if (!last || !('result' in last || 'error' in last)) throw new Error('The answer broke off.');
  const { result, error } = last as Reply;
  return { status: response.statusCode!, result, error, frames };
}
