/**
 * Sessions of 2025-11-25 over HTTP. Each session is a row in the store. A session that is not live in this process,
 * after a restart or because another process opened it, is restored with the client's original `initialize` request.
 */
import {
  type AuthInfo,
  isInitializeRequest,
  type McpServerFactory,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { OverLimit } from '../../dialects/errors.ts';
import { invalidParams, notAdmitted } from '../../dialects/json-rpc.ts';
import { newId } from '../../model/id.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Owner } from '../../model/task.ts';
import type { SessionRecord } from '../../ports/sessions.ts';
import { runtime, type Timer } from '../../runtime/runtime.ts';
import { noteRefused } from '../../task-methods/audit-notes.ts';
import { answerTo, isTaskMethod, topOf } from '../../task-methods/task-methods.ts';
import { isLogLevel, type LogLevel } from '../calls/call-log.ts';
import { exchangeOf } from '../calls/deliveries.ts';
import { refusal } from '../http/admission.ts';
import { type FastAnswer, refusedAnswer } from '../http/fast-path.ts';
import { StandaloneStream } from '../sdk/streams.ts';
import type { TaskServer } from '../task-server.ts';

/** After this time without use a session is closed in this process; its row stays. */
const idleMs = 10 * 60_000;
/** After this time without use the row of a session is deleted. */
const retentionMs = 7 * 24 * 3_600_000;
/** The time of last use is saved at most this often. */
const seenPrecisionMs = 3_600_000;
/** The key of the session's log level, stored with the params of its `initialize` request. */
const levelKey = 'dev.holdfast/logLevel';
/** The maximum length of the params of `initialize`, in characters. They are stored with the session. */
const maxOpeningLength = 65_536;

/** The owner of a session, and the params of its `initialize` request. */
type Opened = Omit<SessionRecord, 'seenAt'>;

interface LiveSession {
  readonly owner: Owner;
  /** The params of `initialize`, with the log level under `levelKey`. */
  opening: JsonObject;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly standalone: StandaloneStream;
  readonly use: Use;
  /** The ids of the requests that the SDK is answering. */
  readonly openRequests: Set<unknown>;
  /** The time of last use that was last saved. */
  savedAt: number;
}

/** A request of a session, with a parsed body. */
export interface SessionRequest {
  readonly request: Request;
  readonly body: unknown;
  readonly authInfo: AuthInfo | undefined;
  /** Fires when the request has ended. */
  readonly signal: AbortSignal;
}

export class HttpSessions {
  readonly #taskServer: TaskServer;
  readonly #factory: McpServerFactory;
  readonly #onError: (error: Error) => void;
  /**
   * The sessions in this process. The key contains the owner: with another owner's session id a caller finds nothing.
   */
  readonly #live = new Map<string, Promise<LiveSession | undefined>>();
  readonly #known = new KnownSessions();
  readonly #sweep: Timer;

  constructor(taskServer: TaskServer, factory: McpServerFactory, onError: (error: Error) => void) {
    this.#taskServer = taskServer;
    this.#factory = factory;
    this.#onError = onError;
    this.#sweep = runtime.setInterval(() => void this.#closeUnused().catch(onError), 60_000).unref();
  }

  async answer(received: SessionRequest): Promise<Response | FastAnswer> {
    const { request, body, authInfo } = received;
    const owner = this.#taskServer.ownerOf(authInfo);
    const id = request.headers.get('mcp-session-id');
    if (id === null) return this.#begin(received, owner);
    const session = await this.#session(id, owner, received);
    if (!session) {
      noteRefused(this.#taskServer.tasks, owner, 'This owner has no such session.');
      // The SDK's message, which makes clients open a new session.
      return refusal(404, 'Session not found', notAdmitted);
    }
    this.#known.used(owner, id);
    await this.#noteUse(id, session, levelIn(body));
    const direct = isRightRevision(request) ? await this.#direct(session, received) : undefined;
    if (direct) return direct;
    // Accept the answer only once it is stored: the question is not asked again while its stream is open.
    const storing =
      isJsonObject(body) && this.#taskServer.sessions.get(session.transport)?.foreignAnswer(body, authInfo);
    if (storing) {
      await storing;
      return new Response(null, { status: 202 });
    }
    // A client that opens a new stream has lost the previous one, even if this server has not noticed.
    if (request.method === 'GET' && !request.headers.has('last-event-id'))
      session.transport.closeStandaloneSSEStream();
    if (!begin(session, received)) return refusal(409, 'A request with this id is already in progress.');
    const response = await toSdk(session, request, received);
    if (request.method === 'GET' && response.ok)
      session.standalone.opened(received.signal, exchangeOf(request));
    return whileInUse(session.use, response, received.signal);
  }

  /** Ends the streams that belong to no request, which would otherwise stay open until their clients leave. */
  async endStandaloneStreams(): Promise<void> {
    for (const opening of this.#live.values())
      (await opening.catch(() => undefined))?.transport.closeStandaloneSSEStream();
  }

  async close(): Promise<void> {
    runtime.clearInterval(this.#sweep);
    for (const opening of [...this.#live.values()]) await (await opening)?.transport.close();
    this.#live.clear();
  }

  // --- Opening --------------------------------------------------------------------------------------------

  async #begin(received: SessionRequest, owner: Owner): Promise<Response | FastAnswer> {
    const { request, body, authInfo, signal } = received;
    const isOpening = isJsonObject(body) && body.method === 'initialize' && isJsonObject(body.params);
    if (!isOpening)
      return refusal(400, 'Bad Request: the Mcp-Session-Id header is missing. Send initialize first.');
    if (!isInitializeRequest(body))
      return notAnOpening(body, 'initialize needs "protocolVersion", "capabilities" and "clientInfo".');
    const opening = body.params as JsonObject;
    if (JSON.stringify(opening).length > maxOpeningLength)
      return notAnOpening(body, `The params of initialize may have at most ${maxOpeningLength} characters.`);
    const id = newId();
    let use: Use;
    try {
      use = await this.#makeRoom(owner, id);
    } catch (error) {
      if (!(error instanceof OverLimit)) throw error;
      const asked = { opening, session: id, method: 'initialize', meta: opening._meta };
      const { dialect } = this.#taskServer.sessionCaller(asked, authInfo);
      return refusedAnswer(dialect, body.id, error, this.#onError);
    }
    let isOpen = false;
    try {
      const session = await this.#open({ id, owner, opening }, received, true);
      this.#live.set(keyOf(id, owner), Promise.resolve(session));
      const response = await toSdk(session, request, received);
      isOpen = response.ok;
      if (!isOpen) await session.transport.close();
      return whileInUse(use, response, signal);
    } finally {
      // `#makeRoom` counted this request.
      use.inUse--;
      if (!isOpen) this.#known.ended(owner, id);
    }
  }

  /** Makes room for one more session: removes the owner's least recently used ones if it has too many. */
  async #makeRoom(owner: Owner, id: string): Promise<Use> {
    const { limiter } = this.#taskServer;
    const evicted: string[] = [];
    while (this.#known.countOf(owner) >= limiter.limits.sessionsPerOwner) {
      const unused = this.#known.leastRecentlyUsed(owner);
      if (unused === undefined) return limiter.refuseSession(owner);
      this.#known.ended(owner, unused);
      evicted.push(unused);
    }
    // Count the session before the first await: many may be opened at the same time.
    const use = this.#known.used(owner, id);
    use.inUse++;
    for (const unused of evicted) {
      limiter.sessionEvicted();
      const { requests } = await this.#taskServer.served();
      await requests.sessions.delete(unused);
      const live = await this.#live.get(keyOf(unused, owner))?.catch(() => undefined);
      await live?.transport.close().catch(this.#onError);
    }
    return use;
  }

  #session(id: string, owner: Owner, received: SessionRequest): Promise<LiveSession | undefined> {
    const key = keyOf(id, owner);
    const known = this.#live.get(key);
    if (known) return known;
    const restored = this.#restore(id, owner, received);
    this.#live.set(key, restored);
    restored.then(
      (session) => session ?? this.#live.delete(key),
      () => this.#live.delete(key),
    );
    return restored;
  }

  /** Restores a session: replays the client's first messages to a new SDK server. */
  async #restore(id: string, owner: Owner, received: SessionRequest): Promise<LiveSession | undefined> {
    const { request, authInfo } = received;
    const { requests } = await this.#taskServer.served();
    const row = await requests.sessions.get(id);
    if (!row || row.owner !== owner) return undefined;
    const session = await this.#open(row, received, false);
    const send = async (message: JsonObject) => {
      const headers = new Headers(request.headers);
      headers.set('content-type', 'application/json');
      headers.set('accept', 'application/json, text/event-stream');
      headers.delete('last-event-id');
      const replayed = new Request(request.url, { method: 'POST', headers });
      const body = { jsonrpc: '2.0', ...message };
      await (await toSdk(session, replayed, { body, authInfo })).text();
    };
    const [params, level] = splitOpening(row.opening);
    await send({ id: 'restored', method: 'initialize', params });
    await send({ method: 'notifications/initialized' });
    if (level) await send({ id: 'level', method: 'logging/setLevel', params: { level } });
    return session;
  }

  /** Connects a new SDK server. `isNew`: the session has no row yet. */
  async #open(row: Opened, { request, authInfo }: SessionRequest, isNew: boolean): Promise<LiveSession> {
    const { id, owner, opening } = row;
    const { requests } = await this.#taskServer.served();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      // Store the session before the client learns its id.
      onsessioninitialized: async () => {
        if (isNew) await requests.sessions.save({ ...row, seenAt: runtime.now() });
      },
      onsessionclosed: () => {
        this.#known.ended(owner, id);
        return requests.sessions.delete(id);
      },
    });
    const standalone = new StandaloneStream();
    this.#taskServer.standaloneStreams.set(transport, standalone);
    const product = await this.#factory({
      era: 'legacy',
      requestInfo: request,
      ...(authInfo && { authInfo }),
    });
    await product.connect(transport);
    const { onclose } = transport;
    transport.onclose = () => {
      this.#live.delete(keyOf(id, owner));
      onclose?.();
    };
    const use = this.#known.used(owner, id);
    return { owner, opening, transport, standalone, use, openRequests: new Set(), savedAt: use.seenAt };
  }

  // --- Use ------------------------------------------------------------------------------------------------

  /** Answers task methods with plain JSON, without the cost of an event stream. Undefined if the SDK has to answer. */
  async #direct(
    session: LiveSession,
    { body, authInfo, request }: SessionRequest,
  ): Promise<FastAnswer | undefined> {
    if (!isJsonObject(body) || typeof body.method !== 'string' || body.jsonrpc !== '2.0') return undefined;
    const { id, method, params } = body;
    if (typeof id !== 'string' && typeof id !== 'number') return undefined;
    if (!isTaskMethod(method)) return undefined;
    const given = isJsonObject(params) ? params : {};
    const { transport, opening } = session;
    const caller = this.#taskServer.sessionCaller(
      { opening, session: transport.sessionId, method, meta: given._meta },
      authInfo,
      () => exchangeOf(request)?.address,
    );
    // The SDK answers methods that may wait, and those that do not exist.
    const { dialect } = caller;
    if (!dialect.methods.includes(method)) return undefined;
    if (method === 'tasks/result' && !dialect.callerNamesTasks) return undefined;
    const { requests } = await this.#taskServer.served();
    try {
      const { result, tree } = await answerTo(method, requests, caller, given);
      if (tree && tree.root.phase !== 'done') {
        const connection = await this.#taskServer.sessions.get(transport)?.connection();
        connection?.follow(topOf(tree).id, caller);
      }
      return { status: 200, text: JSON.stringify({ jsonrpc: '2.0', id, result }) };
    } catch (error) {
      return refusedAnswer(dialect, id, error, this.#onError);
    }
  }

  /** Saves the time of last use and the log level, which must survive a restart of the session. */
  async #noteUse(id: string, session: LiveSession, level: LogLevel | undefined): Promise<void> {
    const isNewLevel = level !== undefined && level !== session.opening[levelKey];
    const { seenAt } = session.use;
    if (!isNewLevel && seenAt - session.savedAt < seenPrecisionMs) return;
    session.savedAt = seenAt;
    if (isNewLevel) session.opening = { ...session.opening, [levelKey]: level };
    const { owner, opening } = session;
    const { requests } = await this.#taskServer.served();
    await requests.sessions.save({ id, owner, opening, seenAt });
  }

  async #closeUnused(): Promise<void> {
    const now = runtime.now();
    for (const opening of [...this.#live.values()]) {
      const session = await opening.catch(() => undefined);
      if (session?.use.inUse === 0 && now - session.use.seenAt > idleMs)
        await session.transport.close().catch(this.#onError);
    }
    this.#known.forget(now - retentionMs);
    const { requests } = await this.#taskServer.served();
    await requests.sessions.forget(now - retentionMs);
  }
}

