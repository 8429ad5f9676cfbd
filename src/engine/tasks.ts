/** The front door: durable tools on a store, for bindings and for authors who have no MCP server at hand. */
import { type Clock, systemClock } from '../model/clock.ts';
import { digestOf } from '../model/digest.ts';
import { type Duration, toMs } from '../model/duration.ts';
import { HoldfastError, TaskNotFound } from '../model/errors.ts';
import { newId } from '../model/id.ts';
import type { InputResponse } from '../model/input.ts';
import type { Json } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import type { Retention } from '../model/retention.ts';
import type { NewTask, Origin, Owner, Task, TaskId } from '../model/task.ts';
import { type Bounds, defaultBounds } from './bounds.ts';
import { defaultLargestValue } from './carried.ts';
import type { Change } from './change.ts';
import { type Log, logged } from './log.ts';
import { rootRequest } from './new-task.ts';
import { type Observer, observed, unobserved } from './observer.ts';
import { type DurablePrompt, isPrompt } from './prompt.ts';
import type { Claimed, Database } from './queue.ts';
import { Requests, requestLeaseMs } from './requests.ts';
import { type DurableResource, isResource } from './resource.ts';
import type { InputOf, Schema } from './schema.ts';
import type { CommitNotice, ListQuery, Page } from './store.ts';
import type { DurableTool } from './tool.ts';
import * as rules from './transitions.ts';
import { Worker, workerDefaults } from './worker.ts';

export interface TasksOptions {
  /** An open database, or how to open one: `sqlite('tasks.db')`. */
  readonly store: Database | (() => Promise<Database>);
  readonly tools?: readonly DurableTool[] | undefined;
  readonly resources?: readonly DurableResource[] | undefined;
  readonly prompts?: readonly DurablePrompt[] | undefined;
  readonly clock?: Clock;
  /** How long a finished task is kept at least, however short a ttl its requestor wished. Default `'60s'`. */
  readonly shortestRetention?: Duration;
  /** The longest ttl that a requestor is granted. Default `'30d'`. */
  readonly longestRetention?: Duration;
  /** The largest argument, step value or result, in characters of JSON. Default 16 Mi. */
  readonly largestValue?: number;
  /** Traces and metrics: `telemetry()` of `holdfast/telemetry`. By default none. */
  readonly telemetry?: Observer;
  /** Hears in plain entries what this process does to tasks. By default nobody does. */
  readonly log?: Log;
  /** How far one task may spread: depth of its tree, subtasks, open questions. */
  readonly bounds?: Partial<Bounds>;
}

export interface CreateOptions {
  readonly owner?: Owner;
  readonly origin?: Origin;
  /** The same key, for the same owner and tool, gives the same task however often it is sent. */
  readonly idempotencyKey?: string;
  /** How long the requestor wants the task to be known, in milliseconds from now. It is granted up to a maximum. */
  readonly ttlMs?: number;
  /** … or from its end; null as long as possible. */
  readonly keepAliveMs?: number | null;
  /** However long the requestor or the tool wants it, it is kept no longer than so. */
  readonly longestRetentionMs?: number;
  /** An id that stands for what the requestor calls the task. One that is taken is refused, whatever the arguments. */
  readonly id?: TaskId;
  /** The task belongs to an open request, and ends with it unless it is published. */
  readonly unpublished?: boolean;
}

export interface WorkOptions {
  /** Tasks that run at the same time. Default 8. */
  readonly concurrency?: number;
  /** How long a silent worker keeps its tasks. Default `'15s'`, and `'10s'` on Postgres. */
  readonly lease?: Duration;
  /** How long steps in flight may take to finish when the worker stops. Default `'5s'`. */
  readonly grace?: Duration;
}

export class UnknownTool extends HoldfastError {
  constructor(name: string, known: readonly string[]) {
    super(
      `There is no durable tool "${name}". There ${known.length === 1 ? 'is' : 'are'}: ${known.join(', ')}.`,
    );
  }
}

export class DuplicateTool extends HoldfastError {
  constructor({ name, version }: DurableTool) {
    super(
      `There are two durable tools "${name}" of version "${version}". Give one of them another name or version.`,
    );
  }
}

const local: Owner = 'local';
const direct = ({ method }: DurableTool): Origin => ({ dialect: 'direct', method });

export function createTasks(options: TasksOptions): Tasks {
  return new Tasks(options);
}

