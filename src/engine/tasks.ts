/** The main API of the engine: durable tools on a store, with or without an MCP server. */

import { toMs } from '../model/duration.ts';
import { InvalidOptions, refusal } from '../model/errors.ts';
import { digestOf, newTaskId } from '../model/id.ts';
import type { InputResponse } from '../model/input.ts';
import type { Json } from '../model/json.ts';
import { checkIdempotencyKey, checkOwner } from '../model/name-length.ts';
import type { Outcome } from '../model/outcome.ts';
import type { SecretFields } from '../model/redaction.ts';
import type { Retention } from '../model/retention.ts';
import type { InputArguments } from '../model/schema.ts';
import type { NewTask, Origin, Owner, Task, TaskId } from '../model/task.ts';
import type { Actor } from '../ports/audit.ts';
import { type Change, onBehalfOf, type Verdict } from '../ports/change.ts';
import { type Observer, unobserved } from '../ports/observer.ts';
import type { Claimed, Database } from '../ports/queue.ts';
import type { CommittedChange, ListQuery, Page, Reach } from '../ports/store.ts';
import type { StoreError } from '../ports/store-errors.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { runtime } from '../runtime/runtime.ts';
import { within } from '../runtime/timeout.ts';
import { AuditLog, AuditRecorder, audited } from './database/audit-log.ts';
import { StoreHealth } from './database/health.ts';
import { observed } from './database/observed.ts';
import { timeLimited } from './database/time-limited.ts';
import { TreeListeners } from './database/tree-watchers.ts';
import { rootRequest } from './handlers/new-task.ts';
import { type DurablePrompt, isPrompt } from './handlers/prompt.ts';
import { type DurableResource, isResource } from './handlers/resource.ts';
import type { DurableTool } from './handlers/tool.ts';
import { logged } from './log.ts';
import { checkAnswers, toJsonValue } from './replay/json-value.ts';
import type { EngineLimits } from './rules/limits.ts';
import { engineLimits } from './rules/limits.ts';
import { requestLeaseMs } from './rules/publication.ts';
import * as rules from './rules/transitions.ts';
import { TaskService } from './task-service.ts';
import {
  auditRetentionOf,
  type CreateOptions,
  type TasksOptions,
  type WorkOptions,
} from './tasks-options.ts';
import { workerDefaults } from './worker/settings.ts';
import type { Reservation } from './worker/slots.ts';
import { Worker } from './worker/worker.ts';

function unknownTool(name: string, known: readonly string[]): InvalidOptions {
  const others = known.length > 0 ? `Known: ${known.join(', ')}.` : 'None is registered here.';
  return new InvalidOptions('UNKNOWN_TOOL', `Unknown durable tool "${name}". ${others}`);
}

function duplicateTool({ name, version }: DurableTool): InvalidOptions {
  return new InvalidOptions(
    'DUPLICATE_TOOL',
    `There are two durable tools "${name}" of version "${version}". Give one of them another name or version.`,
  );
}

const local: Owner = 'local';
const operator: Actor = { by: 'operator' };
const direct = ({ method }: DurableTool): Origin => ({ dialect: 'direct', method });

/** How long `close` waits for a store that does not answer. */
const closeMs = 5_000;

/** A tool that is passed by name accepts any input and checks it at run time. */
type CreateArguments<Tool> =
  Tool extends DurableTool<infer Input>
    ? InputArguments<Input, [options?: CreateOptions]>
    : [input?: unknown, options?: CreateOptions];

export function createTasks(options: TasksOptions): Tasks {
  return new Tasks(options);
}

