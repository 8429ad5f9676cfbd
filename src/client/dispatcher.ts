/**
 * Requests over the transport of a connected client, beside the client. The SDK's own refuse the answer that says "this
 * is a task now" and lose its id. Ids are strings here and numbers in the SDK, so that neither takes the other's.
 */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { protocolVersionKey } from '../dialects/2026-07-28/names.ts';
import { waitAskedFor } from '../dialects/errors.ts';
import { notAdmitted } from '../dialects/json-rpc.ts';
import { newId } from '../model/id.ts';
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import { messageOf } from '../model/thrown.ts';
import { ConnectionLost, MalformedAnswer, RemoteError, RequestTimedOut } from '../remote-tasks/errors.ts';
import type { Message } from '../remote-tasks/remote-task.ts';
import type { RemotePeer } from '../remote-tasks/task-poller.ts';
import { backoffMs } from '../runtime/backoff.ts';
import { after } from '../runtime/clock.ts';
import { pause } from '../runtime/runtime.ts';
import { within, withTimeout } from '../runtime/timeout.ts';

export interface DispatchOptions {
  readonly signal: AbortSignal;
  /** It may take as long as it takes. */
  readonly isPatient?: boolean;
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The peer is told that nobody waits any more, where closing a stream does not say it. */
  readonly cancelOnAbort?: boolean;
  /** Under which the request is known to the peer; made up if it is not given. */
  readonly id?: string;
}

const answerRetries = 6;
const answerBackoff = { minMs: 100, maxMs: 3_200 };
/** A reason that costs nothing to make: by default each abort makes an exception of its own. */
const done = new Error('The request is over.');

type Waiting = PromiseWithResolvers<JsonObject> & { readonly transport: Transport };

export type NotificationListener = (method: string, params: JsonObject) => void;

/** What a connection tells of what comes in. */
export interface IncomingListeners {
  readonly onNotification: NotificationListener;
  readonly onRequest: RequestInterceptor;
  /** An answer of ours to a request of the peer, or its refusal, has got there. */
  readonly onResponded: (id: string | number) => void;
}

/** A request of the server's that the SDK is not to see; undefined if it is. */
export type RequestInterceptor = (
  request: Message & { readonly id: string | number },
) => Promise<{ readonly result: JsonObject } | { readonly error: object }> | undefined;

export class Dispatcher implements RemotePeer {
  readonly #timeoutMs: number;
  readonly #hearing: IncomingListeners;
  readonly #pending = new Map<string, Waiting>();
  /** What every request of 2026-07-28 says of its client; taken from what the SDK sends. */
  #envelope: JsonObject | undefined;
  #transport: Transport | undefined;
  /** What the transport complained of in this turn of the event loop. */
  #complaint: string | undefined;

  constructor(timeoutMs: number, hearing: IncomingListeners) {
    this.#timeoutMs = timeoutMs;
    this.#hearing = hearing;
  }

  get isOpen(): boolean {
    return this.#transport !== undefined;
  }

