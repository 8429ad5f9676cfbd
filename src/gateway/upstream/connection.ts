/**
 * The connection to an upstream, which is opened at the start and again, with growing rests, whenever it is lost; and
 * what the upstream lists, which is kept while it is away.
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
import { carryingCall, namingCalls } from './logs.ts';

/** What an upstream lists: under which key, by which method, and what an entry is known by. */
const lists = [
  ['tools', 'tools/list', 'name'],
  ['prompts', 'prompts/list', 'name'],
  ['resources', 'resources/list', 'uri'],
  ['resourceTemplates', 'resources/templates/list', 'uriTemplate'],
] as const;

type Lists = Readonly<Record<(typeof lists)[number][0], readonly JsonObject[]>>;

/** What it said of itself when it was last asked. */
export interface Listed extends Lists {
  readonly capabilities: JsonObject;
  readonly instructions?: string;
}

export interface ConnectionParts {
  readonly name: string;
  readonly target: Target;
  readonly version: string;
  readonly handles: CallRegistry;
  readonly answer: AnswerQuestion;
  /** What an earlier process has seen, if it is known: that is shown until it has answered itself. */
  readonly listed: Listed | undefined;
  readonly events: ConnectionEvents;
}

export interface ConnectionEvents {
  /** Its lists are not what they were. */
  changed(): void;
  /** It cannot be reached; said once for each reason. */
  failed(why: string): void;
  /** It sent a notification that is for clients. */
  notified(method: string, params: JsonObject): void;
  /** It logged something, on the stream of the call with that key if it is known of which. */
  logged(params: JsonObject, callKey: string | undefined): void;
  /** Another process, or another session: what the one before was told is forgotten. */
  opened(): void;
}

const nothing: Listed = { capabilities: {}, tools: [], prompts: [], resources: [], resourceTemplates: [] };
const backoff = { minMs: 250, maxMs: 30_000 };
/** Some say that their lists have changed whenever these are asked for. */
const betweenListsMs = 1_000;