export class Tasks implements AsyncDisposable {
  readonly tools: readonly DurableTool[];
  readonly resources: readonly DurableResource[];
  readonly prompts: readonly DurablePrompt[];
  /** For the faces of a server: whoever watches. */
  readonly observer: Observer;
  readonly #open: () => Promise<Database>;
  /** All three, as they are the same to workers. */
  readonly #durable: readonly DurableTool[];
  readonly #clock: Clock;
  readonly #largestValue: number;
  readonly #bounds: Bounds;
  readonly #shortestRetentionMs: number;
  readonly #longestRetentionMs: number;
  readonly #workers = new Set<Worker>();
  #unobserve: () => void = () => {};
  #database: Promise<Database> | undefined;
  #requests: Promise<Requests> | undefined;

  constructor(options: TasksOptions) {
    const {
      store,
      tools = [],
      resources = [],
      prompts = [],
      clock = systemClock,
      largestValue = defaultLargestValue,
    } = options;
    this.#shortestRetentionMs = toMs(options.shortestRetention ?? '60s');
    this.#longestRetentionMs = toMs(options.longestRetention ?? '30d');
    this.#largestValue = largestValue;
    const { telemetry = unobserved, log } = options;
    this.observer = log ? logged(telemetry, log) : telemetry;
    this.#bounds = { ...defaultBounds, ...options.bounds };
    this.#open = typeof store === 'function' ? store : async () => store;
    this.#durable = [...tools, ...resources, ...prompts];
    this.tools = this.#durable.filter(({ method }) => method === 'tools/call');
    this.resources = this.#durable.filter(isResource);
    this.prompts = this.#durable.filter(isPrompt);
    this.#clock = clock;
    const seen = new Set<string>();
    for (const tool of this.#durable) {
      const key = `${tool.name} ${tool.version}`;
      if (seen.has(key)) throw new DuplicateTool(tool);
      seen.add(key);
    }
  }

  /** Makes a task; when the promise resolves, it will survive whatever happens. */
  create<Input extends Schema | undefined>(
    tool: DurableTool<Input> | string,
    input?: Input extends Schema ? InputOf<Input> : unknown,
    options: CreateOptions = {},
  ): Promise<Task> {
    return this.#create(tool as DurableTool | string, input, options);
  }

