/**
 * A server behind the gateway: its connection, which is opened at the start and again, with growing rests, whenever it
 * is lost; what it lists, which is kept while it is away; and the calls that are under way on it.
 */
import { Client, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Answer, Question } from '../client/asking.ts';
import type { HandleRecord, Handles } from '../client/handles.ts';
import { httpTransport } from '../client/http.ts';
import { Pages } from '../client/listing.ts';
import { TaskClient } from '../client/task-client.ts';
import { type RetryPolicy, retryPolicy } from '../engine/retry.ts';
import { newId } from '../model/id.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { Attribution } from './attribution.ts';
import type { Policy, UpstreamConfig } from './config.ts';
import type { Drive, RemoteTaskEvent, Road } from './drive.ts';
import { UpstreamUnreachable } from './endings.ts';
import { Places } from './places.ts';

export interface Call {
  readonly name: string;
  readonly arguments: JsonObject;
  /** Its tool had a limit of its own when it was made, which the journal must not forget. */
  readonly isLimited?: boolean;
  /** Under which its drive waits for the task, if it began before there was one. */
  readonly ticket?: string;
}

/** What it said of itself when it was last asked. */
export interface Listed {
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  readonly tools: readonly JsonObject[];
  readonly prompts: readonly JsonObject[];
  readonly resources: readonly JsonObject[];
  readonly resourceTemplates: readonly JsonObject[];
}

export interface UpstreamEvents {
  /** Its lists are not what they were. */
  changed(upstream: Upstream): void;
  /** It cannot be reached; said once for each reason. */
  failed(upstream: Upstream, why: string): void;
  /** It sent a notification that is for clients. */
  notified(upstream: Upstream, method: string, params: JsonObject): void;
}

const nothing: Listed = { capabilities: {}, tools: [], prompts: [], resources: [], resourceTemplates: [] };
const restMs = { first: 250, longest: 30_000 };
/** Before a call that could not be sent is given up. */
const unreachableFor = '5s';
/** Upstreams whose task asks before they have said that it is one. */
const attributionMs = 5_000;

export class Upstream {
  readonly name: string;
  readonly config: UpstreamConfig;
  /** Was it known what it lists before it was asked? */
  readonly isKnown: boolean;
  readonly #events: UpstreamEvents;
  readonly #version: string;
  readonly #handles = bareHandles();
  readonly #drives = new Set<Drive>();
  /** Calls that began before there was a task of them. */
  readonly tickets = new Map<string, Drive>();
  readonly #attribution = new Attribution();
  readonly #places = new Map<string, Places>();
  readonly #closed = new AbortController();
  readonly #main: TaskClient;
  /** Sessions of an earlier process, to which tasks belong that are still pursued. */
  readonly #earlier = new Map<string, Promise<TaskClient>>();
  #instance = newId();
  #listed: Listed;
  #isConnected = false;
  #attempt: Promise<void> | undefined;
  #reviving: Promise<void> | undefined;
  #problem = 'it has not been connected to yet.';
  #complaint: string | undefined;