  /** Before the client is connected to it. */
  prepare(transport: Transport): void {
    this.#envelope = undefined;
    const send = transport.send.bind(transport);
    transport.send = async (message, options) => {
      const meta = 'params' in message ? message.params?._meta : undefined;
      if (meta && protocolVersionKey in meta) this.#envelope ??= envelopeOf(meta as JsonObject);
      // The SDK waits for HTTP to accept a notification, and its handshake ends with one.
      if ('method' in message && !('id' in message))
        return withTimeout(
          this.#timeoutMs,
          () => send(message, options),
          () => new RequestTimedOut(message.method, this.#timeoutMs),
        );
      if (!('result' in message || 'error' in message)) return send(message, options);
      await persistently(() => send(message, options));
      if (message.id !== undefined) this.#hearing.onResponded(message.id);
    };
  }

  /** Once it is: from here on its messages pass by here first. */
  attach(transport: Transport, isModern: boolean): void {
    this.#transport = transport;
    // What the server was asked before it was known to be an older one is not what it is told from then on.
    if (!isModern) this.#envelope = undefined;
    const { onmessage, onclose, onerror } = transport;
    transport.onmessage = (message, extra) => {
      if (!this.#isOurs(message)) onmessage?.(message, extra);
    };
    transport.onerror = (error) => {
      this.#complaint = error.message;
      queueMicrotask(() => {
        this.#complaint = undefined;
      });
      onerror?.(error);
    };
    transport.onclose = () => {
      if (this.#transport === transport) this.#transport = undefined;
      for (const waiting of this.#pending.values())
        if (waiting.transport === transport)
          waiting.reject(new ConnectionLost('it was closed.', { isOver: true }));
      onclose?.();
    };
  }

  /** Is it known what every request of 2026-07-28 says of its client? */
  get hasEnvelope(): boolean {
    return this.#envelope !== undefined;
  }

  /** Resolves when the requests that are open now have ended, or after this time. */
  async settled(withinMs: number): Promise<void> {
    const open = [...this.#pending.values()].map(({ promise }) => promise);
    await within(withinMs, Promise.allSettled(open));
  }

  newRequestId(): string {
    return `hf-${newId().slice(0, 16)}`;
  }

  async request({ method, params }: Message, options: DispatchOptions): Promise<JsonObject> {
    const { signal, headers, timeoutMs = this.#timeoutMs, id = this.newRequestId() } = options;
    const transport = this.#transport;
    if (!transport) throw new ConnectionLost('it is closed.', { isOver: true, isUnsent: true });
    const waiting = { ...Promise.withResolvers<JsonObject>(), transport };
    const ended = new AbortController();
    const timedOut = () => waiting.reject(new RequestTimedOut(method, timeoutMs));
    const cancelTimer = options.isPatient ? undefined : after(timeoutMs, timedOut);
    const onAbort = () => waiting.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#pending.set(id, waiting);
    try {
      signal.throwIfAborted();
      const message = { jsonrpc: '2.0', id, method, params: this.#addressed(params) } as JSONRPCMessage;
      const sent = transport.send(message, {
        requestSignal: ended.signal,
        onRequestStreamEnd: () => waiting.reject(this.#whyEnded()),
        ...(headers && { headers }),
      });
      sent.catch((error: unknown) => waiting.reject(asLost(error, this.#envelope !== undefined)));
      return await waiting.promise;
    } finally {
      cancelTimer?.();
      signal.removeEventListener('abort', onAbort);
      this.#pending.delete(id);
      ended.abort(done);
      if (signal.aborted && options.cancelOnAbort && !this.#hearsOfAborts(transport))
        void this.notify({ method: 'notifications/cancelled', params: { requestId: id } }).catch(() => {});
    }
  }

  async notify({ method, params }: Message): Promise<void> {
    await this.#transport?.send({ jsonrpc: '2.0', method, params } as JSONRPCMessage);
  }

  /** The SDK tells why only in passing. */
  #whyEnded(): Error {
    const broken = /The server broke the protocol: (.*)\.$/.exec(this.#complaint ?? '')?.[1];
    if (broken !== undefined) return new MalformedAnswer(broken);
    const why = this.#complaint === undefined ? '' : ` (${this.#complaint})`;
    return new ConnectionLost(`its stream ended without an answer${why}.`);
  }

  #addressed(params: JsonObject): JsonObject {
    if (!this.#envelope) return params;
    return { ...params, _meta: { ...(params._meta as JsonObject | undefined), ...this.#envelope } };
  }

  /** On HTTP, closing the stream of a request says it, but only since 2026-07-28. */
  #hearsOfAborts(transport: Transport): boolean {
    return 'terminateSession' in transport && this.#envelope !== undefined;
  }

  #answersIt(request: Parameters<RequestInterceptor>[0]): boolean {
    const transport = this.#transport;
    const answering = this.#hearing.onRequest(request);
    void answering
      ?.then((answer) => transport?.send({ jsonrpc: '2.0', id: request.id, ...answer } as JSONRPCMessage))
      .catch(() => {});
    return answering !== undefined;
  }

  #isOurs(message: JSONRPCMessage): boolean {
    if ('method' in message) {
      const params = isJsonObject(message.params) ? message.params : {};
      if ('id' in message) return this.#answersIt({ id: message.id, method: message.method, params });
      this.#hearing.onNotification(message.method, params);
      return false;
    }
    const waiting = this.#pending.get(String(message.id));
    if (!waiting) return typeof message.id === 'string' && message.id.startsWith('hf-');
    if ('error' in message) waiting.reject(remoteError(message.error));
    else if (isJsonObject(message.result)) waiting.resolve(message.result);
    else waiting.reject(new MalformedAnswer('an answer has neither a result nor an error'));
    return true;
  }
}

/** Nobody asks for an answer that got lost while the stream of its question lives on. */
async function persistently(act: () => Promise<void>): Promise<void> {
  for (let retries = 0; ; retries++) {
    try {
      return await act();
    } catch (error) {
      const lost = asLost(error, false);
      if (retries >= answerRetries || !(lost instanceof ConnectionLost) || lost.isOver) throw error;
      await pause(backoffMs(answerBackoff, retries));
    }
  }
}

function remoteError(error: unknown): Error {
  if (!isJsonObject(error) || typeof error.code !== 'number' || typeof error.message !== 'string')
    return new MalformedAnswer('an error has no code or no message');
  const { code, message, data } = error;
  const retryAfterMs = waitAskedFor(data);
  // Nothing was carried out, and nothing is said about any task: it is only too early.
  if (retryAfterMs !== undefined) return new ConnectionLost(message, { retryAfterMs, isUnsent: true });
  return new RemoteError({ code, message, ...(data !== undefined && { data: data as Json }) });
}

function asLost(error: unknown, isModern: boolean): Error {
  if (error instanceof ConnectionLost || error instanceof MalformedAnswer) return error;
  if (!(error instanceof Error)) return new ConnectionLost(messageOf(error));
  const { status, text } = ('data' in error && isJsonObject(error.data) ? error.data : {}) as JsonObject;
  const said = isModern && typeof text === 'string' ? errorIn(text) : undefined;
  if (said) return said;
  // A session that the server does not know is over; a client has to open another.
  if (status === 404)
    return new ConnectionLost('the server does not know its session any more.', {
      isOver: true,
      isUnsent: true,
    });
  if (status === 401 || status === 403) return new RemoteError({ code: notAdmitted, message: error.message });
  if (error.name === 'ZodError' || error.name === '$ZodError')
    return new MalformedAnswer('it answered with JSON that is no message of JSON-RPC');
  const { cause } = error;
  const isUnsent = cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
  return new ConnectionLost(`${error.message}${cause instanceof Error ? ` (${cause.message})` : ''}`, {
    isUnsent,
  });
}

/** On 2026-07-28 errors come with a status of HTTP. */
function errorIn(text: string): Error | undefined {
  try {
    const { error } = JSON.parse(text);
    return isJsonObject(error) ? remoteError(error) : undefined;
  } catch {
    return undefined;
  }
}

/** Everything that the protocol asks of a request, and nothing that belonged to the one it was found in. */
function envelopeOf(meta: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(meta).filter(
      ([key]) => key.startsWith('io.modelcontextprotocol/') && !key.endsWith('subscriptionId'),
    ),
  );
}