export class Tasks implements AsyncDisposable {
  readonly tools: readonly DurableTool[];
  readonly resources: readonly DurableResource[];
  readonly prompts: readonly DurablePrompt[];
  /** @internal The observer, for servers. */
  readonly observer: Observer;
  /** Reads the audit log, even if this process does not write to it. */
  readonly audit: AuditLog;
  /** @internal For servers: records reads and refusals, if `audit` is on. */
  readonly recorder: AuditRecorder | undefined;
  /** @internal Whether the store can be written, as far as this process knows. */
  readonly storeHealth: StoreHealth;
  readonly #auditRetentionMs: number;
  readonly #open: () => Promise<Database>;
  /** Tools, resources and prompts, which are the same to workers. */
  readonly #durable: readonly DurableTool[];
  /** @internal */
  readonly clock: Clock;
  /** @internal The limits of tasks and of the store. */
  readonly engineLimits: EngineLimits;
  readonly #workers = new Set<Worker>();
  /** Callbacks of waits for outcomes: each reads its task again. */
  readonly #waiting = new Set<() => void>();
  /** Listeners for trees whose results could not be recorded. */
  readonly #unrecorded = new TreeListeners<StoreError>();
  #unobserve: () => void = () => {};
  #database: Promise<Database> | undefined;
  #served: Promise<Database> | undefined;
  #requests: Promise<TaskService> | undefined;

  constructor(options: TasksOptions) {
    const { store, tools = [], resources = [], prompts = [], clock = systemClock } = options;
    this.engineLimits = engineLimits(options);
    const { telemetry = unobserved, log } = options;
    this.observer = log ? logged(telemetry, log) : telemetry;
    this.audit = new AuditLog(async () => (await this.opened()).audit);
    this.#auditRetentionMs = auditRetentionOf(options);
    if (options.audit)
      this.recorder = new AuditRecorder(
        async (entries) => (await this.opened()).audit.append(entries),
        clock,
      );
    if (typeof store !== 'function' && !store?.store)
      throw new TypeError(
        "createTasks({ store }) was given no store: use sqlite('tasks.db') of holdfast/sqlite, or postgres(url) of holdfast/postgres.",
      );
    this.#open = typeof store === 'function' ? store : async () => store;
    this.#durable = [...tools, ...resources, ...prompts];
    this.tools = this.#durable.filter(({ method }) => method === 'tools/call');
    this.resources = this.#durable.filter(isResource);
    this.prompts = this.#durable.filter(isPrompt);
    this.clock = clock;
    this.storeHealth = new StoreHealth(clock, this.observer);
    const seen = new Set<string>();
    for (const tool of this.#durable) {
      const key = `${tool.name} ${tool.version}`;
      if (seen.has(key)) throw duplicateTool(tool);
      seen.add(key);
    }
  }

