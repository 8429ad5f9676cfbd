/**
 * Serves MCP over HTTP on one endpoint, as a fetch-style handler and as a listener for Node's `http`, Express and
 * frameworks built on them.
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
import { noteRefused } from '../../task-methods/audit-notes.ts';
import { isTaskMethod, spendOn } from '../../task-methods/task-methods.ts';
import { withExchange } from '../calls/deliveries.ts';
import { RequestAborted } from '../calls/tool-call.ts';
import { HttpSessions } from '../sessions/http-sessions.ts';
import {
  acknowledgement,
  asTaskListen,
  farewell,
  Subscription,
  type SubscriptionId,
  type TaskListen,
  watchedTasks,
} from '../sessions/subscription.ts';
import type { TaskServer } from '../task-server.ts';
import type { Tasks } from '../tasks.ts';
import { AdmissionControl, type AdmissionOptions, refusal } from './admission.ts';
import { HttpRefusal, parseBody, readWebBody } from './body.ts';
import { EventBody } from './event-stream-body.ts';
import { type FastAnswer, FastPath, type Posted, refusedAnswer } from './fast-path.ts';
import { drained, readNodeBody, toWebRequest, whenClosed, whenFinished, writeResponse } from './node.ts';
import { WebExchange } from './request-end.ts';

export interface HandlerOptions extends AdmissionOptions {
  /** The maximum size of a request body, in bytes. Default 4 MiB. */
  readonly maxBodySize?: number;
  /** Carries notifications of changed lists of tools, prompts and resources; see the SDK. */
  readonly bus?: ServerEventBus;
}

/** A request from `fetch` or `node`, before it is admitted. */
interface Incoming extends Omit<Posted, 'body' | 'authInfo'> {
  readonly method: string;
  readonly url: string | undefined;
  readonly host: string | undefined;
  /** A token that middleware already verified. */
  readonly verified: AuthInfo | undefined;
  /** True if the client is gone. */
  readonly isGone: () => boolean;
  /** Reads and parses the body. May return a promise. */
  readonly readBody: () => unknown;
}

/** A Node request, with the fields that Express and other middleware add. */
type NodeRequest = IncomingMessage & {
  readonly body?: unknown;
  readonly auth?: AuthInfo;
  readonly originalUrl?: string;
  readonly ip?: string | undefined;
};

export class McpHandler {
  readonly #taskServer: TaskServer;
  readonly #admission: AdmissionControl;
  readonly #fastPath: FastPath;
  /** For clients of 2025-11-25 and earlier; the SDK's handler is for later ones. */
  readonly #sessions: HttpSessions;
  readonly #sdk: ReturnType<typeof createMcpHandler>;
  readonly #maxBodySize: number;
  readonly #onError: (error: Error) => void;
  /** The open subscriptions to tasks, each with the id of its request. */
  readonly #streams = new Map<EventBody, SubscriptionId>();