  async #create(named: DurableTool | string, input: unknown, options: CreateOptions): Promise<Task> {
    const tool = typeof named === 'string' ? this.tool(named) : named;
    const { owner = local, idempotencyKey: key, unpublished = false } = options;
    const origin = this.observer.origin(options.origin ?? direct(tool), tool.name);
    const retention = this.#granted(options, tool);
    const request = await rootRequest(options.id ?? newId(), tool, input, {
      owner,
      origin,
      largestValue: this.#largestValue,
      retention,
    });
    const { store, queue } = await this.#opened();
    const wanted: NewTask = {
      ...request,
      ...(key !== undefined && { idempotency: { key, argumentsDigest: await digestOf(request.arguments) } }),
      ...(unpublished && {
        unpublished: { servedBy: queue.name, until: this.#clock.now() + requestLeaseMs },
      }),
    };
    if (options.id !== undefined) {
      const { id } = options;
      return (await store.create({ id }, (existing) => rules.create(existing, wanted, this.#clock.now())))
        .task;
    }
    const scope = key === undefined ? undefined : { owner, tool: tool.name, key };
    return this.#runningHere(tool, request.id, async (leaseMs) => {
      return store.create(scope, (existing) => {
        const now = this.#clock.now();
        const holder = leaseMs === undefined ? undefined : { name: queue.name, leaseUntil: now + leaseMs };
        return rules.create(existing, wanted, now, holder);
      });
    });
  }

  #granted(
    { ttlMs, keepAliveMs, longestRetentionMs = Number.POSITIVE_INFINITY }: CreateOptions,
    { retentionMs }: DurableTool,
  ): Retention {
    const longestMs = Math.min(this.#longestRetentionMs, longestRetentionMs);
    // Times are whole milliseconds, and 2026-07-28 shows them so.
    const granted = (wishMs: number) => Math.ceil(Math.min(Math.max(0, wishMs), longestMs));
    if (ttlMs !== undefined)
      return { from: 'creation', ms: granted(ttlMs), floorMs: this.#shortestRetentionMs };
    // What an author says of a tool is no wish: only who may not have that much gets less.
    if (keepAliveMs === undefined) return { from: 'finish', ms: Math.min(retentionMs, longestRetentionMs) };
    const ms = granted(keepAliveMs ?? Number.POSITIVE_INFINITY);
    return { from: 'finish', ms: Math.max(ms, this.#shortestRetentionMs) };
  }

  /** A worker of this process that has a place free claims the task in the commit that makes it. */
  async #runningHere(
    tool: DurableTool,
    id: TaskId,
    make: (leaseMs: number | undefined) => Promise<Change>,
  ): Promise<Task> {
    const worker = [...this.#workers].find((one) => one.reserve(tool));
    if (!worker) return (await make(undefined)).task;
    let claimed: Claimed | undefined;
    try {
      const { task, writes } = await make(worker.leaseMs);
      // Otherwise it is the task that already bore the idempotency key.
      if (task.id === id) {
        const journal = writes[0]?.journal ?? [];
        claimed = { task, claim: { taskId: task.id, epoch: task.epoch }, journal };
      }
      return task;
    } finally {
      worker.fill(tool, claimed);
    }
  }

  /** For bindings: tasks on behalf of open requests. */
  requests(): Promise<Requests> {
    const headStart = (id: TaskId, owner: Owner) => {
      for (const worker of this.#workers) {
        const begun = worker.headStart(id, owner);
        if (begun) return begun;
      }
      return undefined;
    };
    this.#requests ??= this.#opened().then(
      (database) => new Requests(database, this.#clock, headStart, this.observer),
    );
    return this.#requests;
  }

  async get(id: TaskId): Promise<Task | undefined> {
    return (await this.#opened()).store.get(id);
  }

  async list(query: ListQuery): Promise<Page> {
    return (await this.#opened()).store.list(query);
  }

  /** Applies answers by key. Those that are not open are ignored; one that does not fit refuses the call. */
  async answer(id: TaskId, responses: Readonly<Record<string, InputResponse>>): Promise<Task> {
    // A copy: what the caller does to its object later is not what it answered.
    const given = structuredClone(responses);
    const { store } = await this.#opened();
    return (await store.update('task', id, (task) => rules.answer(task, given, this.#clock.now()))).task;
  }

  /** Ends a task and everything below it. */
  async cancel(id: TaskId, reason?: string): Promise<Task> {
    const { store } = await this.#opened();
    return (await store.update('family', id, (family) => rules.cancel(family, this.#clock.now(), reason)))
      .task;
  }

  /** Completes what a handler waits for with `task.event(name)`: a webhook, an approval. The first value stands. */
  async complete(id: TaskId, name: string, value: Json = null): Promise<Task> {
    const given = structuredClone(value);
    const { store } = await this.#opened();
    return (
      await store.update('task', id, (task) => rules.completeEvent(task, name, given, this.#clock.now()))
    ).task;
  }

  /** Waits until a task is done. */
  async outcome(id: TaskId): Promise<Outcome> {
    const [{ store }, requests] = await Promise.all([this.#opened(), this.requests()]);
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const look = async () => {
      const task = await store.get(id);
      if (!task) reject(new TaskNotFound(id));
      else if (task.phase === 'done') resolve(task.outcome);
    };
    const rootId = (await store.get(id))?.rootId ?? id;
    const unsubscribe = requests.watch(rootId, ({ taskId, events }) => {
      if (taskId === id && events.some(({ type }) => type === 'finished' || type === 'removed'))
        look().catch(reject);
    });
    try {
      await look();
      return await promise;
    } finally {
      unsubscribe();
    }
  }

  async subscribe(listener: (commit: CommitNotice) => void): Promise<() => void> {
    return (await this.#opened()).store.subscribe(listener);
  }

  /** Starts a worker for all tools, resources and prompts. It holds the process open until it is stopped. */
  async work({ concurrency, lease, grace }: WorkOptions = {}): Promise<Worker> {
    const database = await this.#opened();
    const { usualLeaseMs: leaseMs = workerDefaults.leaseMs } = database.queue;
    const worker = new Worker(database, this.#clock, this.#durable, {
      ...workerDefaults,
      leaseMs,
      observer: this.observer,
      largestValue: this.#largestValue,
      bounds: this.#bounds,
      ...(concurrency !== undefined && { concurrency }),
      ...(lease !== undefined && { leaseMs: toMs(lease) }),
      ...(grace !== undefined && { graceMs: toMs(grace) }),
    });
    this.#workers.add(worker);
    return worker;
  }

  /** The newest registered version of a tool, of a resource as `resource/NAME`, or of a prompt as `prompt/NAME`. */
  tool(name: string): DurableTool {
    const tool = this.#durable.findLast((one) => one.name === name);
    if (!tool) throw new UnknownTool(name, [...new Set(this.#durable.map((one) => one.name))]);
    return tool;
  }

  /** Stops the workers and closes the store. */
  async close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop()));
    this.#unobserve();
    // What could not be opened need not be closed; whoever needed it was told.
    await (await this.#database?.catch(() => undefined))?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #opened(): Promise<Database> {
    this.#database ??= this.#openObserved();
    return this.#database;
  }

  async #openObserved(): Promise<Database> {
    const database = await this.#open();
    const tools = this.#durable.map(({ name, version }) => ({ tool: name, version }));
    this.#unobserve = this.observer.opened(database, tools);
    return observed(database, this.observer);
  }
}
