/**
 * The HTTP face: one endpoint for everything, as a fetch-style handler and as a listener for Node's `http`, Express and
 * whatever is built on them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type AuthInfo,
  classifyInboundRequest,
  createMcpHandler,
  DEFAULT_MAX_REQUEST_BODY_SIZE,
  type McpServerFactory,
  type ServerEventBus,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import { clientCapabilitiesKey, revision } from '../../dialects/2026-07-28/names.ts';
import { isFailure } from '../../dialects/errors.ts';
import { readEvents } from '../../dialects/event-stream.ts';
import { internalError, methodNotFound } from '../../dialects/json-rpc.ts';
import { RepeatFilter } from '../../engine/log.ts';
import { Unavailable } from '../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { StoreError } from '../../ports/store-errors.ts';
import { runtime } from '../../runtime/runtime.ts';
import { noteTurnedAway } from '../../task-methods/audit-notes.ts';
import { isTaskMethod, spendOn } from '../../task-methods/task-methods.ts';
import { exchanged } from '../calls/deliveries.ts';
import { RequestAborted } from '../calls/tool-call.ts';
import { HttpSessions } from '../sessions/http-sessions.ts';
import {
  acknowledgement,
  asTaskListen,
  farewell,
  Subscription,
  type SubscriptionId,
  type TaskListen,
  tasksToHear,
} from '../sessions/subscription.ts';
import type { TaskServer } from '../task-server.ts';
import type { Tasks } from '../tasks.ts';
import { AdmissionControl, type AdmissionOptions, refusal } from './admission.ts';
import { HttpRefusal, parseBody, readWebBody } from './body.ts';
import { EventBody } from './event-stream-body.ts';
import { type FastAnswer, FastPath, type Posted, refusedAnswer } from './fast-path.ts';
import { drained, readNodeBody, toWebRequest, whenClosed, whenFinished, writeResponse } from './node.ts';
import { Reading } from './request-end.ts';

export interface HandlerOptions extends AdmissionOptions {
  /** The largest request body, in bytes. Default 4 MiB. */
  readonly largestBody?: number;
  /** Where changed lists of tools, prompts and resources are announced to those that listen; see the SDK. */
  readonly bus?: ServerEventBus;
}

/** A request of either face, before it is admitted. */
interface Incoming extends Omit<Posted, 'body' | 'authInfo'> {
  readonly method: string;
  readonly url: string | undefined;
  readonly host: string | undefined;
  /** What was verified before it came here. */
  readonly verified: AuthInfo | undefined;
  /** Nobody is there any more to be answered. */
  readonly isGone: () => boolean;
  readonly readBody: () => unknown;
}

/** A request of Node's, with what Express and other middleware add to it. */
type NodeRequest = IncomingMessage & {
  readonly body?: unknown;
  readonly auth?: AuthInfo;
  readonly originalUrl?: string;
  readonly ip?: string | undefined;
};

export class McpHandler {
  readonly #binding: TaskServer;
  readonly #gate: AdmissionControl;
  readonly #direct: FastPath;
  /** For clients of 2025-11-25; the SDK's handler is for later ones. */
  readonly #sessions: HttpSessions;
  readonly #sdk: ReturnType<typeof createMcpHandler>;
  readonly #largestBody: number;
  readonly #onError: (error: Error) => void;
  /** The subscriptions to tasks, each with the id of its request. */
  readonly #streams = new Map<EventBody, SubscriptionId>();

