/**
 * The connection to an upstream, and the upstream's lists. A lost connection is opened again with a growing backoff.
 * The lists are kept while the upstream is unreachable.
 */
import { Client, type Transport } from '@modelcontextprotocol/client';
import type { CallRegistry } from '../../client/call-registry.ts';
import { listed } from '../../client/listing.ts';
import type { AnswerQuestion } from '../../client/questions/question-callback.ts';
import { TaskClient } from '../../client/task-client.ts';
import { httpTransport, type KnownSession } from '../../client/transports/http.ts';
import type { Agreement } from '../../client/transports/reconnecting.ts';
import { ProgramTransport } from '../../client/transports/stdio.ts';
import { newId } from '../../model/id.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { pause, runtime } from '../../runtime/runtime.ts';
import type { Target } from '../config/config.ts';
import { UpstreamUnreachable } from './call-outcome.ts';
import { upstreamFetch } from './fetch.ts';
import { currentCallKey, trackStreams } from './logs.ts';

/** The lists of an upstream: the key in the answer, the method, and the field that identifies an entry. */
const lists = [
  ['tools', 'tools/list', 'name'],
  ['prompts', 'prompts/list', 'name'],
  ['resources', 'resources/list', 'uri'],
  ['resourceTemplates', 'resources/templates/list', 'uriTemplate'],
] as const;

type Lists = Readonly<Record<(typeof lists)[number][0], readonly JsonObject[]>>;

/** What an upstream declared and listed when it was last asked. */
export interface Listed extends Lists {
  readonly capabilities: JsonObject;
  readonly instructions?: string;
}

export interface ConnectionParts {
  readonly name: string;
  readonly target: Target;
  readonly version: string;
  readonly registry: CallRegistry;
  /** Answers a question that the upstream sends as a request of its own. */
  readonly answer: AnswerQuestion;
  /** The lists that an earlier process read. They are used until the upstream answers. */
  readonly listed: Listed | undefined;
  readonly events: ConnectionEvents;
}

export interface ConnectionEvents {
  /** The lists have changed. */
  changed(): void;
  /** The upstream cannot be reached. Called once for each reason. */
  failed(why: string): void;
  /** The upstream sent a notification for clients. */
  notified(method: string, params: JsonObject): void;
  /** The upstream sent a log message. `callKey` is the key of the call on whose stream it came, if known. */
  logged(params: JsonObject, callKey: string | undefined): void;
  /** The lists were read, maybe from a new process or session that has lost the settings of the previous one. */
  opened(): void;
}

const emptyLists: Listed = { capabilities: {}, tools: [], prompts: [], resources: [], resourceTemplates: [] };
const backoff = { minMs: 250, maxMs: 30_000 };
/** The minimum time between two reads of the lists: some upstreams report a change after every read. */
const minListIntervalMs = 1_000;

