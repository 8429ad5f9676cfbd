/**
 * Claims tasks and advances them, up to `concurrency` at a time. A worker owns nothing durable: whatever happens to
 * it, its claims are taken over by others, and what it then still tries to commit is refused.
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
 * Others wait for so many leases before they take a task from a process that is alive and silent. A blocked process is
 * ended by its watchdog after two: until then its tasks block nobody else.
 */
const patience = 3;
/** A suspect that cannot run alone now is tried again after this. */
const suspectRetryMs = 1_000;
/** If the store cannot write the end of a pass, its task is given back after this; if that fails, after this again. */
const giveBackMs = 1_000;
/** Where steps that ignore their signal keep a suspect from being alone, other tasks get more and more time. */
const longestPauseMs = 600_000;
/** The shortest time in which a worker that stops can give back what it holds. */
const shortestStopMs = 1_000;

/** Commits of others that a running pass must know of. */
const stirring = new Set<string>(['answered', 'withdrawn', 'childDone', 'completed']);

export class Worker implements AsyncDisposable {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #tools: readonly DurableTool[];
  readonly #toolVersions: readonly ToolVersion[];
  readonly #settings: WorkerSettings;
  readonly #slots: Slots;
  /** Runs that still have something to commit. */
  readonly #runs = new Map<TaskId, TaskRun>();
  /** All tasks of this process, those with steps that have not settled among them. */
  readonly #running: RunningTasks;
  readonly #housekeeping: Housekeeping;
  readonly #stopListening: (() => void)[] = [];
  readonly #emptied = new Set<() => void>();
  readonly #damaged = new CorruptTasks();
  #reserved = 0;
  #claiming = false;
  #claimAgain = false;
  #claimsSoon = false;
  #renewal: Promise<void> | undefined;
  /** Of these tools work may wait that was not taken for want of a slot; of others the queue tells when there is some. */
  #leftBehind: ReadonlySet<DurableTool> = new Set();
  #stopping: Promise<void> | undefined;
  /** The suspect that has this process for itself, or is about to. */
  #alone: TaskRun | undefined;
  /** When the last one was done, on the monotonic clock. */
  #wasAloneAt = Number.NEGATIVE_INFINITY;
  /** How often in a row other tasks could not be moved out of the way. */
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
        whatRuns: runningStep,
        blocked: (message, detail) => this.#warn('loopBlocked', message, detail),
      }),
      database.store.subscribe((notice) => this.#hear(notice)),
      database.queue.onWork(() => void this.#claim()),
      this.#running.onSettled(() => this.#claimSoon()),
    );
    void this.#claim();
  }

  /** @internal Keeps a slot for a task of this tool that is about to be created; undefined if there is none, or others wait. */
  reserve(wanted: DurableTool): Reservation | undefined {
    const tool = this.#own(wanted);
    if (this.#stopping || this.#alone || !tool || this.#leftBehind.has(tool)) return undefined;
    if (this.#slots.freeFor(tool) <= 0) return undefined;
    this.#slots.take(tool);
    this.#reserved++;
    return { tool, at: this.#clock.monotonic() };
  }

  /** @internal Gives a reserved slot back, to the task that it was kept for if that came about. */
  fill({ tool, at }: Reservation, claimed: Claimed | undefined): void {
    this.#reserved--;
    if (claimed) void this.#start(claimed, at);
    else {
      this.#slots.give(tool);
      void this.#claim();
    }
  }

  /** @internal For how long what it claims is its own, unless it renews the claim. */
  get claimMs(): number {
    return this.#settings.leaseMs * patience;
  }

  /** True while no task is in its hands and none is being claimed. */
  get isIdle(): boolean {
    return this.#runs.size === 0 && !this.#claiming && !this.#claimsSoon;
  }

  /** Takes nothing new, lets the steps in flight finish, and gives everything back: within the grace time. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    const { graceMs } = this.#settings;
    const stopMs = Math.max(graceMs, shortestStopMs);
    for (const run of this.#runs.values()) run.yield();
    this.#tellEmptied();
    // What is left of the time is for giving the tasks back.
    const grace = runtime.setTimeout(
      () => {
        for (const run of this.#runs.values()) run.stop();
      },
      Math.min(graceMs, stopMs * 0.8),
    );
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const end = runtime.setTimeout(resolve, stopMs);
    await Promise.race([late, this.#emptyHands()]);
    for (const stop of this.#stopListening) stop();
    await Promise.race([late, this.#housekeeping.stop()]);
    runtime.clearTimeout(grace);
    runtime.clearTimeout(end);
  }

  async #emptyHands(): Promise<void> {
    while (this.#runs.size + this.#reserved > 0 || this.#claiming)
      await new Promise<void>((resolve) => this.#emptied.add(resolve));
  }

  async #claim(): Promise<void> {
    this.#claimAgain = true;
    if (this.#claiming) return;
    this.#claiming = true;
    try {
      await this.#claimAll();
    } catch (error) {
      // What a store cannot do now is tried again with the next news.
      if (!(error instanceof StoreError)) this.#warn('claimFailed', 'Tasks could not be claimed.', { error });
    } finally {
      const isLeft = (tool: DurableTool) => this.#alone !== undefined || this.#slots.freeFor(tool) <= 0;
      this.#leftBehind = new Set(this.#tools.filter(isLeft));
      this.#claiming = false;
      this.#tellEmptied();
      // Somebody asked while the last answer was on its way.
      if (this.#claimAgain && !this.#alone) this.#claimSoon();
    }
  }

  async #claimAll(): Promise<void> {
    while (this.#claimAgain && !this.#stopping && !this.#alone) {
      this.#claimAgain = false;
      // After a stall the claims that it holds come first.
      if ([...this.#runs.values()].some((run) => !run.isClaimCertain)) await this.#renew();
      const limit = this.#slots.free;
      const tools = this.#tools.filter((tool) => this.#slots.freeFor(tool) > 0);
      if (limit <= 0 || tools.length === 0) break;
      if ((await this.#claimSome(tools, limit)) === limit) this.#claimAgain = true;
    }
  }

  /** A tool with a limit of its own is claimed apart, so that its tasks take no slot from others. */
  async #claimSome(tools: readonly DurableTool[], limit: number): Promise<number> {
    const limited = tools.filter(({ concurrency }) => Number.isFinite(concurrency));
    const groups = [tools.filter((tool) => !limited.includes(tool)), ...limited.map((tool) => [tool])];
    let count = 0;
    for (const group of groups) {
      const most = Math.min(limit - count, ...group.map((tool) => this.#slots.freeFor(tool)));
      if (group.length === 0 || most <= 0) continue;
      count += await this.#claimUpTo(most, group, limited.includes(group[0]!) ? group[0] : undefined);
    }
    return count;
  }

  /** Slots are taken before the claim, so that nobody else fills them meanwhile. */
  async #claimUpTo(
    most: number,
    tools: readonly DurableTool[],
    limited: DurableTool | undefined,
  ): Promise<number> {
    this.#slots.take(limited, most);
    const at = this.#clock.monotonic();
    let claimed: readonly Claimed[];
    try {
      claimed = await claimTasks(this.#database, {
        tools: versionsOf(tools),
        limit: most,
        leaseMs: this.claimMs,
        now: () => this.#clock.now(),
        running: this.#running,
        corrupt: this.#damaged,
      });
    } finally {
      // Given and taken in one go, so that nobody fills a slot in between.
      this.#slots.give(limited, most);
    }
    for (const { task } of claimed)
      this.#slots.take(this.#own({ name: task.tool, version: task.toolVersion }));
    for (const one of claimed) void this.#start(one, at);
    return claimed.length;
  }

  /** A tool may be called with other terms than it was registered with; it is the same all the same. */
  #own({ name, version }: Pick<DurableTool, 'name' | 'version'>): DurableTool | undefined {
    return this.#tools.find((tool) => tool.name === name && tool.version === version);
  }

  /** Its slot is taken already. `claimedAt` is when the claim was asked for, on the monotonic clock. Never rejects. */
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
      // Where others wait for a slot nobody lingers in it.
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
      this.#tellEmptied();
      await this.#free(run);
      if (isLeftHeld) await this.#giveBack(run);
    }
  }

  /** Releases a task once the store can write again: its lease would last for much longer. */
  async #giveBack(run: TaskRun): Promise<void> {
    for (let isHeld = true; isHeld && !this.#stopping; ) {
      await unrefPause(giveBackMs);
      isHeld = await run.release().then(
        () => false,
        (error: unknown) => error instanceof StoreError,
      );
    }
  }

  /** Once its steps have settled. */
  async #free(run: TaskRun): Promise<void> {
    const { settled } = run;
    if (settled) await settled;
    this.#slots.give(run.tool);
    this.#running.delete(run, { isLate: settled !== undefined });
    this.#tellEmptied();
    if (this.#claiming) this.#claimAgain = true;
    else if (this.#leftBehind.size > 0) this.#claimSoon();
  }

  async #advance(run: TaskRun, { task, claim }: Claimed): Promise<void> {
    const { store } = this.#database;
    if (await endIfAbandoned(this.#database, task, this.#clock)) return;
    if (this.#alone && this.#alone !== run) return await run.release();
    if (rules.isSuspect(task)) {
      if ((task.crashesAlone ?? 0) >= run.tool.maxCrashes) {
        const failure = { kind: 'failure', message: gaveUp(task) } as const;
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
   * Lets a suspect have the process for itself. Suspects run one at a time, in all processes together. Other tasks are
   * given back: their steps may finish within the grace time. False if that is not possible now.
   */
  async #isolate(run: TaskRun): Promise<boolean> {
    if (this.#alone || this.#stopping) return false;
    // Between two suspects other tasks get their turn.
    const backoff = { minMs: this.#settings.graceMs, maxMs: longestPauseMs };
    const pauseMs = backoffMs(backoff, this.#failedIsolations);
    const isSoon = this.#clock.monotonic() - this.#wasAloneAt < pauseMs;
    if (isSoon && this.#slots.taken > 1) return false;
    this.#alone = run;
    this.#leftBehind = new Set(this.#tools);
    if (!(await this.#database.queue.isolate(run.claim))) return false;
    const others = () => [...this.#runs.values()].filter((other) => other !== run);
    for (const other of others()) other.yield();
    let isLate = false;
    const grace = runtime.setTimeout(() => {
      for (const other of others()) other.stop();
    }, this.#settings.graceMs);
    const end = runtime.setTimeout(() => {
      isLate = true;
      this.#tellEmptied();
    }, this.#settings.graceMs + shortestStopMs);
    while (this.#slots.taken > 1 && !this.#stopping && !isLate)
      await new Promise<void>((resolve) => this.#emptied.add(resolve));
    runtime.clearTimeout(grace);
    runtime.clearTimeout(end);
    const isAlone = this.#slots.taken === 1 && !this.#stopping;
    this.#failedIsolations = isAlone ? 0 : this.#failedIsolations + 1;
    if (!isAlone) return false;
    await run.isolate();
    return true;
  }

  /** Tasks that ended in one commit leave their slots one after the other: what may follow them is asked for once. */
  #claimSoon(): void {
    if (this.#claimsSoon || this.#stopping) return;
    this.#claimsSoon = true;
    runtime.setImmediate(() => {
      this.#claimsSoon = false;
      void this.#claim();
    });
  }

  #tellEmptied(): void {
    for (const resolve of this.#emptied) resolve();
    this.#emptied.clear();
  }

  #hear({ taskId, events }: CommittedChange): void {
    const run = this.#runs.get(taskId);
    if (!run) return;
    if (events.some(({ type }) => type === 'finished')) run.taskEnded();
    else if (events.some(({ type }) => stirring.has(type))) run.poke();
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
    // The lease counts from when it was asked for, however long the store takes to grant it.
    const asked = this.#clock.monotonic();
    const claims = runs.map(({ claim }) => claim);
    const lost = await this.#database.queue.renew(claims, this.claimMs);
    const gone = new Set(lost.map(({ taskId }) => taskId));
    for (const run of runs) {
      if (gone.has(run.taskId)) run.lose();
      else run.renewed(asked);
    }
  }

  #warn(code: string, message: string, detail: Record<string, unknown> = {}): void {
    quietly(() => this.#settings.observer.warned({ code, message, detail, at: this.#clock.now() }));
  }
}

function gaveUp({ crashes: deaths = 0, crashesAlone = 0 }: Task): string {
  return `The process that ran this task died or stopped responding ${deaths} times in a row before the task made progress, the last ${crashesAlone} times with no other task beside it. The task probably ends its process (a crash, process.exit, out of memory) or blocks its event loop; the log of the worker says more. It was given up.`;
}

function versionsOf(tools: readonly DurableTool[]): ToolVersion[] {
  return tools.map(({ name, version }) => ({ tool: name, version }));
}
