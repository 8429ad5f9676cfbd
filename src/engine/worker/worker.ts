/**
 * Claims tasks and runs them, up to `concurrency` at a time. A worker has no durable state of its own: if it dies, other
 * workers take over its tasks. If it was only slow, its later commits are refused.
 * Over 400 lines because claiming, renewing and stopping share one set of runs.
 */

import { HoldfastError } from '../../model/errors.ts';
import type { Task, TaskId } from '../../model/task.ts';
import { quietly } from '../../ports/observer.ts';
import type { Claimed, Database, ToolVersion } from '../../ports/queue.ts';
import type { CommittedChange } from '../../ports/store.ts';
import { StoreError } from '../../ports/store-errors.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import { runtime, unrefPause } from '../../runtime/runtime.ts';
import { watchLoop } from '../../runtime/watchdog/watchdog.ts';
import type { DurableTool } from '../handlers/tool.ts';
import { catchUnhandled, runningStep } from '../replay/pass-context.ts';
import * as rules from '../rules/transitions.ts';
import { claimTasks } from './claiming.ts';
import { CorruptTasks } from './corrupt-tasks.ts';
import { endIfAbandoned, Housekeeping } from './housekeeping.ts';
import { RunningTasks } from './running-tasks.ts';
import type { WorkerSettings } from './settings.ts';
import { BlockedSlots, type Reservation, Slots } from './slots.ts';
import { TaskRun } from './task-run.ts';

/**
 * Other workers take over a task from a live but silent process after this many leases. The watchdog ends a blocked
 * process after two, so that the task does not block the next process at the same time.
 */
const leasesUntilTakeOver = 3;
/** The delay before a suspect that cannot run alone now is claimed again. */
const suspectRetryMs = 1_000;
/** The interval at which a worker tries to release a task if the store could not write the end of its pass. */
const giveBackMs = 1_000;
/** The maximum time that other tasks get between two attempts to isolate a suspect. */
const maxPauseMs = 600_000;
/** The minimum time that a stopping worker gets to release its tasks. */
const minStopMs = 1_000;

/** Events of other processes that a running pass must react to. */
const wakingEvents = new Set<string>(['answered', 'withdrawn', 'childDone', 'completed']);

export class Worker implements AsyncDisposable {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #tools: readonly DurableTool[];
  readonly #toolVersions: readonly ToolVersion[];
  readonly #settings: WorkerSettings;
  readonly #slots: Slots;
  /** Runs that still have something to commit. */
  readonly #runs = new Map<TaskId, TaskRun>();
  /** All tasks of this process, including those with steps that have not settled. */
  readonly #running: RunningTasks;
  readonly #housekeeping: Housekeeping;
  readonly #stopListening: (() => void)[] = [];
  readonly #onFreed = new Set<() => void>();
  readonly #corrupt = new CorruptTasks();
  #reserved = 0;
  #claiming = false;
  #claimAgain = false;
  #claimsSoon = false;
  #renewal: Promise<void> | undefined;
  /** Tools that may have a backlog because slots were taken. For other tools the queue reports new work. */
  #backlogged: ReadonlySet<DurableTool> = new Set();
  #stopping: Promise<void> | undefined;
  /** The suspect that runs alone in this process, or is about to. */
  #alone: TaskRun | undefined;
  /** When the last suspect was done, on the monotonic clock. */
  #wasAloneAt = Number.NEGATIVE_INFINITY;
  /** How often in a row other tasks could not be cleared from this process. */
  #failedIsolations = 0;
  readonly #blockedSlots = new BlockedSlots();