  constructor(tasks: Tasks, factory: McpServerFactory, options: HandlerOptions = {}) {
    this.#binding = tasks.binding;
    this.#gate = new AdmissionControl(options);
    this.#largestBody = options.largestBody ?? DEFAULT_MAX_REQUEST_BODY_SIZE;
    this.#onError = calmed(options.onError ?? (() => {}));
    this.#direct = new FastPath(this.#binding, this.#onError);
    this.#sessions = new HttpSessions(this.#binding, factory, this.#onError);
    this.#sdk = createMcpHandler(factory, {
      legacy: 'reject',
      maxRequestBodySize: this.#largestBody,
      maxSubscriptions: this.#binding.limiter.limits.subscriptions,
      onerror: this.#onError,
      ...(options.bus && { bus: options.bus }),
    });
  }

  /** Announces changed lists of tools, prompts and resources to those that listen. */
  get notify(): ServerNotifier {
    return this.#sdk.notify;
  }

  /** How many subscriptions to tasks are open. */
  get subscriptions(): number {
    return this.#streams.size;
  }

  /** For Hono and everything else that speaks `Request` and `Response`. */
  fetch = async (request: Request, { authInfo }: { authInfo?: AuthInfo } = {}): Promise<Response> => {
    const { headers, method, url } = request;
    const reading = new Reading(request.signal, this.#binding.tasks.clock.monotonic());
    exchanged(request, reading);
    const answer = await this.#serve({
      method,
      url,
      host: headers.get('host') ?? new URL(url).host,
      header: (name) => headers.get(name),
      verified: authInfo,
      signal: () => reading.signal,
      isGone: () => request.signal.aborted,
      readBody: async () => parseBody(await readWebBody(request.body, this.#largestBody)),
      request: () => request,
    });
    return answer instanceof Response ? reading.of(answer) : toResponse(answer);
  };

  /** For Node's `http` and Express. A body that was parsed, or a token that was verified before, is taken over. */
  node = (req: NodeRequest, res: ServerResponse): void => {
    this.#serveNode(req, res).catch((error: Error) => {
      this.#onError(error);
      res.destroy();
    });
  };

  /** Each reader gets the answer to its request to listen. */
  endSubscriptions(): void {
    this.#binding.isStopping = true;
    for (const [stream, id] of [...this.#streams]) stream.end(frame(farewell(id, this.#binding.serverInfo)));
    void this.#sessions.endStandaloneStreams();
  }

  /** Ends the subscriptions and whatever is still being answered. */
  async close(): Promise<void> {
    this.endSubscriptions();
    await this.#sessions.close();
    await this.#sdk.close();
  }

  async #serveNode(req: NodeRequest, res: ServerResponse): Promise<void> {
    const arrivedAt = this.#binding.tasks.clock.monotonic();
    const { headers, method = 'GET' } = req;
    const signal = whenClosed(res);
    const address = () => req.ip ?? req.socket.remoteAddress;
    const answer = await this.#serve({
      method,
      url: req.originalUrl ?? req.url,
      host: headers.host,
      header: (name) => headers[name] as string | undefined,
      verified: req.auth,
      address,
      signal,
      isGone: () => res.destroyed,
      readBody: async () => req.body ?? parseBody(await readNodeBody(req, this.#largestBody)),
      request: () =>
        exchanged(toWebRequest(req, signal()), {
          arrivedAt,
          address: address(),
          fate: () => whenFinished(res),
          drained: () => drained(res),
        }),
    });
    if (!(answer instanceof Response)) return writeDirect(res, answer);
    if (answer.status === 413) res.setHeader('connection', 'close');
    await writeResponse(res, answer);
  }

  async #serve(incoming: Incoming): Promise<Response | FastAnswer> {
    const { method, url, host, header, verified, address, signal, request } = incoming;
    const early = this.#gate.published(method, url, host) ?? this.#gate.refuse(host, header('origin'));
    if (early) return early;
    const admission =
      this.#gate.isOpen || verified
        ? { authInfo: verified }
        : await this.#gate.admit(header('authorization'));
    if ('refusal' in admission) return this.#turnedAway(admission.refusal);
    const { authInfo } = admission;
    // Node hears of it, the web knows no such request.
    if (method === 'TRACE') return refusal(405, 'Method not allowed.');
    const admitted = { header, address, signal, request, authInfo };
    if (!isJsonPost(method, header('content-type')))
      return this.#withoutBody({ ...admitted, body: undefined }, method);
    try {
      return await this.#answer({ ...admitted, body: await incoming.readBody() });
    } catch (error) {
      return this.#failed(error, incoming.isGone());
    }
  }

  #failed(error: unknown, isGone: boolean): Response {
    if (isGone || error instanceof RequestAborted) return new Response(null, { status: 499 });
    if (error instanceof HttpRefusal) return refusal(error.status, error.message, error.rpcCode);
    if (isFailure(error)) this.#onError(error as Error);
    if (error instanceof Unavailable) return refusal(503, error.forCallers, internalError);
    return refusal(500, 'Internal server error', internalError);
  }

  #turnedAway(refusal: Response): Response {
    const { status } = refusal;
    // Of those whose token could not be checked nothing is known.
    if (status === 401 || status === 403)
      noteTurnedAway(this.#binding.tasks, null, `No token that is good for this (${status}).`);
    return refusal;
  }

  /** Streams and ends of sessions, and what is no message at all. */
  #withoutBody(received: Posted, method: string): Promise<Response | FastAnswer> {
    const isOfSession = method === 'GET' || method === 'DELETE';
    // The later revision has neither streams nor sessions that could be opened and ended so.
    if (isOfSession && received.header('mcp-protocol-version') !== revision) return this.#inSession(received);
    return this.#sdk.fetch(received.request(), toSdk(received.authInfo));
  }

  #inSession(received: Posted): Promise<Response | FastAnswer> {
    const { body, authInfo, signal, request } = received;
    return this.#sessions.answer({ body, authInfo, signal: signal(), request: request() });
  }

  #answer(received: Posted): Promise<Response | FastAnswer> {
    const sdk = (request: Request) =>
      this.#sdk.fetch(request, { ...toSdk(received.authInfo), parsedBody: received.body });
    return this.#direct.answer(received, sdk) ?? this.#answerWithSdk(received, sdk);
  }

  async #answerWithSdk(
    received: Posted,
    sdk: (request: Request) => Promise<Response>,
  ): Promise<Response | FastAnswer> {
    const listen = asTaskListen(received.body);
    if (listen) return this.#listen(listen, received);
    if (isOlder(received)) return this.#inSession(received);
    const answer = await sdk(received.request());
    return this.#isOfDraft(received.body) ? asNotFound(answer) : answer;
  }

  /** Is it a method that the SDK knows only because a draft has it, and the later revision does not? */
  #isOfDraft(body: unknown): boolean {
    const method = isJsonObject(body) ? body.method : undefined;
    return isTaskMethod(method) && !this.#binding.dialect.methods.includes(method);
  }

  async #listen(
    listen: TaskListen,
    { body, authInfo, request, address }: Posted,
  ): Promise<Response | FastAnswer> {
    let unsubscribe = () => {};
    let inner: ReadableStream<Uint8Array> | null = null;
    try {
      unsubscribe = this.#binding.limiter.subscribe(this.#binding.ownerOf(authInfo));
      // The SDK judges the request first; only what it accepts is asked about tasks.
      const sdk = await this.#sdk.fetch(request(), { ...toSdk(authInfo), parsedBody: withoutTasks(body) });
      const isStream = sdk.headers.get('content-type')?.startsWith('text/event-stream');
      if (!sdk.body || !isStream) {
        unsubscribe();
        return sdk;
      }
      inner = sdk.body;
      const meta = listen.params._meta as JsonObject;
      const caller = this.#binding.caller(meta[clientCapabilitiesKey], authInfo, address);
      spendOn('tasks/get', caller);
      const { requests } = await this.#binding.served();
      const tasks = await tasksToHear(requests, caller, listen);
      const stream = new EventBody(() => {
        subscription.close();
        if (this.#streams.delete(stream)) unsubscribe();
      });
      const write = (message: JsonObject) => stream.write(frame(message));
      const reader = { id: listen.id, write, drop: () => stream.fail() };
      const subscription = new Subscription(requests, caller, tasks, reader);
      this.#streams.set(stream, listen.id);
      void relay(inner, stream, subscription).catch(() => {});
      return new Response(stream.stream, { status: 200, headers: sdk.headers });
    } catch (error) {
      unsubscribe();
      await inner?.cancel().catch(() => {});
      return refusedAnswer(this.#binding.dialect, listen.id, error, this.#onError);
    }
  }
}

/** Passes on what the SDK writes. It ends a stream that listens to nothing it knows; the tasks keep this one open. */
async function relay(
  inner: ReadableStream<Uint8Array>,
  stream: EventBody,
  subscription: Subscription,
): Promise<void> {
  for await (const { data } of readEvents(inner, { signal: stream.closed })) {
    const message: unknown = JSON.parse(data);
    if (!isJsonObject(message) || 'result' in message) continue;
    const isAcknowledged = message.method === acknowledgement;
    await stream.write(frame(isAcknowledged ? subscription.acknowledging(message) : message));
    if (isAcknowledged) subscription.start();
  }
}

function frame(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

function isJsonPost(method: string, contentType: string | null | undefined): boolean {
  return method === 'POST' && /^application\/json\s*(;|$)/i.test(contentType ?? '');
}

function toSdk(authInfo: AuthInfo | undefined): { authInfo?: AuthInfo } {
  return authInfo ? { authInfo } : {};
}

/** By the body, as the SDK decides it; a later revision in the header makes it a later request, if a faulty one. */
function isOlder({ body, header }: Posted): boolean {
  const protocolVersionHeader = header('mcp-protocol-version');
  const route = classifyInboundRequest({
    httpMethod: 'POST',
    body,
    ...(protocolVersionHeader && { protocolVersionHeader }),
  });
  return route.kind === 'legacy';
}

/** The SDK knows no `taskIds`, and need not see what it would not understand. */
function withoutTasks(body: unknown): unknown {
  if (!isJsonObject(body) || !isJsonObject(body.params)) return body;
  const { taskIds: _, ...notifications } = body.params.notifications as JsonObject;
  return { ...body, params: { ...body.params, notifications } };
}

function toResponse({ status, text, retryAfterMs }: FastAnswer): Response {
  const headers = { 'content-type': 'application/json', ...retryAfter(retryAfterMs) };
  return new Response(text, { status, headers });
}

function writeDirect(res: ServerResponse, { status, text, retryAfterMs }: FastAnswer): void {
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...retryAfter(retryAfterMs),
  });
  res.end(text);
}

function retryAfter(ms: number | undefined): Record<string, string> {
  return ms === undefined ? {} : { 'retry-after': String(Math.ceil(ms / 1_000)) };
}

/** What the SDK finds out for itself it answers so; what a handler says it takes for the answer of a method. */
async function asNotFound(answer: Response): Promise<Response> {
  if (answer.status !== 200) return answer;
  const text = await answer.text();
  const isThere = !text.includes(`"code":${methodNotFound}`);
  return new Response(text, { status: isThere ? 200 : 404, headers: answer.headers });
}

/** While the store fails every request does: of each kind of trouble it is enough to be told now and then. */
function calmed(onError: (error: Error) => void): (error: Error) => void {
  const calm = new RepeatFilter<string>(10_000);
  return (error) => {
    if (!(error instanceof StoreError) || calm.count(error.trouble, runtime.monotonic()) !== undefined)
      onError(error);
  };
}