  constructor(tasks: Tasks, factory: McpServerFactory, options: HandlerOptions = {}) {
    this.#taskServer = tasks.taskServer;
    this.#admission = new AdmissionControl(options);
    this.#maxBodySize = options.maxBodySize ?? DEFAULT_MAX_REQUEST_BODY_SIZE;
    this.#onError = throttled(options.onError ?? (() => {}));
    this.#fastPath = new FastPath(this.#taskServer, this.#onError);
    this.#sessions = new HttpSessions(this.#taskServer, factory, this.#onError);
    this.#sdk = createMcpHandler(factory, {
      legacy: 'reject',
      maxRequestBodySize: this.#maxBodySize,
      maxSubscriptions: this.#taskServer.limiter.limits.subscriptions,
      onerror: this.#onError,
      ...(options.bus && { bus: options.bus }),
    });
  }

  /** Notifies subscribers of changed lists of tools, prompts and resources. */
  get notify(): ServerNotifier {
    return this.#sdk.notify;
  }

  /** The number of open subscriptions to tasks. */
  get subscriptions(): number {
    return this.#streams.size;
  }

  /** For Hono and everything else that uses `Request` and `Response`. */
  fetch = async (request: Request, { authInfo }: { authInfo?: AuthInfo } = {}): Promise<Response> => {
    const { headers, method, url } = request;
    const exchange = new WebExchange(request.signal, this.#taskServer.tasks.clock.monotonic());
    withExchange(request, exchange);
    const answer = await this.#serve({
      method,
      url,
      host: headers.get('host') ?? new URL(url).host,
      header: (name) => headers.get(name),
      verified: authInfo,
      signal: () => exchange.signal,
      isGone: () => request.signal.aborted,
      readBody: async () => parseBody(await readWebBody(request.body, this.#maxBodySize)),
      request: () => request,
    });
    return answer instanceof Response ? exchange.of(answer) : toResponse(answer);
  };

  /** For Node's `http` and Express. Uses a body or token that middleware already parsed or verified. */
  node = (req: NodeRequest, res: ServerResponse): void => {
    this.#serveNode(req, res).catch((error: Error) => {
      this.#onError(error);
      res.destroy();
    });
  };

  /**
   * Ends all subscriptions by answering their requests, and the standalone streams of sessions. The server is stopping.
   */
  endSubscriptions(): void {
    this.#taskServer.isStopping = true;
    for (const [stream, id] of [...this.#streams])
      stream.end(frame(farewell(id, this.#taskServer.serverInfo)));
    void this.#sessions.endStandaloneStreams();
  }

  /** Ends the subscriptions and all open requests. */
  async close(): Promise<void> {
    this.endSubscriptions();
    await this.#sessions.close();
    await this.#sdk.close();
  }

  async #serveNode(req: NodeRequest, res: ServerResponse): Promise<void> {
    const arrivedAt = this.#taskServer.tasks.clock.monotonic();
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
      readBody: async () => req.body ?? parseBody(await readNodeBody(req, this.#maxBodySize)),
      request: () =>
        withExchange(toWebRequest(req, signal()), {
          arrivedAt,
          address: address(),
          fate: () => whenFinished(res),
          drained: () => drained(res),
        }),
    });
    if (!(answer instanceof Response)) return writeDirect(res, answer);
    // The rest of the body was not read, so the connection cannot be used again.
    if (answer.status === 413) res.setHeader('connection', 'close');
    await writeResponse(res, answer);
  }

  async #serve(incoming: Incoming): Promise<Response | FastAnswer> {
    const { method, url, host, header, verified, address, signal, request } = incoming;
    const early =
      this.#admission.published(method, url, host) ?? this.#admission.refuse(host, header('origin'));
    if (early) return early;
    const admission =
      this.#admission.isOpen || verified
        ? { authInfo: verified }
        : await this.#admission.admit(header('authorization'));
    if ('refusal' in admission) return this.#recordDenied(admission.refusal);
    const { authInfo } = admission;
    // Node accepts TRACE, but web requests cannot represent it.
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
    // No client receives this response.
    if (isGone || error instanceof RequestAborted) return new Response(null, { status: 499 });
    if (error instanceof HttpRefusal) return refusal(error.status, error.message, error.rpcCode);
    if (isFailure(error)) this.#onError(error as Error);
    if (error instanceof Unavailable) return refusal(503, error.forCallers, internalError);
    return refusal(500, 'Internal server error', internalError);
  }

  #recordDenied(refusal: Response): Response {
    const { status } = refusal;
    // With other statuses the token could not be checked, so its caller was not denied.
    if (status === 401 || status === 403)
      noteRefused(this.#taskServer.tasks, null, `No valid token for this request (${status}).`);
    return refusal;
  }

  /** Opens a stream, ends a session, or lets the SDK refuse the request. */
  #withoutBody(received: Posted, method: string): Promise<Response | FastAnswer> {
    const isOfSession = method === 'GET' || method === 'DELETE';
    // 2026-07-28 has neither such streams nor sessions.
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
    return this.#fastPath.answer(received, sdk) ?? this.#answerWithSdk(received, sdk);
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

  /** True for a task method that only 2025-11-25 or a draft has, and not 2026-07-28. */
  #isOfDraft(body: unknown): boolean {
    const method = isJsonObject(body) ? body.method : undefined;
    return isTaskMethod(method) && !this.#taskServer.dialect.methods.includes(method);
  }

  /** Answers `subscriptions/listen` with task ids. The stream combines that of the SDK with the states of the tasks. */
  async #listen(
    listen: TaskListen,
    { body, authInfo, request, address }: Posted,
  ): Promise<Response | FastAnswer> {
    let unsubscribe = () => {};
    let inner: ReadableStream<Uint8Array> | null = null;
    try {
      unsubscribe = this.#taskServer.limiter.subscribe(this.#taskServer.ownerOf(authInfo));
      // The SDK checks the request first; tasks are added only to a subscription that it accepts.
      const sdk = await this.#sdk.fetch(request(), { ...toSdk(authInfo), parsedBody: withoutTasks(body) });
      const isStream = sdk.headers.get('content-type')?.startsWith('text/event-stream');
      if (!sdk.body || !isStream) {
        unsubscribe();
        return sdk;
      }
      inner = sdk.body;
      const meta = listen.params._meta as JsonObject;
      const caller = this.#taskServer.caller(meta[clientCapabilitiesKey], authInfo, address);
      spendOn('tasks/get', caller);
      const { requests } = await this.#taskServer.served();
      const watched = await watchedTasks(requests, caller, listen);
      const stream = new EventBody(() => {
        subscription.close();
        if (this.#streams.delete(stream)) unsubscribe();
      });
      const write = (message: JsonObject) => stream.write(frame(message));
      const reader = { id: listen.id, write, drop: () => stream.fail() };
      const subscription = new Subscription(requests, caller, watched, reader);
      this.#streams.set(stream, listen.id);
      void relay(inner, stream, subscription).catch(() => {});
      return new Response(stream.stream, { status: 200, headers: sdk.headers });
    } catch (error) {
      unsubscribe();
      await inner?.cancel().catch(() => {});
      return refusedAnswer(this.#taskServer.dialect, listen.id, error, this.#onError);
    }
  }
}

/**
 * Forwards what the SDK writes, except its final result: the SDK ends a stream without subscriptions of its own, but
 * the tasks keep this one open.
 */
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

/**
 * True for a request of 2025-11-25 or earlier, by the SDK's rules. If the header names a later revision, the request
 * counts as a later one, even if its body is not valid there.
 */
function isOlder({ body, header }: Posted): boolean {
  const protocolVersionHeader = header('mcp-protocol-version');
  const route = classifyInboundRequest({
    httpMethod: 'POST',
    body,
    ...(protocolVersionHeader && { protocolVersionHeader }),
  });
  return route.kind === 'legacy';
}

/** Removes `taskIds`, which the SDK does not support. */
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

/**
 * Sets status 404 for "method not found". The SDK does so only for methods without a handler; methods of drafts have
 * one.
 */
async function asNotFound(answer: Response): Promise<Response> {
  if (answer.status !== 200) return answer;
  const text = await answer.text();
  const isFound = !text.includes(`"code":${methodNotFound}`);
  return new Response(text, { status: isFound ? 200 : 404, headers: answer.headers });
}

/** Reports each kind of store error at most once in 10 s: while the store fails, every request fails. */
function throttled(onError: (error: Error) => void): (error: Error) => void {
  const calm = new RepeatFilter<string>(10_000);
  return (error) => {
    if (!(error instanceof StoreError) || calm.count(error.trouble, runtime.monotonic()) !== undefined)
      onError(error);
  };
}
