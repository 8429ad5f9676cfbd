/**
 * Sessions of 2025-11-25 over HTTP. Each is a row in the store: a session that this process does not know yet, because
 * another one opened it or because it was restarted, is opened again the way its client opened it, and goes on.
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
import { noteTurnedAway } from '../../task-methods/audit-notes.ts';
import { answerTo, isTaskMethod, topOf } from '../../task-methods/task-methods.ts';
import { isLogLevel, type LogLevel } from '../calls/call-log.ts';
import { exchangeOf } from '../calls/deliveries.ts';
import { refusal } from '../http/admission.ts';
import { type FastAnswer, refusedAnswer } from '../http/fast-path.ts';
import { StandaloneStream } from '../sdk/streams.ts';
import type { TaskServer } from '../task-server.ts';

/** A session that is not used for so long leaves this process; its row stays. */
const idleMs = 10 * 60_000;
/** … and after so long its row goes as well. */
const forgottenMs = 7 * 24 * 3_600_000;
/** How exactly a row knows when its session was last used. */
const seenMs = 3_600_000;
/** Beside what a client said when it opened a session: the level of the log that it set in it. */
const levelKey = 'dev.holdfast/logLevel';
/** In characters: what a client says when it opens a session is kept as long as the session. */
const longestOpening = 65_536;

/** Whose session it is, and how it was opened. */
type Opened = Omit<SessionRecord, 'seenAt'>;

interface Live {
  readonly owner: Owner;
  opening: JsonObject;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly standalone: StandaloneStream;
  readonly use: Use;
  /** The ids of requests that are being answered by the SDK. */
  readonly underWay: Set<unknown>;
  savedAt: number;
}

/** A request of a session, its body read. */
export interface SessionRequest {
  readonly request: Request;
  readonly body: unknown;
  readonly authInfo: AuthInfo | undefined;
  readonly signal: AbortSignal;
}

export class HttpSessions {
  readonly #binding: TaskServer;
  readonly #factory: McpServerFactory;
  readonly #onError: (error: Error) => void;
  /** By owner and id: whoever tries the id of another finds nothing, and is in nobody's way. */
  readonly #live = new Map<string, Promise<Live | undefined>>();
  readonly #known = new KnownSessions();
  readonly #sweep: Timer;

  constructor(binding: TaskServer, factory: McpServerFactory, onError: (error: Error) => void) {
    this.#binding = binding;
    this.#factory = factory;
    this.#onError = onError;
    this.#sweep = runtime.setInterval(() => void this.#tidy().catch(onError), 60_000).unref();
  }

  async answer(received: SessionRequest): Promise<Response | FastAnswer> {
    const { request, body, authInfo } = received;
    const owner = this.#binding.ownerOf(authInfo);
    const id = request.headers.get('mcp-session-id');
    if (id === null) return this.#begin(received, owner);
    const session = await this.#session(id, owner, received);
    if (!session) {
      noteTurnedAway(this.#binding.tasks, owner, 'There is no such session of this owner.');
      // As the SDK words it; it makes clients open a new session.
      return refusal(404, 'Session not found', notAdmitted);
    }
    this.#known.used(owner, id);
    await this.#noteUse(id, session, levelIn(body));
    const direct = isRightRevision(request) ? await this.#direct(session, received) : undefined;
    if (direct) return direct;
    // Accepted only when it is stored: nobody asks again as long as the stream of the question stands.
    const storing =
      isJsonObject(body) && this.#binding.sessions.get(session.transport)?.strangeAnswer(body, authInfo);
    if (storing) {
      await storing;
      return new Response(null, { status: 202 });
    }
    // A client that asks for a new stream has lost the one before, whether that is known here or not.
    if (request.method === 'GET' && !request.headers.has('last-event-id'))
      session.transport.closeStandaloneSSEStream();
    if (!begin(session, received)) return refusal(409, 'A request with this id is already in progress.');
    const response = await toSdk(session, request, received);
    if (request.method === 'GET' && response.ok)
      session.standalone.opened(received.signal, exchangeOf(request));
    return whileInUse(session.use, response, received.signal);
  }

  /** The streams that belong to no request would otherwise stay open as long as their clients do. */
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
    if (JSON.stringify(opening).length > longestOpening)
      return notAnOpening(body, `initialize may have ${longestOpening} characters at most.`);
    const id = newId();
    let use: Use;
    try {
      use = await this.#makeRoom(owner, id);
    } catch (error) {
      if (!(error instanceof OverLimit)) throw error;
      const asked = { opening, session: id, method: 'initialize', meta: opening._meta };
      const { dialect } = this.#binding.sessionCaller(asked, authInfo);
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
      use.inUse--;
      if (!isOpen) this.#known.ended(owner, id);
    }
  }

