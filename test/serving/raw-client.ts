/**
 * A client of 2026-07-28 that does nothing by itself: it sends what the test says, on a socket of its own that the
 * test may cut, and hands back what came over the wire.
 */
import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { all } from '../kit/all.ts';
import { untilStatus } from '../kit/until.ts';
import { extension, headersOf, requestOf } from '../kit/wire.ts';

export interface RawClientOptions {
  /** Whether every request declares the Tasks extension. Default true. */
  readonly tasks?: boolean;
  /** The capabilities that it declares besides. By default it can be shown forms. */
  readonly capabilities?: object;
  readonly token?: string;
}

export interface Result {
  readonly resultType: string;
  readonly taskId: string;
  readonly status: string;
  readonly content: readonly { readonly text: string }[];
  readonly inputRequests: Readonly<Record<string, { readonly params: { readonly message: string } }>>;
  readonly requestState: string;
  readonly [member: string]: unknown;
}

export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface Message {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Result;
  readonly error?: WireError;
}

/** The answer to a request. The notifications that came before it on its stream are `frames`. */
export interface Reply {
  readonly status: number;
  readonly result: Result;
  readonly error: WireError | undefined;
  readonly frames: readonly Message[];
}

export interface OpenRequest {
  readonly reply: Promise<Reply>;
  /** Destroys the socket. */
  cut(): void;
}

export interface CallExtras {
  readonly inputResponses?: object;
  readonly requestState?: string;
  readonly meta?: object;
}

let lastId = 0;

export function rawMessage(method: string, params: object, options: RawClientOptions = {}) {
  const { tasks = true, capabilities = { elicitation: {} } } = options;
  const all = { ...capabilities, ...(tasks && { extensions: { [extension]: {} } }) };
  return { ...requestOf(++lastId, method, params, all), id: lastId };
}

export function callParams(name: string, input: object = {}, { meta, ...extras }: CallExtras = {}): object {
  return { name, arguments: input, ...extras, ...(meta && { _meta: meta }) };
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

  call(tool: string, input?: object, extras?: CallExtras): Promise<Reply> {
    return this.openCall(tool, input, extras).reply;
  }

  openCall(tool: string, input?: object, extras?: CallExtras): OpenRequest {
    return this.open('tools/call', callParams(tool, input, extras));
  }

  get(taskId: string): Promise<Reply> {
    return this.open('tasks/get', { taskId }).reply;
  }

  update(taskId: string, inputResponses: object): Promise<Reply> {
    return this.open('tasks/update', { taskId, inputResponses }).reply;
  }

  cancel(taskId: string): Promise<Reply> {
    return this.open('tasks/cancel', { taskId }).reply;
  }

  /** Asks again until the task has come so far. */
  until(taskId: string, ...statuses: readonly string[]): Promise<Result> {
    return untilStatus(() => this.get(taskId), ...statuses) as Promise<Result>;
  }

  open(method: string, params: object): OpenRequest {
    const { response, cut } = this.#post(method, params);
    const reply = response.then(replyOf);
    // Whoever cuts a request, or kills its server, need not wait for the answer.
    reply.catch(() => {});
    return { reply, cut };
  }

  /** Opens a subscription to tasks. The first message is its acknowledgement, unless it was refused. */
  async listen(taskIds: readonly string[]): Promise<Subscription> {
    const { response, cut } = this.#post('subscriptions/listen', { notifications: { taskIds } });
    return new Subscription(await response, cut);
  }

  #post(method: string, params: object) {
    const body = JSON.stringify(rawMessage(method, params, this.#options));
    const { promise: response, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = headersOf(method, params, this.#options.token);
    const sent = request(this.#url, { method: 'POST', agent: false, headers });
    sent.on('response', resolve);
    sent.on('error', reject);
    sent.end(body);
    return { response, cut: () => void sent.destroy() };
  }
}

/** The messages of a stream of events, one after the other. */
export class Subscription {
  readonly status: number;
  readonly close: () => void;
  readonly #messages: AsyncIterator<Message>;

  constructor(response: IncomingMessage, cut: () => void) {
    this.status = response.statusCode!;
    this.close = cut;
    this.#messages = messagesOf(response);
  }

  /** Undefined once the stream has ended. */
  async next(): Promise<Message | undefined> {
    const { done, value } = await this.#messages.next();
    return done ? undefined : value;
  }

  /** Passes over what comes before. */
  async until(isIt: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const message = await this.next();
      if (!message) throw new Error('The stream ended before.');
      if (isIt(message)) return message;
    }
  }
}

async function* messagesOf(response: IncomingMessage): AsyncGenerator<Message> {
  if (!response.headers['content-type']?.startsWith('text/event-stream')) {
    const chunks = await response.toArray();
    const text = Buffer.concat(chunks).toString();
    if (text !== '') yield JSON.parse(text) as Message;
    return;
  }
  for await (const line of createInterface({ input: response }))
    if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as Message;
}

async function replyOf(response: IncomingMessage): Promise<Reply> {
  const messages = await all(messagesOf(response));
  const last = messages.at(-1);
  if (!last || !('result' in last || 'error' in last)) throw new Error('The answer broke off.');
  return {
    status: response.statusCode!,
    result: last.result!,
    error: last.error,
    frames: messages.slice(0, -1),
  };
}
