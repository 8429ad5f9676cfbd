/**
 * Claims tasks and advances them, up to `concurrency` at a time. A worker owns nothing durable: whatever happens to
 * it, its claims are taken over by others, and what it then still tries to commit is refused.
 */
import type { Clock } from '../model/clock.ts';
import { HoldfastError, Refusal } from '../model/errors.ts';
import type { Owner, Task, TaskId } from '../model/task.ts';
import { type Bounds, defaultBounds } from './bounds.ts';
import { defaultLargestValue } from './carried.ts';
import { claimTasks } from './claims.ts';
import { DamagedTasks } from './damaged-tasks.ts';
import { Housekeeping, type Keeping, keepingDefaults } from './housekeeping.ts';
import { type Observer, unobserved } from './observer.ts';
import { passOfThisContext } from './pass.ts';
import type { Claimed, Database } from './queue.ts';
import { Run } from './run.ts';
import type { CommitNotice } from './store.ts';
import { StoreError } from './store-errors.ts';
import type { DurableTool } from './tool.ts';
import * as rules from './transitions.ts';

export interface WorkerSettings {
  readonly concurrency: number;
  readonly leaseMs: number;
  /** How long steps in flight may take to finish when the worker stops. */
  readonly graceMs: number;
  /** How long a pass that only waits stays in memory. */
  readonly lingerMs: number;
  /** The largest value of a step or result, in characters of JSON. */
  readonly largestValue: number;
  readonly bounds: Bounds;
  readonly keeping: Keeping;
  /** Ends each pass after every commit that settles something, as a crash would: for tests of handlers. */
  readonly interruptAfterEveryEntry: boolean;
  /** Whoever watches its passes. What is committed it sees through the database. */
  readonly observer: Observer;
  /** Hears of passes whose work the store did not take: until the lease ends nothing will become of the task. */
  readonly onUnrecorded: (rootId: TaskId, error: StoreError) => void;
}

export const workerDefaults: WorkerSettings = {
  interruptAfterEveryEntry: false,
  concurrency: 8,
  leaseMs: 15_000,
  graceMs: 5_000,
  lingerMs: 100,
  largestValue: defaultLargestValue,
  observer: unobserved,
  onUnrecorded: () => {},
  bounds: defaultBounds,
  keeping: keepingDefaults,
};

/** Commits of others that a running pass must know of. */
const stirring = new Set<string>(['answered', 'withdrawn', 'childDone', 'completed']);

export class Worker implements AsyncDisposable {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #tools: readonly DurableTool[];
  readonly #settings: WorkerSettings;
  readonly #runs = new Map<string, Run>();
  readonly #housekeeping: Housekeeping;
  readonly #stopListening: (() => void)[] = [];
  readonly #renewal: NodeJS.Timeout;
  readonly #emptied = new Set<() => void>();
  /** Tools whose tasks are being made for this worker. */
  readonly #reserved: DurableTool[] = [];
  readonly #damaged = new DamagedTasks();
  #claiming = false;
  #claimAgain = false;
  #claimsSoon = false;
  #renewing = false;
  /** There may be work that was not taken for want of a place; otherwise the queue tells when there is some. */
  #leftBehind = false;
  #stopping: Promise<void> | undefined;
  /** A task that took its process with it too often runs with no other beside it. */
  #alone = false;