function toSdk(
  { transport }: LiveSession,
  request: Request,
  { body, authInfo }: Pick<SessionRequest, 'body' | 'authInfo'>,
): Promise<Response> {
  return transport.handleRequest(request, {
    ...(body !== undefined && { parsedBody: body }),
    ...(authInfo && { authInfo }),
  });
}

/** Counts the session as in use until the signal of the request fires. */
function whileInUse(use: Use, response: Response, signal: AbortSignal): Response {
  if (!response.body || signal.aborted) return response;
  use.inUse++;
  signal.addEventListener('abort', () => use.inUse--, { once: true });
  return response;
}

/**
 * Marks a request as in progress. Returns false if one with its id already is: the second would take over the stream of
 * the first, and the client would never see the questions that the server asks there.
 */
function begin({ openRequests }: LiveSession, { body, signal }: SessionRequest): boolean {
  if (!isJsonObject(body) || body.id === undefined || body.method === undefined) return true;
  if (openRequests.has(body.id)) return false;
  if (signal.aborted) return true;
  openRequests.add(body.id);
  signal.addEventListener('abort', () => openRequests.delete(body.id), { once: true });
  return true;
}

/** False if the header names an unknown revision: the SDK refuses such a request. */
function isRightRevision({ headers }: Request): boolean {
  const named = headers.get('mcp-protocol-version');
  return named === null || SUPPORTED_PROTOCOL_VERSIONS.includes(named);
}