  /** @internal */
  constructor(database: Database, clock: Clock, tools: readonly DurableTool[], settings: WorkerSettings) {
    this.#database = database;
    this.#clock = clock;
    this.#tools = tools;
    this.#settings = settings;
    this.#slots = new Slots(settings.concurrency);
    this.#running = new RunningTasks(database.queue);
    this.#toolVersions = versionsOf(tools);
    this.#housekeeping = new Housekeeping(database, clock, this.#toolVersions, settings);
    const renewal = runtime.setInterval(() => void this.#keepClaims(), settings.leaseMs / 3);
    this.#stopListening.push(
      () => runtime.clearInterval(renewal),
      catchUnhandled((pass, error) => [...this.#runs.values()].some((run) => run.failUnhandled(pass, error))),
      watchLoop({
        leaseMs: settings.leaseMs,
        mode: settings.watchdog,
        currentStep: runningStep,
        blocked: (message, detail) => this.#warn('loopBlocked', message, detail),
      }),
      database.store.subscribe((commit) => this.#onCommit(commit)),
      database.queue.onWork(() => void this.#claim()),
      this.#running.onSettled(() => this.#claimSoon()),
    );
    void this.#claim();
  }

  /** @internal Reserves a slot for a task that is about to be created; undefined if none is free or other tasks wait for it. */
  reserve(wanted: DurableTool): Reservation | undefined {
    const tool = this.#own(wanted);
    if (this.#stopping || this.#alone || !tool || this.#backlogged.has(tool)) return undefined;
    if (this.#slots.freeFor(tool) <= 0) return undefined;
    this.#slots.take(tool);
    this.#reserved++;
    return { tool, at: this.#clock.monotonic() };
  }

  /** @internal Ends a reservation: starts the created task in the slot, or frees the slot. */
  fill({ tool, at }: Reservation, claimed: Claimed | undefined): void {
    this.#reserved--;
    if (claimed) void this.#start(claimed, at);
    else {
      this.#slots.give(tool);
      void this.#claim();
    }
  }

  /** @internal How long a claim lasts without renewal. */
  get claimMs(): number {
    return this.#settings.leaseMs * leasesUntilTakeOver;
  }

  /** True while no task runs here and none is being claimed. */
  get isIdle(): boolean {
    return this.#runs.size === 0 && !this.#claiming && !this.#claimsSoon;
  }

  /** Claims nothing new, lets running steps finish within the grace time, and releases all tasks. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    const { graceMs } = this.#settings;
    const stopMs = Math.max(graceMs, minStopMs);
    for (const run of this.#runs.values()) run.yield();
    this.#notifyFreed();
    // The rest of the time is for releasing the tasks.
    const grace = runtime.setTimeout(
      () => {
        for (const run of this.#runs.values()) run.stop();
      },
      Math.min(graceMs, stopMs * 0.8),
    );
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const end = runtime.setTimeout(resolve, stopMs);
    await Promise.race([late, this.#drained()]);
    for (const stop of this.#stopListening) stop();
    await Promise.race([late, this.#housekeeping.stop()]);
    runtime.clearTimeout(grace);
    runtime.clearTimeout(end);
  }

  async #drained(): Promise<void> {
    while (this.#runs.size + this.#reserved > 0 || this.#claiming)
      await new Promise<void>((resolve) => this.#onFreed.add(resolve));
  }

  async #claim(): Promise<void> {
    this.#claimAgain = true;
    if (this.#claiming) return;
    this.#claiming = true;
    try {
      await this.#claimAll();
    } catch (error) {
      // After a store error the next event or timer tries again.
      if (!(error instanceof StoreError)) this.#warn('claimFailed', 'Tasks could not be claimed.', { error });
    } finally {
      const isLeft = (tool: DurableTool) => this.#alone !== undefined || this.#slots.freeFor(tool) <= 0;
      this.#backlogged = new Set(this.#tools.filter(isLeft));
      this.#claiming = false;
      this.#notifyFreed();
      // More work was reported during the last claim.
      if (this.#claimAgain && !this.#alone) this.#claimSoon();
    }
  }

  async #claimAll(): Promise<void> {
    while (this.#claimAgain && !this.#stopping && !this.#alone) {
      this.#claimAgain = false;
      // After a stall the existing claims are renewed first.
      if ([...this.#runs.values()].some((run) => !run.isClaimCertain)) await this.#renew();
      const limit = this.#slots.free;
      const tools = this.#tools.filter((tool) => this.#slots.freeFor(tool) > 0);
      if (limit <= 0 || tools.length === 0) break;
      if ((await this.#claimSome(tools, limit)) === limit) this.#claimAgain = true;
    }
  }

  /** A tool with its own limit is claimed separately, so that its tasks take no slots from others. */
  async #claimSome(tools: readonly DurableTool[], limit: number): Promise<number> {
    const limited = tools.filter(({ concurrency }) => Number.isFinite(concurrency));
    const groups = [tools.filter((tool) => !limited.includes(tool)), ...limited.map((tool) => [tool])];
    let count = 0;
    for (const group of groups) {
      const max = Math.min(limit - count, ...group.map((tool) => this.#slots.freeFor(tool)));
      if (group.length === 0 || max <= 0) continue;
      count += await this.#claimUpTo(max, group, limited.includes(group[0]!) ? group[0] : undefined);
    }
    return count;
  }

  /** Slots are taken before the claim, so that nothing else fills them during it. */
  async #claimUpTo(
    max: number,
    tools: readonly DurableTool[],
    limited: DurableTool | undefined,
  ): Promise<number> {
    this.#slots.take(limited, max);
    const at = this.#clock.monotonic();
    let claimed: readonly Claimed[];
    try {
      claimed = await claimTasks(this.#database, {
        tools: versionsOf(tools),
        limit: max,
        leaseMs: this.claimMs,
        now: () => this.#clock.now(),
        running: this.#running,
        corrupt: this.#corrupt,
      });
    } finally {
      // Freed and taken again synchronously, so that nothing fills a slot in between.
      this.#slots.give(limited, max);
    }
    for (const { task } of claimed)
      this.#slots.take(this.#own({ name: task.tool, version: task.toolVersion }));
    for (const one of claimed) void this.#start(one, at);
    return claimed.length;
  }

  /** The registered tool. A caller may pass a copy of it with other options. */
  #own({ name, version }: Pick<DurableTool, 'name' | 'version'>): DurableTool | undefined {
    return this.#tools.find((tool) => tool.name === name && tool.version === version);
  }

  /** The slot is already taken. `claimedAt` is when the claim was requested, on the monotonic clock. Never rejects. */
  async #start(claimed: Claimed, claimedAt: number): Promise<void> {
    const { task } = claimed;
    const tool = this.#own({ name: task.tool, version: task.toolVersion })!;
    const settings = this.#settings;
    const run = new TaskRun({
      store: this.#database.store,
      clock: this.#clock,
      tool,
      claimed,
      claimedAt,
      settings,
      // If other tasks wait for a slot, a waiting pass parks at once.
      lingerMs: () => (this.#slots.free > 0 ? settings.lingerMs : 0),
      renew: () => void this.#keepClaims(),
    });
    this.#runs.set(task.id, run);
    this.#running.add(run);
    let isLeftHeld = false;
    try {
      await this.#advance(run, claimed);
    } catch (error) {
      isLeftHeld = error instanceof StoreError;
      if (!(error instanceof HoldfastError))
        this.#warn('passFailed', `A pass of ${tool.name} failed in the engine.`, { task: task.id, error });
    } finally {
      if (this.#alone === run) {
        this.#alone = undefined;
        this.#wasAloneAt = this.#clock.monotonic();
      }
      if (this.#runs.get(task.id) === run) this.#runs.delete(task.id);
      this.#notifyFreed();
      await this.#free(run);
      if (isLeftHeld) await this.#giveBack(run);
    }
  }

  /** Releases a task as soon as the store can write again, because its lease would last much longer. */
  async #giveBack(run: TaskRun): Promise<void> {
    for (let isHeld = true; isHeld && !this.#stopping; ) {
      await unrefPause(giveBackMs);
      isHeld = await run.release().then(
        () => false,
        (error: unknown) => error instanceof StoreError,
      );
    }
  }

  /** Frees the slot after all steps have settled. */
  async #free(run: TaskRun): Promise<void> {
    const { settled } = run;
    if (settled) await settled;
    this.#slots.give(run.tool);
    this.#running.delete(run, { isLate: settled !== undefined });
    this.#notifyFreed();
    if (this.#claiming) this.#claimAgain = true;
    else if (this.#backlogged.size > 0) this.#claimSoon();
  }

  async #advance(run: TaskRun, { task, claim }: Claimed): Promise<void> {
    const { store } = this.#database;
    if (await endIfAbandoned(this.#database, task, this.#clock)) return;
    if (this.#alone && this.#alone !== run) return await run.release();
    if (rules.isSuspect(task)) {
      if ((task.crashesAlone ?? 0) >= run.tool.maxCrashes) {
        const failure = { kind: 'failure', message: crashMessage(task) } as const;
        await store.update('family', task.id, (family) =>
          rules.fail(family, claim, failure, this.#clock.now()),
        );
        return;
      }
      if (!(await this.#isolate(run))) return await run.release(this.#clock.now() + suspectRetryMs);
    }
    if (this.#stopping) run.yield();
    await run.advance();
  }

  /**
   * Lets a suspect run alone in this process. Only one suspect runs at a time across all processes. Other tasks are
   * released, and their steps may finish within the grace time. False if the suspect cannot run alone now.
   */
  async #isolate(run: TaskRun): Promise<boolean> {
    if (this.#alone || this.#stopping) return false;
    // Between two suspects other tasks run.
    const backoff = { minMs: this.#settings.graceMs, maxMs: maxPauseMs };
    const pauseMs = backoffMs(backoff, this.#failedIsolations);
    const isSoon = this.#clock.monotonic() - this.#wasAloneAt < pauseMs;
    if (isSoon && this.#slots.taken > 1) return false;
    this.#alone = run;
    this.#backlogged = new Set(this.#tools);
    if (!(await this.#database.queue.isolate(run.claim))) return false;
    const others = () => [...this.#runs.values()].filter((other) => other !== run);
    for (const other of others()) other.yield();
    let isLate = false;
    const grace = runtime.setTimeout(() => {
      for (const other of others()) other.stop();
    }, this.#settings.graceMs);
    const end = runtime.setTimeout(() => {
      isLate = true;
      this.#notifyFreed();
    }, this.#settings.graceMs + minStopMs);
    while (this.#slots.taken > 1 && !this.#stopping && !isLate)
      await new Promise<void>((resolve) => this.#onFreed.add(resolve));
    runtime.clearTimeout(grace);
    runtime.clearTimeout(end);
    const isAlone = this.#slots.taken === 1 && !this.#stopping;
    this.#failedIsolations = isAlone ? 0 : this.#failedIsolations + 1;
    if (!isAlone) return false;
    await run.isolate();
    return true;
  }

  /** Claims once in the next phase of the event loop, because several tasks may free their slots at the same time. */
  #claimSoon(): void {
    if (this.#claimsSoon || this.#stopping) return;
    this.#claimsSoon = true;
    runtime.setImmediate(() => {
      this.#claimsSoon = false;
      void this.#claim();
    });
  }

  #notifyFreed(): void {
    for (const resolve of this.#onFreed) resolve();
    this.#onFreed.clear();
  }

  #onCommit({ taskId, events }: CommittedChange): void {
    const run = this.#runs.get(taskId);
    if (!run) return;
    if (events.some(({ type }) => type === 'finished')) run.taskEnded();
    else if (events.some(({ type }) => wakingEvents.has(type))) run.poke();
  }

  async #keepClaims(): Promise<void> {
    try {
      await this.#renew();
      const backlog = () => this.#database.queue.backlog(this.#toolVersions, 1);
      const message = await this.#blockedSlots.check(this.#slots, [...this.#runs.values()], backlog);
      if (message) this.#warn('slotsBlocked', message, { slots: this.#runs.size });
    } catch (error) {
      if (!(error instanceof StoreError))
        this.#warn('renewalFailed', 'Claims could not be renewed.', { error });
    }
  }

  #renew(): Promise<void> {
    this.#renewal ??= this.#renewAll().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #renewAll(): Promise<void> {
    const runs = [...this.#runs.values()];
    if (runs.length === 0) return;
    // The lease counts from its request, however long the store takes to grant it.
    const requestedAt = this.#clock.monotonic();
    const claims = runs.map(({ claim }) => claim);
    const lost = await this.#database.queue.renew(claims, this.claimMs);
    const gone = new Set(lost.map(({ taskId }) => taskId));
    for (const run of runs) {
      if (gone.has(run.taskId)) run.lose();
      else run.renewed(requestedAt);
    }
  }

  #warn(code: string, message: string, detail: Record<string, unknown> = {}): void {
    quietly(() => this.#settings.observer.warned({ code, message, detail, at: this.#clock.now() }));
  }
}

function crashMessage({ crashes = 0, crashesAlone = 0 }: Task): string {
  return `The process that ran this task died or stopped responding ${crashes} times in a row before the task made progress, the last ${crashesAlone} times while it ran alone. The task probably ends its process (a crash, process.exit, out of memory) or blocks its event loop. See the log of the worker.`;
}

function versionsOf(tools: readonly DurableTool[]): ToolVersion[] {
  return tools.map(({ name, version }) => ({ tool: name, version }));
}