  constructor(database: Database, clock: Clock, tools: readonly DurableTool[], settings: WorkerSettings) {
    this.#database = database;
    this.#clock = clock;
    this.#tools = tools;
    this.#settings = settings;
    this.#housekeeping = new Housekeeping(
      database,
      clock,
      tools.map(({ name, version }) => ({ tool: name, version })),
      settings.keeping,
      settings.observer,
    );
    this.#renewal = setInterval(() => void this.#renew(), settings.leaseMs / 3);
    process.on('unhandledRejection', this.#onUnhandled);
    this.#stopListening.push(
      database.store.subscribe((notice) => this.#hear(notice)),
      database.queue.onWork(() => void this.#claim()),
      () => process.off('unhandledRejection', this.#onUnhandled),
    );
    void this.#claim();
  }

  /** Keeps a place for a task of this tool that is about to be made, or says that there is none. */
  reserve(wanted: DurableTool): boolean {
    const tool = this.#own(wanted);
    const isFree =
      !this.#stopping &&
      !this.#alone &&
      tool !== undefined &&
      this.#places() > 0 &&
      this.#freeSlots(tool) > 0;
    if (isFree) this.#reserved.push(tool);
    return isFree;
  }

  /** Gives a reserved place back, to the task that it was kept for if that came about. */
  fill(wanted: DurableTool, claimed: Claimed | undefined): void {
    this.#reserved.splice(this.#reserved.indexOf(this.#own(wanted)!), 1);
    if (claimed) void this.#start(claimed);
    else void this.#claim();
  }

  /** Resolves when a task that has only just come into its hands has left them, or had its head start. */
  headStart(id: TaskId, owner: Owner): Promise<void> | undefined {
    const run = this.#runs.get(id);
    return run?.owner === owner ? run.headStart.wait() : undefined;
  }

  /** For how long what it claims is its own. */
  get leaseMs(): number {
    return this.#settings.leaseMs;
  }

  /** True while no task is in its hands and none is being claimed. */
  get isIdle(): boolean {
    return this.#runs.size === 0 && !this.#claiming && !this.#claimsSoon;
  }

  /** Takes nothing new, lets the steps in flight finish, and gives everything back. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    for (const run of this.#runs.values()) run.yield();
    const grace = setTimeout(() => {
      for (const run of this.#runs.values()) run.stop();
    }, this.#settings.graceMs);
    while (this.#runs.size + this.#reserved.length > 0 || this.#claiming)
      await new Promise<void>((resolve) => this.#emptied.add(resolve));
    clearTimeout(grace);
    clearInterval(this.#renewal);
    for (const stop of this.#stopListening) stop();
    await this.#housekeeping.stop();
  }

  async #claim(): Promise<void> {
    this.#claimAgain = true;
    if (this.#claiming) return;
    this.#claiming = true;
    while (this.#claimAgain && !this.#stopping && !this.#alone) {
      this.#claimAgain = false;
      const limit = this.#places();
      const tools = this.#tools.filter((tool) => this.#freeSlots(tool) > 0);
      if (limit <= 0 || tools.length === 0) break;
      const claimed = await this.#claimSome(tools, limit);
      for (const one of claimed) void this.#start(one);
      if (claimed.length === limit) this.#claimAgain = true;
    }
    this.#leftBehind =
      this.#alone || this.#places() <= 0 || this.#tools.some((tool) => this.#freeSlots(tool) <= 0);
    this.#claiming = false;
    this.#tellEmptied();
  }

  /** A tool with a limit of its own is claimed apart, so that its tasks take no place from others. */
  async #claimSome(tools: readonly DurableTool[], limit: number): Promise<Claimed[]> {
    const limited = tools.filter(({ concurrency }) => Number.isFinite(concurrency));
    const groups = [tools.filter((tool) => !limited.includes(tool)), ...limited.map((tool) => [tool])];
    const claimed: Claimed[] = [];
    for (const group of groups) {
      const most = Math.min(limit - claimed.length, ...group.map((tool) => this.#freeSlots(tool)));
      if (group.length === 0 || most <= 0) continue;
      claimed.push(
        ...(await claimTasks(this.#database, {
          tools: group.map(({ name, version }) => ({ tool: name, version })),
          limit: most,
          leaseMs: this.#settings.leaseMs,
          now: this.#clock.now(),
          damaged: this.#damaged,
        }).catch(noneIfStoreFails)),
      );
    }
    return claimed;
  }

  /** A tool may be called with other terms than it was registered with; it is the same all the same. */
  #own({ name, version }: Pick<DurableTool, 'name' | 'version'>): DurableTool | undefined {
    return this.#tools.find((tool) => tool.name === name && tool.version === version);
  }

  #freeSlots(tool: DurableTool): number {
    const running = [...this.#runs.values()].filter((run) => run.tool === tool).length;
    return tool.concurrency - running - this.#reserved.filter((one) => one === tool).length;
  }

  #places(): number {
    return this.#settings.concurrency - this.#runs.size - this.#reserved.length;
  }