/** Refuses an invalid `initialize`. The SDK would only report that there is no session. */
function notAnOpening({ id = null }: JsonObject, why: string): Response {
  const error = { code: invalidParams, message: `Invalid params: ${why}` };
  return Response.json({ jsonrpc: '2.0', id, error }, { status: 400 });
}

/** The log level that a message sets; undefined if it sets none. */
function levelIn(body: unknown): LogLevel | undefined {
  if (!isJsonObject(body) || body.method !== 'logging/setLevel' || !isJsonObject(body.params))
    return undefined;
  return isLogLevel(body.params.level) ? body.params.level : undefined;
}

/** Separates the client's params of `initialize` from the log level. */
function splitOpening({ [levelKey]: level, ...opening }: JsonObject): [JsonObject, LogLevel | undefined] {
  return [opening, isLogLevel(level) ? level : undefined];
}

function keyOf(id: string, owner: Owner): string {
  return JSON.stringify([owner, id]);
}

// --- Sessions of each owner --------------------------------------------------------------------------------

/** When a session was last used in this process, and the number of its open requests, including streams. */
interface Use {
  seenAt: number;
  inUse: number;
}

/** The sessions that this process has seen and that count towards their owners' limits, even if closed here since. */
class KnownSessions {
  /** The sessions of each owner, least recently used first. */
  readonly #byOwner = new Map<Owner, Map<string, Use>>();

  /** Records the use of a session, and adds the session if it is new. */
  used(owner: Owner, id: string): Use {
    const own = this.#byOwner.get(owner) ?? new Map<string, Use>();
    const use = own.get(id) ?? { seenAt: 0, inUse: 0 };
    use.seenAt = runtime.now();
    this.#byOwner.set(owner, own);
    own.delete(id);
    own.set(id, use);
    return use;
  }

  /** Removes a session. */
  ended(owner: Owner, id: string): void {
    const own = this.#byOwner.get(owner);
    own?.delete(id);
    if (own?.size === 0) this.#byOwner.delete(owner);
  }

  countOf(owner: Owner): number {
    return this.#byOwner.get(owner)?.size ?? 0;
  }

  /** Undefined if every session of the owner is in use. */
  leastRecentlyUsed(owner: Owner): string | undefined {
    for (const [id, { inUse }] of this.#byOwner.get(owner) ?? []) if (inUse === 0) return id;
    return undefined;
  }

  /** Removes sessions that were last used before a time. */
  forget(seenBefore: number): void {
    for (const [owner, own] of this.#byOwner)
      for (const [id, { seenAt, inUse }] of own)
        if (seenAt < seenBefore && inUse === 0) this.ended(owner, id);
  }
}