  /** For one more session of the owner, whose longest unused one goes for it. */
  async #makeRoom(owner: Owner, id: string): Promise<Use> {
    const { limiter } = this.#binding;
    const going: string[] = [];
    while (this.#known.countOf(owner) >= limiter.limits.sessionsPerOwner) {
      const unused = this.#known.longestUnused(owner);
      if (unused === undefined) return limiter.refuseSession(owner);
      this.#known.ended(owner, unused);
      going.push(unused);
    }
    // From here on it counts, however many are opened at the same time.
    const use = this.#known.used(owner, id);
    use.inUse++;
    for (const unused of going) {
      limiter.sessionWent();
      const { requests } = await this.#binding.served();
      await requests.sessions.delete(unused);
      const live = await this.#live.get(keyOf(unused, owner))?.catch(() => undefined);
      await live?.transport.close().catch(this.#onError);
    }
    return use;
  }

  #session(id: string, owner: Owner, received: SessionRequest): Promise<Live | undefined> {
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

  /** Opens a session again, for the server of the SDK as its client did it: with the same first words. */
  async #restore(id: string, owner: Owner, received: SessionRequest): Promise<Live | undefined> {
    const { request, authInfo } = received;
    const { requests } = await this.#binding.served();
    const row = await requests.sessions.get(id);
    if (!row || row.owner !== owner) return undefined;
    const session = await this.#open(row, received, false);
    const say = async (message: JsonObject) => {
      const headers = new Headers(request.headers);
      headers.set('content-type', 'application/json');
      headers.set('accept', 'application/json, text/event-stream');
      headers.delete('last-event-id');
      const again = new Request(request.url, { method: 'POST', headers });
      const body = { jsonrpc: '2.0', ...message };
      await (await toSdk(session, again, { body, authInfo })).text();
    };
    const [params, level] = apart(row.opening);
    await say({ id: 'restored', method: 'initialize', params });
    await say({ method: 'notifications/initialized' });
    if (level) await say({ id: 'level', method: 'logging/setLevel', params: { level } });
    return session;
  }

  async #open(row: Opened, { request, authInfo }: SessionRequest, isNew: boolean): Promise<Live> {
    const { id, owner, opening } = row;
    const { requests } = await this.#binding.served();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      // Before the client hears of the session it is in the store.
      onsessioninitialized: async () => {
        if (isNew) await requests.sessions.save({ ...row, seenAt: runtime.now() });
      },
      onsessionclosed: () => {
        this.#known.ended(owner, id);
        return requests.sessions.delete(id);
      },
    });
    const standalone = new StandaloneStream();
    this.#binding.standaloneStreams.set(transport, standalone);
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
    return { owner, opening, transport, standalone, use, underWay: new Set(), savedAt: use.seenAt };
  }

  // --- Use ------------------------------------------------------------------------------------------------

  /** A look at a task is answered with plain JSON, which a stream of events would only make dearer. */
  async #direct(session: Live, { body, authInfo, request }: SessionRequest): Promise<FastAnswer | undefined> {
    if (!isJsonObject(body) || typeof body.method !== 'string' || body.jsonrpc !== '2.0') return undefined;
    const { id, method, params } = body;
    if (typeof id !== 'string' && typeof id !== 'number') return undefined;
    if (!isTaskMethod(method)) return undefined;
    const said = isJsonObject(params) ? params : {};
    const { transport, opening } = session;
    const caller = this.#binding.sessionCaller(
      { opening, session: transport.sessionId, method, meta: said._meta },
      authInfo,
      () => exchangeOf(request)?.address,
    );
    // What may have to wait, or is not there at all, is the SDK's to answer.
    const { dialect } = caller;
    if (!dialect.methods.includes(method)) return undefined;
    if (method === 'tasks/result' && !dialect.callerNamesTasks) return undefined;
    const { requests } = await this.#binding.served();
    try {
      const { result, tree } = await answerTo(method, requests, caller, said);
      if (tree && tree.root.phase !== 'done') {
        const connection = await this.#binding.sessions.get(transport)?.connection();
        connection?.follow(topOf(tree).id, caller);
      }
      return { status: 200, text: JSON.stringify({ jsonrpc: '2.0', id, result }) };
    } catch (error) {
      return refusedAnswer(dialect, id, error, this.#onError);
    }
  }

  /** A level of the log is said once, and holds also for whoever opens the session again. */
  async #noteUse(id: string, session: Live, level: LogLevel | undefined): Promise<void> {
    const isNews = level !== undefined && level !== session.opening[levelKey];
    const { seenAt } = session.use;
    if (!isNews && seenAt - session.savedAt < seenMs) return;
    session.savedAt = seenAt;
    if (isNews) session.opening = { ...session.opening, [levelKey]: level };
    const { owner, opening } = session;
    const { requests } = await this.#binding.served();
    await requests.sessions.save({ id, owner, opening, seenAt });
  }

  async #tidy(): Promise<void> {
    const now = runtime.now();
    for (const opening of [...this.#live.values()]) {
      const session = await opening.catch(() => undefined);
      if (session?.use.inUse === 0 && now - session.use.seenAt > idleMs)
        await session.transport.close().catch(this.#onError);
    }
    this.#known.forget(now - forgottenMs);
    const { requests } = await this.#binding.served();
    await requests.sessions.forget(now - forgottenMs);
  }
}