  /** Creates a task. When the promise resolves, the task is durable. */
  async create<Tool extends DurableTool | string>(
    named: Tool,
    ...[input, options = {}]: CreateArguments<Tool>
  ): Promise<Task> {
    const tool: DurableTool = typeof named === 'string' ? this.tool(named) : (named as DurableTool);
    const { owner = local, idempotencyKey: key, unpublished = false, by = operator } = options;
    checkOwner(owner);
    if (key !== undefined) checkIdempotencyKey(key);
    const origin = this.observer.origin(options.origin ?? direct(tool), tool.name);
    const terms = { owner, origin, retention: this.#granted(options, tool) };
    const request = await rootRequest(
      options.id ?? newTaskId(),
      tool,
      input,
      terms,
      this.engineLimits.maxValueSize,
    );
    // A caller that waits for the answer needs a time limit.
    const { store, queue } = await (options.by ? this.served() : this.opened());
    const wanted: NewTask = {
      ...request,
      deadlineMs: earlier(request.deadlineMs, options.maxDeadlineMs),
      ...(key !== undefined && { idempotency: { key, argumentsDigest: await digestOf(request.arguments) } }),
      ...(unpublished && {
        unpublished: {
          servedBy: queue.name,
          until: this.clock.now() + requestLeaseMs,
          ...(unpublished !== true && unpublished),
        },
      }),
    };
    const { id } = options;
    const keyed = key === undefined ? undefined : { owner, tool: tool.name, key };
    const bearing = id === undefined ? keyed : { id };
    return this.#runningHere(tool, request.id, async (leaseMs) => {
      const worker = leaseMs === undefined ? undefined : { name: queue.name, leaseMs };
      return store.create(bearing, (existing) =>
        onBehalfOf(by, rules.create(existing, wanted, this.clock.now(), worker)),
      );
    });
  }

  #granted(
    { ttlMs, keepAliveMs, maxRetentionMs = Number.POSITIVE_INFINITY }: CreateOptions,
    { retentionMs }: DurableTool,
  ): Retention {
    const { maxRetention, minRetention: floorMs } = this.engineLimits;
    const maxMs = Math.min(maxRetention, maxRetentionMs);
    // Times are whole milliseconds, and 2026-07-28 shows them so.
    const granted = (requestedMs: number) => Math.ceil(Math.min(Math.max(0, requestedMs), maxMs));
    if (ttlMs !== undefined) return { from: 'creation', ms: granted(ttlMs), floorMs };
    // A tool's own retention is not capped by `maxRetention`, only by the caller's limit.
    if (keepAliveMs === undefined) return { from: 'finish', ms: Math.min(retentionMs, maxRetentionMs) };
    const ms = granted(keepAliveMs ?? Number.POSITIVE_INFINITY);
    return { from: 'finish', ms: Math.max(ms, floorMs) };
  }

  /** A worker of this process that has a slot free claims the task in the commit that creates it. */
  async #runningHere(
    tool: DurableTool,
    id: TaskId,
    make: (leaseMs: number | undefined) => Promise<Change>,
  ): Promise<Task> {
    let reserved: Reservation | undefined;
    const worker = [...this.#workers].find((one) => (reserved = one.reserve(tool)));
    if (!worker || !reserved) return (await make(undefined)).task;
    let claimed: Claimed | undefined;
    try {
      const { task, writes } = await make(worker.claimMs);
      // Otherwise it is an existing task with the idempotency key.
      if (task.id === id) {
        const journal = writes[0]?.journal ?? [];
        claimed = { task, claim: { taskId: task.id, epoch: task.epoch }, journal };
      }
      return task;
    } finally {
      worker.fill(reserved, claimed);
    }
  }

  /** @internal For servers: tasks on behalf of open requests. */
  requests(): Promise<TaskService> {
    this.#requests ??= this.served().then((database) => new TaskService(database, this, this.#unrecorded));
    return this.#requests;
  }

  async get(id: TaskId): Promise<Task | undefined> {
    return (await this.opened()).store.get(id);
  }

  async list(query: ListQuery): Promise<Page> {
    return (await this.opened()).store.list(query);
  }

  /** Applies answers by key. Answers to closed questions are ignored. If one does not fit, the call is refused. */
  async answer(id: TaskId, responses: Readonly<Record<string, InputResponse>>): Promise<Task> {
    // A copy, because the caller may change its object later.
    const given = structuredClone(responses);
    checkAnswers(given, this.engineLimits.maxValueSize);
    return this.#act('task', id, (task) => rules.answer(task, given, this.clock.now()));
  }

  /** Ends a task and everything below it. */
  async cancel(id: TaskId, reason?: string): Promise<Task> {
    return this.#act('family', id, (family) => rules.cancel(family, this.clock.now(), reason));
  }

  /** Sends an event that a handler awaits with `task.waitForEvent(name)`. Only the first value for a name counts. */
  async sendEvent(id: TaskId, name: string, value: Json = null): Promise<Task> {
    const given = toJsonValue(value, `The event ${name}`, this.engineLimits.maxValueSize) ?? null;
    return this.#act('task', id, (task) => rules.completeEvent(task, name, given, this.clock.now()));
  }

  /** On behalf of the operator. */
  async #act<R extends keyof Reach>(
    reach: R,
    id: TaskId,
    decide: (subject: Reach[R]) => Verdict,
  ): Promise<Task> {
    const { store } = await this.opened();
    return (await store.update(reach, id, (subject) => onBehalfOf(operator, decide(subject)))).task;
  }

  /** Waits until a task is done; rejects if the tasks are closed before that. */
  async outcome(id: TaskId): Promise<Outcome> {
    const [{ store }, requests] = await Promise.all([this.opened(), this.requests()]);
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const read = async () => {
      const task = await store.get(id);
      if (!task) reject(refusal('TASK_NOT_FOUND', id));
      else if (task.phase === 'done') resolve(task.outcome);
    };
    // An error in any read ends the wait, even while another read is pending.
    const readAgain = () => void read().catch(reject);
    const rootId = (await store.get(id))?.rootId ?? id;
    const unsubscribe = requests.watch(rootId, ({ taskId, events }) => {
      if (taskId === id && events.some(({ type }) => type === 'finished' || type === 'removed')) readAgain();
    });
    // The interval keeps this process alive while another one does the work. It also detects a store that was closed,
    // because a closed store sends no events.
    const alive = runtime.setInterval(readAgain, 60_000);
    this.#waiting.add(readAgain);
    try {
      readAgain();
      return await promise;
    } finally {
      runtime.clearInterval(alive);
      this.#waiting.delete(readAgain);
      unsubscribe();
    }
  }

  async subscribe(listener: (commit: CommittedChange) => void): Promise<() => void> {
    return (await this.opened()).store.subscribe(listener);
  }

  /** Starts a worker for all tools, resources and prompts. It holds the process open until it is stopped. */
  async work({ concurrency, lease, grace, watchdog }: WorkOptions = {}): Promise<Worker> {
    const database = await this.opened();
    const { usualLeaseMs: leaseMs = workerDefaults.leaseMs } = database.queue;
    const worker = new Worker(database, this.clock, this.#durable, {
      ...workerDefaults,
      leaseMs,
      observer: this.observer,
      onUnrecorded: (rootId, error) => this.#unrecorded.notify(rootId, error),
      limits: this.engineLimits,
      auditRetentionMs: this.#auditRetentionMs,
      ...(concurrency !== undefined && { concurrency }),
      ...(lease !== undefined && { leaseMs: toMs(lease) }),
      ...(grace !== undefined && { graceMs: toMs(grace) }),
      ...(watchdog !== undefined && { watchdog }),
    });
    this.#workers.add(worker);
    return worker;
  }

  /** The newest registered version of a tool, of a resource as `resource/NAME`, or of a prompt as `prompt/NAME`. */
  tool(name: string): DurableTool {
    const tool = this.#durable.findLast((one) => one.name === name);
    if (!tool) throw unknownTool(name, [...new Set(this.#durable.map((one) => one.name))]);
    return tool;
  }

  /** @internal The fields that the tool of a task declares secret. All fields, if that version of the tool is unknown here. */
  secretsOf({ tool, toolVersion }: Pick<Task, 'tool' | 'toolVersion'>): SecretFields {
    const known = this.#durable.find(({ name, version }) => name === tool && version === toolVersion);
    return known?.secrets ?? 'all';
  }

  /**
   * Stops the workers within their grace time and closes the store. Pending waits for outcomes are rejected.
   */
  async close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop()));
    this.#unobserve();
    // A database that could not be opened needs no close. Its error was already reported.
    const closed = this.#database
      ?.catch(() => undefined)
      .then(async (database) => {
        await this.recorder?.flush();
        await database?.close();
      });
    if (closed) await within(closeMs, closed);
    // No more events arrive. Another read fails because the store is closed, which ends the wait.
    for (const readAgain of this.#waiting) readAgain();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal The database with observer and audit log, for operators and workers. */
  opened(): Promise<Database> {
    this.#database ??= this.#openObserved();
    return this.#database;
  }

  /** @internal The same database for code that serves callers: every call ends or times out within a few seconds. */
  served(): Promise<Database> {
    this.#served ??= this.opened().then(timeLimited);
    return this.#served;
  }

  async #openObserved(): Promise<Database> {
    const database = await this.#open();
    const tools = this.#durable.map(({ name, version }) => ({ tool: name, version }));
    const watched = this.storeHealth.watch(database);
    this.#unobserve = this.observer.opened(timeLimited(watched), tools);
    const kept = this.recorder ? audited(watched) : watched;
    return observed(kept, this.observer);
  }
}

/** The earlier of two deadlines; null for none. */
function earlier(deadlineMs: number | null, maxMs = Number.POSITIVE_INFINITY): number | null {
  const ms = Math.min(deadlineMs ?? Number.POSITIVE_INFINITY, maxMs);
  return Number.isFinite(ms) ? ms : null;
}