export class UpstreamConnection {
  readonly #parts: ConnectionParts;
  readonly #closed = new AbortController();
  readonly #main: TaskClient;
  /** Opened last. Nobody but us can close one on which the upstream has not answered yet. */
  #transport: Transport | undefined;
  /** Sessions of an earlier process, to which tasks belong that are still pursued. */
  readonly #earlier = new Map<string, Promise<TaskClient>>();
  listed: Listed;
  /** Changes with every process that is spawned and every session that is opened. */
  instance = newId();
  /** Of the last connection on which it was listed; undefined until there was one. */
  #agreement: Agreement | undefined;
  #attempt: Promise<void> | undefined;
  #reviving: Promise<void> | undefined;
  #isOutOfDate = false;
  #listedAt = Number.NEGATIVE_INFINITY;
  #problem = 'it has not been connected to yet.';
  /** It got through only when it was not asked first which revision it speaks. */
  #endsWhenAsked = false;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    this.listed = parts.listed ?? nothing;
    this.#main = this.#client(() => {
      this.#closed.signal.throwIfAborted();
      return this.#open();
    });
    const { client } = this.#main;
    client.onclose = () => this.#changed();
    client.setNotificationHandler('notifications/message', ({ params }) => {
      parts.events.logged(params as unknown as JsonObject, carryingCall());
    });
    client.setNotificationHandler('notifications/resources/updated', ({ method, params }) => {
      parts.events.notified(method, params as unknown as JsonObject);
    });
  }

  /** The program of an upstream that is one. */
  get #program(): ProgramTransport | undefined {
    return this.#transport instanceof ProgramTransport ? this.#transport : undefined;
  }

  /** Undefined as long as it has not answered. */
  get isModern(): boolean | undefined {
    return this.#agreement?.isModern;
  }

  /** What has to be kept to come back to this session. */
  get session(): KnownSession | undefined {
    const { client } = this.#main;
    const sessionId = client.transport?.sessionId;
    const protocolVersion = client.getNegotiatedProtocolVersion();
    if (sessionId === undefined) return undefined;
    return { sessionId, ...(protocolVersion !== undefined && { protocolVersion }) };
  }

  /** Resolves after the first attempt to connect, whatever came of it. */
  async start(): Promise<void> {
    void this.revive();
    await this.#attempt?.catch(() => {});
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const client of this.#earlier.values()) await (await client.catch(() => undefined))?.close();
    await this.#main.close().catch(() => {});
    await this.#transport?.close().catch(() => {});
  }

  /** What is being listed now may be out of date already: it is listed once more. */
  #changed(): void {
    if (this.#closed.signal.aborted) return;
    this.#isOutOfDate = true;
    void this.revive();
  }

  /** Connects, and lists, until that succeeds; between the attempts it rests longer and longer. */
  revive(): Promise<void> {
    this.#reviving ??= this.#revive().finally(() => {
      this.#reviving = undefined;
    });
    return this.#reviving;
  }

  async #revive(): Promise<void> {
    const { signal } = this.#closed;
    for (let failures = 0; !signal.aborted; failures++) {
      if (this.#agreement) await rest(this.#listedAt + betweenListsMs - runtime.monotonic(), signal);
      this.#isOutOfDate = false;
      this.#attempt = this.#connectAndList();
      try {
        await this.#attempt;
        this.#listedAt = runtime.monotonic();
        if (!this.#isOutOfDate) return;
        failures = 0;
      } catch (error) {
        const problem = worded(error, this.#program?.complaint);
        // Another program may stand in its place.
        this.#endsWhenAsked = false;
        if (problem !== this.#problem && !signal.aborted) this.#parts.events.failed(problem);
        this.#problem = problem;
        await rest(backoffMs(backoff, failures), signal);
      }
    }
  }

  async #connectAndList(): Promise<void> {
    const agreement = await this.#main.connect();
    this.#agreement = agreement;
    const { capabilities, instructions } = agreement;
    const found = await Promise.all(
      lists.map(async ([key, method, name]) => {
        const [capability = ''] = method.split('/');
        return [key, isJsonObject(capabilities[capability]) ? await this.#list(method, key, name) : []];
      }),
    );
    this.#endsWhenAsked = this.#program?.endsWhenAsked ?? false;
    // Lists are kept only if all of them are of one connection: another process may declare something else.
    if ((await this.#main.connect()) !== agreement) return this.#connectAndList();
    const before = JSON.stringify(this.listed);
    this.listed = {
      capabilities,
      ...(instructions !== undefined && { instructions }),
      ...(Object.fromEntries(found) as Lists),
    };
    if (JSON.stringify(this.listed) !== before) this.#parts.events.changed();
    this.#parts.events.opened();
  }

  /** Without what has no name, and what has the name of another: nobody could ask for it. */
  async #list(method: string, key: string, name: string): Promise<JsonObject[]> {
    const byName = new Map<string, JsonObject>();
    const read = (params: JsonObject) => this.#main.request(method, params);
    for await (const entry of listed(`the answer to ${method}`, key, read)) {
      const called = isJsonObject(entry) ? entry[name] : undefined;
      if (typeof called === 'string' && called && !byName.has(called))
        byName.set(called, entry as JsonObject);
    }
    return [...byName.values()];
  }

  /** A client that is, or has been, connected; while it is away for the first time, why it is not. */
  async ready(): Promise<TaskClient> {
    if (!this.#agreement) await this.#attempt?.catch(() => {});
    if (!this.#agreement) throw new UpstreamUnreachable(this.#parts.name, this.#problem);
    return this.#main;
  }

  /** The client on which tasks of that session are found. */
  async clientOf(session: KnownSession | undefined): Promise<TaskClient> {
    const { target } = this.#parts;
    const main = await this.ready().catch(() => this.#main);
    if (!session || !('url' in target) || main.client.transport?.sessionId === session.sessionId) {
      // A task is waited for as long as it may take, however long its server is away.
      while (!this.#agreement) {
        this.#closed.signal.throwIfAborted();
        await this.revive();
      }
      return main;
    }
    const { sessionId } = session;
    const earlier =
      this.#earlier.get(sessionId) ??
      (async () => {
        let known: KnownSession | undefined = session;
        const client = this.#client(() => {
          const transport = httpTransport(new URL(target.url), target, known, upstreamFetch);
          known = undefined;
          return transport;
        });
        await client.connect();
        return client;
      })();
    this.#earlier.set(sessionId, earlier);
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
      registry: this.#parts.handles,
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
      this.#transport = namingCalls(httpTransport(new URL(target.url), target, undefined, upstreamFetch));
    else this.#transport = new ProgramTransport(target, this.#endsWhenAsked);
    return this.#transport;
  }
}

function worded(error: unknown, complaint: string | undefined): string {
  let deepest = error as Error;
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  const why = (deepest.message || String(error)).replace(/\.$/, '');
  return complaint ? `${why} (it said: ${complaint}).` : `${why}.`;
}

/** So long, or until the signal ends it. */
function rest(ms: number, signal: AbortSignal): Promise<void> {
  return pause(ms, signal).catch(() => {});
}