  async #start(claimed: Claimed): Promise<void> {
    const { store } = this.#database;
    const { task, claim } = claimed;
    const tool = this.#own({ name: task.tool, version: task.toolVersion })!;
    const settings = this.#settings;
    // Where others wait for a place nobody lingers in it.
    const lingerMs = () => (this.#places() > 0 ? settings.lingerMs : 0);
    const renew = () => void this.#renew();
    const run = new Run({ store, clock: this.#clock, tool, claimed, settings, lingerMs, renew });
    this.#runs.set(task.id, run);
    try {
      if (await this.#isAbandoned(task)) return await this.#endWithRequest(task.rootId);
      const deaths = task.deaths ?? 0;
      if (deaths > tool.deathsAllowed) {
        const message = `The process that ran this task died ${deaths} times in a row without getting any further, the last time with nothing else beside it. It was given up.`;
        await store.update('family', task.id, (family) =>
          rules.fail(family, claim, { kind: 'failure', message }, this.#clock.now()),
        );
      } else {
        if (deaths === tool.deathsAllowed) await this.#untilAlone(run);
        if (this.#stopping) run.yield();
        await run.advance();
      }
    } catch (error) {
      // Ended meanwhile, or the store cannot do it now: then the lease will run out.
      if (!(error instanceof HoldfastError)) throw error;
    } finally {
      if ((task.deaths ?? 0) === tool.deathsAllowed) this.#alone = false;
      this.#runs.delete(task.id);
      this.#tellEmptied();
      if (!this.#stopping && this.#leftBehind) this.#claimSoon();
    }
  }

  /** Tasks that ended in one commit leave their places one after the other: what may follow them is asked for once. */
  #claimSoon(): void {
    if (this.#claimsSoon) return;
    this.#claimsSoon = true;
    setImmediate(() => {
      this.#claimsSoon = false;
      void this.#claim();
    });
  }

  /** Whether it belongs, or its root does, to a request whose process is dead. */
  async #isAbandoned(task: Task): Promise<boolean> {
    const { store, queue } = this.#database;
    const root = task.parentId === undefined ? task : await store.get(task.rootId);
    // What this process serves itself needs no looking.
    if (root?.unpublished?.servedBy === queue.name) return false;
    const servedBy = root?.unpublished?.servedBy;
    return typeof servedBy === 'string' && !(await queue.isAlive(servedBy));
  }

  /** The process that served the request is dead, and with it whoever would have been told of the task. */
  async #endWithRequest(id: TaskId): Promise<void> {
    const reason = 'The process that served the request died before the task was published.';
    await this.#database.store
      .update('family', id, (family) => rules.cancel(family, this.#clock.now(), reason))
      .catch(unlessRefused);
  }

  async #untilAlone(run: Run): Promise<void> {
    this.#alone = true;
    this.#leftBehind = true;
    while ([...this.#runs.values()].some((other) => other !== run))
      await new Promise<void>((resolve) => this.#emptied.add(resolve));
  }

  #tellEmptied(): void {
    for (const resolve of this.#emptied) resolve();
    this.#emptied.clear();
  }

  #hear({ taskId, events }: CommitNotice): void {
    const run = this.#runs.get(taskId);
    if (!run) return;
    if (events.some(({ type }) => type === 'finished')) run.taskEnded();
    else if (events.some(({ type }) => stirring.has(type))) run.poke();
  }

  async #renew(): Promise<void> {
    if (this.#renewing) return;
    this.#renewing = true;
    const runs = [...this.#runs.values()];
    const leaseUntil = this.#clock.now() + this.#settings.leaseMs;
    try {
      if (runs.length === 0) return;
      const claims = runs.map(({ claim }) => claim);
      const lost = new Set(
        (await this.#database.queue.renew(claims, leaseUntil)).map(({ taskId }) => taskId),
      );
      for (const run of runs) {
        if (lost.has(run.taskId)) run.stop();
        else run.renewed(leaseUntil);
      }
    } catch (error) {
      noneIfStoreFails(error);
    } finally {
      this.#renewing = false;
    }
  }

  /** A promise that a handler forgot ends that handler's task, not the worker. Others are not ours to handle. */
  readonly #onUnhandled = (error: unknown): void => {
    const pass = passOfThisContext();
    const run = pass && [...this.#runs.values()].find((one) => one.isOf(pass));
    if (run) run.breakLoose(error);
    else if (!pass && process.listenerCount('unhandledRejection') === 1) throw error;
  };
}

function unlessRefused(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
}

/** What a store cannot do now is tried again with the next news, or the next lease. */
function noneIfStoreFails(error: unknown): never[] {
  if (error instanceof StoreError) return [];
  throw error;
}