export class UpstreamConnection {
  readonly #parts: ConnectionParts;
  readonly #closed = new AbortController();
  readonly #main: TaskClient;
  /** The transport opened last. The client does not close it before the upstream has answered, so `close` does. */
  #transport: Transport | undefined;
  /** Clients for sessions of earlier processes that still have open tasks. */
  readonly #earlierSessions = new Map<string, Promise<TaskClient>>();
  listed: Listed;
  /** Identifies the last opened transport. Changes with every spawned process and every new session. */
  instance = newId();
  /** The agreement of the last connection on which the lists were read; undefined until then. */
  #agreement: Agreement | undefined;
  /** The current or last attempt to connect and to read the lists. */
  #attempt: Promise<void> | undefined;
  #refreshing: Promise<void> | undefined;
  /** The lists have changed since the last read of them began. */
  #isOutOfDate = false;
  #listedAt = Number.NEGATIVE_INFINITY;
  /** Why the last attempt failed. */
  #problem = 'it is not connected yet.';
  /** The program exits when it is asked for its revision before `initialize`, so it is not asked. */
  #exitsOnProbe = false;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    this.listed = parts.listed ?? emptyLists;
    this.#main = this.#client(() => {
      this.#closed.signal.throwIfAborted();
      return this.#open();
    });
    const { client } = this.#main;
    client.onclose = () => this.#changed();
    client.setNotificationHandler('notifications/message', ({ params }) => {
      parts.events.logged(params as unknown as JsonObject, currentCallKey());
    });
    client.setNotificationHandler('notifications/resources/updated', ({ method, params }) => {
      parts.events.notified(method, params as unknown as JsonObject);
    });
  }

  /** The transport, if the upstream is a program. */
  get #program(): ProgramTransport | undefined {
    return this.#transport instanceof ProgramTransport ? this.#transport : undefined;
  }

  /** Whether the upstream uses 2026-07-28. Undefined until it has answered. */
  get isModern(): boolean | undefined {
    return this.#agreement?.isModern;
  }

  /** What a later process needs to resume this session. Undefined if there is none. */
  get session(): KnownSession | undefined {
    const { client } = this.#main;
    const sessionId = client.transport?.sessionId;
    const protocolVersion = client.getNegotiatedProtocolVersion();
    if (sessionId === undefined) return undefined;
    return { sessionId, ...(protocolVersion !== undefined && { protocolVersion }) };
  }

  /** Resolves after the first attempt to connect, even if that failed. */
  async start(): Promise<void> {
    void this.refresh();
    await this.#attempt?.catch(() => {});
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const client of this.#earlierSessions.values()) await (await client.catch(() => undefined))?.close();
    await this.#main.close().catch(() => {});
    await this.#transport?.close().catch(() => {});
  }

  /** A running refresh may have read old lists, so it runs once more. */
  #changed(): void {
    if (this.#closed.signal.aborted) return;
    this.#isOutOfDate = true;
    void this.refresh();
  }

  /** Connects and reads the lists, with a growing backoff, until that succeeds. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const { signal } = this.#closed;
    for (let failures = 0; !signal.aborted; failures++) {
      if (this.#agreement)
        await pauseUntilAborted(this.#listedAt + minListIntervalMs - runtime.monotonic(), signal);
      this.#isOutOfDate = false;
      this.#attempt = this.#connectAndList();
      try {
        await this.#attempt;
        this.#listedAt = runtime.monotonic();
        if (!this.#isOutOfDate) return;
        failures = 0;
      } catch (error) {
        const problem = reasonOf(error, this.#program?.lastStderrLine);
        // The program may have been replaced by a version that does not exit.
        this.#exitsOnProbe = false;
        if (problem !== this.#problem && !signal.aborted) this.#parts.events.failed(problem);
        this.#problem = problem;
        await pauseUntilAborted(backoffMs(backoff, failures), signal);
      }
    }
  }

  async #connectAndList(): Promise<void> {
    const agreement = await this.#main.connect();
    this.#agreement = agreement;
    const { capabilities, instructions } = agreement;
    const readLists = await Promise.all(
      lists.map(async ([key, method, idField]) => {
        const [capability = ''] = method.split('/');
        return [key, isJsonObject(capabilities[capability]) ? await this.#list(method, key, idField) : []];
      }),
    );
    this.#exitsOnProbe = this.#program?.exitsOnProbe ?? false;
    // All lists must come from one connection: another process may declare something else.
    if ((await this.#main.connect()) !== agreement) return this.#connectAndList();
    const before = JSON.stringify(this.listed);
    this.listed = {
      capabilities,
      ...(instructions !== undefined && { instructions }),
      ...(Object.fromEntries(readLists) as Lists),
    };
    if (JSON.stringify(this.listed) !== before) this.#parts.events.changed();
    this.#parts.events.opened();
  }

  /** Skips entries without a name and duplicate names: they cannot be requested. */
  async #list(method: string, key: string, idField: string): Promise<JsonObject[]> {
    const byId = new Map<string, JsonObject>();
    const read = (params: JsonObject) => this.#main.request(method, params);
    for await (const entry of listed(`the answer to ${method}`, key, read)) {
      const id = isJsonObject(entry) ? entry[idField] : undefined;
      if (typeof id === 'string' && id && !byId.has(id)) byId.set(id, entry as JsonObject);
    }
    return [...byId.values()];
  }

  /** The main client, which may be disconnected now. Throws if no connection has succeeded so far. */
  async ready(): Promise<TaskClient> {
    if (!this.#agreement) await this.#attempt?.catch(() => {});
    if (!this.#agreement) throw new UpstreamUnreachable(this.#parts.name, this.#problem);
    return this.#main;
  }

  /** A client that reaches the tasks of this session: the main client, or one that resumes the session. */
  async clientFor(session: KnownSession | undefined): Promise<TaskClient> {
    const { target } = this.#parts;
    const main = await this.ready().catch(() => this.#main);
    if (!session || !('url' in target) || main.client.transport?.sessionId === session.sessionId) {
      // A running task waits for its server without a timeout.
      while (!this.#agreement) {
        this.#closed.signal.throwIfAborted();
        await this.refresh();
      }
      return main;
    }
    const { sessionId } = session;
    const earlier =
      this.#earlierSessions.get(sessionId) ??
      (async () => {
        let known: KnownSession | undefined = session;
        const client = this.#client(() => {
          const transport = httpTransport(new URL(target.url), target, known, upstreamFetch);
          // Only the first transport resumes the session.
          known = undefined;
          return transport;
        });
        await client.connect();
        return client;
      })();
    this.#earlierSessions.set(sessionId, earlier);
    return earlier;
  }

  #client(open: () => Transport): TaskClient {
    const onChanged = () => this.#changed();
    const listChanged = { autoRefresh: false, debounceMs: 50, onChanged };
    const client = new Client(
      { name: 'holdfast', version: this.#parts.version },
      {
        versionNegotiation: { mode: 'auto' },
        listChanged: { tools: listChanged, prompts: listChanged, resources: listChanged },
      },
    );
    return new TaskClient(client, open, {
      registry: this.#parts.registry,
      server: this.#parts.name,
      answers: ['form', 'url', 'sampling', 'roots'],
      answer: this.#parts.answer,
      callTimeout: '30d',
      reconnectTimeout: '30d',
    });
  }

  #open(): Transport {
    const { target } = this.#parts;
    this.instance = newId();
    if ('url' in target)
      this.#transport = trackStreams(httpTransport(new URL(target.url), target, undefined, upstreamFetch));
    else this.#transport = new ProgramTransport(target, this.#exitsOnProbe);
    return this.#transport;
  }
}

/** The message of the root cause, with the last line that the program wrote to standard error. */
function reasonOf(error: unknown, lastStderrLine: string | undefined): string {
  let rootCause = error as Error;
  while (rootCause.cause instanceof Error) rootCause = rootCause.cause;
  const why = (rootCause.message || String(error)).replace(/\.$/, '');
  return lastStderrLine ? `${why} (stderr: ${lastStderrLine}).` : `${why}.`;
}

/** Resolves after this time or when the signal aborts. */
function pauseUntilAborted(ms: number, signal: AbortSignal): Promise<void> {
  return pause(ms, signal).catch(() => {});
}