  /** With what an earlier process has seen, if it is known: that is shown until it has answered itself. */
  constructor(
    name: string,
    config: UpstreamConfig,
    {
      version,
      events,
      listed = nothing,
    }: { version: string; events: UpstreamEvents; listed?: Listed | undefined },
  ) {
    this.#listed = listed;
    this.isKnown = listed !== nothing;
    this.name = name;
    this.config = config;
    this.#version = version;
    this.#events = events;
    this.#main = this.#client(() => this.#open());
    const { client } = this.#main;
    client.onclose = () => {
      if (!this.#closed.signal.aborted) void this.revive();
    };
    for (const method of ['notifications/message', 'notifications/resources/updated'] as const)
      client.setNotificationHandler(method, ({ params }) => {
        events.notified(this, method, params as unknown as JsonObject);
      });
  }

  get listed(): Listed {
    return this.#listed;
  }

  has(capability: string): boolean {
    return isJsonObject(this.#listed.capabilities[capability]);
  }

  /** Its process is ours, and ends with us. */
  get isSpawned(): boolean {
    return 'command' in this.config.target;
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
  }

  // --- What it says of its tools --------------------------------------------------------------------------

  tool(name: string): JsonObject | undefined {
    return this.#listed.tools.find((tool) => tool.name === name);
  }

  policy(tool: string): Policy {
    const { policy, tools } = this.config;
    return { ...policy, ...(Object.hasOwn(tools, tool) && tools[tool]) };
  }

  /** Does it do no harm if the tool is called twice? */
  isSafe(tool: string): boolean {
    const { idempotent } = this.policy(tool);
    if (idempotent !== undefined) return idempotent;
    const annotations = this.tool(tool)?.annotations;
    return (
      isJsonObject(annotations) && (annotations.readOnlyHint === true || annotations.idempotentHint === true)
    );
  }

  retry(tool: string): RetryPolicy {
    return retryPolicy(this.isSafe(tool) ? this.policy(tool).retry : undefined);
  }

  /** The places that calls of a tool have, if the tool has a limit of its own. */
  places(tool: string): Places | undefined {
    const limit = Object.hasOwn(this.config.tools, tool) ? this.config.tools[tool]!.concurrency : undefined;
    if (limit === undefined) return undefined;
    const places = this.#places.get(tool) ?? new Places(limit);
    this.#places.set(tool, places);
    return places;
  }

  // --- Requests -------------------------------------------------------------------------------------------

  async request(method: string, params: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const client = await this.#ready();
    return client.request(method, params, signal && { signal });
  }

  /** The road of a new call. */
  roadOf({ name, arguments: input }: Call, idempotencyKey: string): Road {
    return {
      ...this.#road,
      begin: async (drive, signal) => {
        await this.#attribution.settled;
        this.#drives.add(drive);
        const client = await this.#ready();
        return client.call(name, input, {
          signal,
          idempotencyKey,
          tellsAbort: true,
          unreachableFor,
          answer: (question, over) => drive.ask(question, over),
          onProgress: (progress) => drive.progress(progress),
        });
      },
    };
  }

  /** The road back to a task that an earlier process, or an earlier pass, has met. Undefined if there is none. */
  roadTo(call: Call, remote: RemoteTaskEvent): Road | undefined {
    if (this.isSpawned && remote.instance !== this.#instance) return undefined;
    return {
      ...this.#road,
      begin: async (drive) => {
        this.#drives.add(drive);
        const client = await this.#clientOf(remote);
        const record = recordOf(this.name, call, remote);
        this.#handles.save(record);
        return client.resume(record.id, { answer: (question, over) => drive.ask(question, over) });
      },
    };
  }

  readonly #road: Omit<Road, 'begin'> = {
    remote: (handle) => {
      const sessionId = this.#main.client.transport?.sessionId;
      const protocolVersion = this.#main.client.getNegotiatedProtocolVersion();
      return {
        type: 'task',
        taskId: handle.taskId!,
        dialect: this.#handles.get(handle.id)?.dialect ?? '',
        instance: this.#instance,
        ...(sessionId !== undefined && {
          session: { sessionId, ...(protocolVersion !== undefined && { protocolVersion }) },
        }),
      };
    },
    left: (drive, handle) => {
      this.#drives.delete(drive);
      this.#attribution.look();
      if (handle) this.#handles.delete(handle.id);
    },
  };

  // --- Questions ------------------------------------------------------------------------------------------

  /** What is asked by a request of its own says at most which task asks it. */
  async #answer(question: Question, signal: AbortSignal): Promise<Answer> {
    const drive = await this.#askingDrive(question);
    return drive.ask(question, signal);
  }

  async #askingDrive({ taskId }: Question): Promise<Drive> {
    if (taskId !== undefined) {
      const known = () => [...this.#drives].find((drive) => drive.taskId === taskId);
      if (!known())
        await settledWithin(
          [...this.#drives].map(({ answered }) => answered),
          attributionMs,
        );
      const asking = known();
      if (asking) return asking;
    }
    return this.#attribution.onlyOne(() => {
      const idle = [...this.#drives].filter(({ isAsking }) => !isAsking);
      const plain = idle.filter((drive) => drive.taskId === undefined);
      return plain.length > 0 ? plain : idle;
    });
  }

  // --- The connection -------------------------------------------------------------------------------------

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
      this.#attempt = this.#connectAndList();
      try {
        return await this.#attempt;
      } catch (error) {
        const problem = worded(error, this.#complaint);
        if (problem !== this.#problem && !signal.aborted) this.#events.failed(this, problem);
        this.#problem = problem;
        await pause(Math.min(restMs.first * 2 ** failures, restMs.longest), signal);
      }
    }
  }

  async #connectAndList(): Promise<void> {
    if (!this.#isConnected) await this.#main.connect();
    this.#isConnected = true;
    const { client } = this.#main;
    const capabilities = (client.getServerCapabilities() ?? {}) as unknown as JsonObject;
    const instructions = client.getInstructions();
    const list = (capability: string, method: string, key: string) =>
      isJsonObject(capabilities[capability]) ? this.#list(method, key) : [];
    const [tools, prompts, resources, resourceTemplates] = await Promise.all([
      list('tools', 'tools/list', 'tools'),
      list('prompts', 'prompts/list', 'prompts'),
      list('resources', 'resources/list', 'resources'),
      list('resources', 'resources/templates/list', 'resourceTemplates'),
    ]);
    const before = JSON.stringify(this.#listed);
    this.#listed = {
      capabilities,
      ...(instructions !== undefined && { instructions }),
      tools,
      prompts,
      resources,
      resourceTemplates,
    };
    if (JSON.stringify(this.#listed) !== before) this.#events.changed(this);
  }

  async #list(method: string, key: string): Promise<JsonObject[]> {
    const listed: JsonObject[] = [];
    const pages = new Pages(`the answer to ${method}`);
    for (let cursor: string | undefined; ; ) {
      const page = await this.#main.request(method, cursor === undefined ? {} : { cursor });
      const entries = Array.isArray(page[key]) ? page[key] : [];
      listed.push(...entries.filter(isJsonObject));
      cursor = pages.next(page.nextCursor, entries.length);
      if (cursor === undefined) return listed;
    }
  }

  /** A client that is, or has been, connected; while it is away for the first time, why it is not. */
  async #ready(): Promise<TaskClient> {
    if (!this.#isConnected) await this.#attempt?.catch(() => {});
    if (!this.#isConnected) throw new UpstreamUnreachable(this.name, this.#problem);
    return this.#main;
  }

  async #clientOf({ session }: RemoteTaskEvent): Promise<TaskClient> {
    const { target } = this.config;
    const main = await this.#ready().catch(() => this.#main);
    if (!session || !('url' in target) || main.client.transport?.sessionId === session.sessionId) {
      // A task is waited for as long as it may take, however long its server is away.
      while (!this.#isConnected) await this.revive();
      return main;
    }
    const { sessionId } = session;
    const known =
      this.#earlier.get(sessionId) ??
      (async () => {
        let isFirst = true;
        const client = this.#client(() => {
          const transport = httpTransport(new URL(target.url), target, isFirst ? session : undefined);
          isFirst = false;
          return transport;
        });
        await client.connect();
        return client;
      })();
    this.#earlier.set(sessionId, known);
    return known;
  }

  #client(open: () => Transport): TaskClient {
    const onChanged = () => void this.revive();
    const listChanged = { autoRefresh: false, debounceMs: 50, onChanged };
    const client = new Client(
      { name: 'holdfast', version: this.#version },
      {
        versionNegotiation: { mode: 'auto' },
        listChanged: { tools: listChanged, prompts: listChanged, resources: listChanged },
      },
    );
    return new TaskClient(client, open, {
      handles: this.#handles,
      server: this.name,
      answers: ['form', 'url', 'sampling', 'roots'],
      answer: (question, signal) => this.#answer(question, signal),
      callTimeout: '30d',
      unreachableFor: '30d',
    });
  }

  #open(): Transport {
    const { target } = this.config;
    this.#instance = newId();
    if ('url' in target) return httpTransport(new URL(target.url), target);
    const { command, args, env, cwd } = target;
    const transport = new StdioClientTransport({
      command,
      args: [...args],
      env: { ...(process.env as Record<string, string>), ...env },
      stderr: 'pipe',
      ...(cwd !== undefined && { cwd }),
    });
    this.#complaint = undefined;
    transport.stderr?.on('data', (chunk: Buffer) => {
      this.#complaint = chunk.toString().trimEnd().split('\n').at(-1);
    });
    return transport;
  }
}