function toSdk(
  { transport }: Live,
  request: Request,
  { body, authInfo }: Pick<SessionRequest, 'body' | 'authInfo'>,
): Promise<Response> {
  return transport.handleRequest(request, {
    ...(body !== undefined && { parsedBody: body }),
    ...(authInfo && { authInfo }),
  });
}

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
function begin({ underWay }: Live, { body, signal }: SessionRequest): boolean {
  if (!isJsonObject(body) || body.id === undefined || body.method === undefined) return true;
  if (underWay.has(body.id)) return false;
  if (signal.aborted) return true;
  underWay.add(body.id);
  signal.addEventListener('abort', () => underWay.delete(body.id), { once: true });
  return true;
}

/** What names a revision that there is none of is the SDK's to refuse. */
function isRightRevision({ headers }: Request): boolean {
  const named = headers.get('mcp-protocol-version');
  return named === null || SUPPORTED_PROTOCOL_VERSIONS.includes(named);
}

/** The SDK would say no more than that there is no session. */
function notAnOpening({ id = null }: JsonObject, why: string): Response {
  const error = { code: invalidParams, message: `Invalid params: ${why}` };
  return Response.json({ jsonrpc: '2.0', id, error }, { status: 400 });
}

function levelIn(body: unknown): LogLevel | undefined {
  if (!isJsonObject(body) || body.method !== 'logging/setLevel' || !isJsonObject(body.params))
    return undefined;
  return isLogLevel(body.params.level) ? body.params.level : undefined;
}

/** What the client said when it opened the session, and the level that it set since. */
function apart({ [levelKey]: level, ...opening }: JsonObject): [JsonObject, LogLevel | undefined] {
  return [opening, isLogLevel(level) ? level : undefined];
}

function keyOf(id: string, owner: Owner): string {
  return JSON.stringify([owner, id]);
}

// --- Sessions of each owner --------------------------------------------------------------------------------

/** When a session was last used in this process, and how many of its requests are being answered, streams included. */
interface Use {
  seenAt: number;
  inUse: number;
}

/** The sessions that count for their owners, whether they are live in this process or not. */
class KnownSessions {
  /** Of each owner the longest unused first. */
  readonly #byOwner = new Map<Owner, Map<string, Use>>();

  /** The session was opened, or is used again. */
  used(owner: Owner, id: string): Use {
    const own = this.#byOwner.get(owner) ?? new Map<string, Use>();
    const use = own.get(id) ?? { seenAt: 0, inUse: 0 };
    use.seenAt = runtime.now();
    this.#byOwner.set(owner, own);
    own.delete(id);
    own.set(id, use);
    return use;
  }

  /** It is over. */
  ended(owner: Owner, id: string): void {
    const own = this.#byOwner.get(owner);
    own?.delete(id);
    if (own?.size === 0) this.#byOwner.delete(owner);
  }

  countOf(owner: Owner): number {
    return this.#byOwner.get(owner)?.size ?? 0;
  }

  /** Undefined if every session of the owner is in use. */
  longestUnused(owner: Owner): string | undefined {
    for (const [id, { inUse }] of this.#byOwner.get(owner) ?? []) if (inUse === 0) return id;
    return undefined;
  }

  /** Those that were not used since then are no longer counted. */
  forget(seenBefore: number): void {
    for (const [owner, own] of this.#byOwner)
      for (const [id, { seenAt, inUse }] of own)
        if (seenAt < seenBefore && inUse === 0) this.ended(owner, id);
  }
}