function recordOf(server: string, { name, arguments: input }: Call, remote: RemoteTaskEvent): HandleRecord {
  return {
    id: newId(),
    server,
    method: 'tools/call',
    params: { name, arguments: input },
    argumentsDigest: '',
    idempotencyKey: '',
    createdAt: Date.now(),
    dialect: remote.dialect,
    taskId: remote.taskId,
    answers: {},
    isDelivered: false,
  };
}

/** Calls are remembered by their tasks; here only while they are under way. */
function bareHandles(): Handles {
  const records = new Map<string, HandleRecord>();
  return {
    save: (record) => void records.set(record.id, record),
    get: (id) => records.get(id),
    list: ({ onlyOpen = false } = {}) =>
      [...records.values()].filter(({ isDelivered }) => !(onlyOpen && isDelivered)),
    delete: (id) => void records.delete(id),
    close: () => records.clear(),
  };
}

function worded(error: unknown, complaint: string | undefined): string {
  let deepest = error as Error;
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  const why = (deepest.message || String(error)).replace(/\.$/, '');
  return complaint ? `${why} (it said: ${complaint}).` : `${why}.`;
}

async function settledWithin(promises: readonly Promise<void>[], ms: number): Promise<void> {
  const over = new AbortController();
  await Promise.race([Promise.all(promises), pause(ms, over.signal)]);
  over.abort();
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const onAbort = () => {
      clearTimeout(timer);
      resolve();
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
