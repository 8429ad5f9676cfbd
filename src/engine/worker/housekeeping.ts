/**
 * Housekeeping: ends tasks after their deadline, removes trees and audit entries after their retention and trees that
 * exceed the store size, explains why tasks are not claimed, and drops idle passes from histories. It works in small
 * batches, so that requests never wait long for it.
 */

import { ignoringRefusals, Refusal } from '../../model/errors.ts';
import type { Task, TaskId } from '../../model/task.ts';
import type { Verdict } from '../../ports/change.ts';
import type { Database, ToolVersion } from '../../ports/queue.ts';
import type { Due } from '../../ports/store.ts';
import { StoreError, TaskCorrupt } from '../../ports/store-errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { requestLeaseMs } from '../rules/publication.ts';
import { cancel, crowdOut, explain, keepForRequest, passDeadline, purge } from '../rules/transitions.ts';
import { CorruptTasks } from './corrupt-tasks.ts';
import type { WorkerSettings } from './settings.ts';

const everyMs = 1_000;
/** The interval of work that is not urgent. */
const minuteMs = 60_000;
/** A task that was ready for this long without a claim gets a status message that explains it. */
const unclaimedMs = 60_000;
const atOnce = 20;
const prunedAtOnce = 500;
/** How long histories keep passes that did nothing. By then all readers of the feed have read them. */
const keepIdleMs = 3_600_000;
const leftOutAtOnce = 200;
/** A store that is too large is reduced to this share of its maximum size, so that there is room for some time. */
const targetShare = 0.9;

export class Housekeeping {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #tools: readonly ToolVersion[];
  readonly #settings: WorkerSettings;
  readonly #corrupt = new CorruptTasks();
  #isMakingRoom = false;
  #isOverfull = false;
  #minuteAt: number;
  #cancel: () => void = () => {};
  #round: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(database: Database, clock: Clock, tools: readonly ToolVersion[], settings: WorkerSettings) {
    this.#database = database;
    this.#clock = clock;
    this.#tools = tools;
    this.#settings = settings;
    this.#minuteAt = clock.now() + minuteMs;
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#round;
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#cancel = this.#clock.schedule(this.#clock.now() + everyMs, () => {
      this.#arm();
      this.#again = true;
      this.#round ??= this.#rounds().finally(() => {
        this.#round = undefined;
      });
    });
  }

  async #rounds(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      await this.#tidy();
    }
  }

  async #tidy(): Promise<void> {
    const { store } = this.#database;
    const kinds = [
      () => this.#endOverdue(),
      () => this.#all('purge', (id, now) => store.update('family', id, (family) => purge(family, now))),
      () => this.#makeRoom(),
    ];
    const now = this.#clock.now();
    if (now >= this.#minuteAt) {
      this.#minuteAt = now + minuteMs;
      kinds.push(
        () => this.#pruneAudit(now),
        () => this.#leaveOutIdle(now),
        () => this.#explainOrphans(now),
      );
    }
    const defects: unknown[] = [];
    // Each runs on its own, so that an error in one does not prevent the others.
    for (const kind of kinds)
      await kind().catch((error: unknown) => {
        // Store errors are already reported. The next round tries again.
        if (!(error instanceof StoreError)) defects.push(error);
      });
    if (defects.length > 0) throw defects[0];
  }

  #endOverdue(): Promise<void> {
    return this.#all('deadline', async (id, now) => {
      const server = await this.#livingServer(id);
      await this.#database.store.update(
        'family',
        id,
        (family) => stillServed(family.task, server, now) ?? passDeadline(family, now),
      );
    });
  }

  /** The process that serves the request of an unpublished task, if it is alive. */
  async #livingServer(id: TaskId): Promise<string | undefined> {
    const servedBy = (await this.#database.store.get(id))?.unpublished?.servedBy ?? undefined;
    return servedBy !== undefined && (await this.#database.queue.isAlive(servedBy)) ? servedBy : undefined;
  }

  async #explainOrphans(now: number): Promise<void> {
    const orphans = await this.#database.queue.orphans(
      this.#tools,
      now - unclaimedMs,
      atOnce + this.#corrupt.size,
    );
    const act = (id: TaskId) =>
      this.#database.store.update('task', id, (task) => explain(task, orphaned(task), now));
    for (const id of this.#withoutCorrupt(orphans).slice(0, atOnce)) await this.#one(id, act);
  }

  async #pruneAudit(now: number): Promise<void> {
    const before = now - this.#settings.auditRetentionMs;
    if (!Number.isFinite(before)) return;
    const { audit } = this.#database;
    while (!this.#stopped && (await audit.prune(before, prunedAtOnce)) === prunedAtOnce);
  }

  /** A task that polls every second for a month must not fill its history with millions of commits. */
  async #leaveOutIdle(now: number): Promise<void> {
    const { store } = this.#database;
    while (!this.#stopped && (await store.leaveOut(now - keepIdleMs, leftOutAtOnce)) === leftOutAtOnce);
  }

  /** Trees that finished first are removed first. Live tasks and recent results are never removed. */
  async #makeRoom(): Promise<void> {
    const { maxStoreSize: largest, minRetention } = this.#settings.limits;
    if (largest === Number.POSITIVE_INFINITY) return;
    let size = await this.#database.store.size();
    this.#isMakingRoom = size > (this.#isMakingRoom ? largest * targetShare : largest);
    for (let max = 1; this.#isMakingRoom; ) {
      const at = this.#clock.now();
      const endedBy = at - minRetention;
      const done = await this.#some('oldest', endedBy, max, (id) =>
        this.#database.store.update('family', id, (family) => crowdOut(family, endedBy, at)),
      );
      const before = size;
      size = await this.#database.store.size();
      const tooMuch = size - largest * targetShare;
      this.#isMakingRoom = done > 0 && tooMuch > 0;
      // Half of the estimate from the trees removed so far, because the next ones may be larger.
      max = Math.ceil((tooMuch * done) / Math.max(1, before - size) / 2);
      max = Math.min(atOnce, Math.max(1, max));
      if (this.#isMakingRoom && this.#isInterrupted) return;
    }
    const wasOverfull = this.#isOverfull;
    this.#isOverfull = size > largest;
    if (this.#isOverfull && !wasOverfull)
      this.#settings.observer.overfull({ at: this.#clock.now(), size, largest });
  }

  /** True if a new round is due, where deadlines come first again, or if the worker stops. */
  get #isInterrupted(): boolean {
    return this.#again || this.#stopped;
  }

  async #all(what: Due, act: (id: TaskId, now: number) => Promise<unknown>): Promise<void> {
    for (;;) {
      const now = this.#clock.now();
      const done = await this.#some(what, now, atOnce, (id) => act(id, now));
      if (done === 0 || this.#isInterrupted) return;
    }
  }

  /** Returns how many were handled. Trees are handled one by one, because each may contain thousands of tasks. */
  async #some(what: Due, until: number, max: number, act: (id: TaskId) => Promise<unknown>): Promise<number> {
    const due = await this.#database.store.due(what, until, max + this.#corrupt.size);
    const single: TaskId[] = [];
    let done = 0;
    for (const id of this.#withoutCorrupt(due).slice(0, max)) {
      const children = await this.#one(id, () => this.#database.store.childIds(id));
      if (children?.value.length === 0) single.push(id);
      else if (children && (await this.#one(id, act))) done++;
    }
    for (const one of await Promise.allSettled(single.map((id) => this.#one(id, act)))) {
      if (one.status === 'rejected') throw one.reason;
      if (one.value) done++;
    }
    return done;
  }

  #withoutCorrupt(ids: readonly TaskId[]): TaskId[] {
    const now = this.#clock.now();
    const skipped = new Set(this.#corrupt.skipped(now));
    return ids.filter((id) => !skipped.has(id));
  }

  /** Undefined if the rule refused, for example because another process was faster, or if the task is corrupt. */
  async #one<T>(id: TaskId, act: (id: TaskId) => Promise<T>): Promise<{ readonly value: T } | undefined> {
    try {
      return { value: await act(id) };
    } catch (error) {
      if (error instanceof TaskCorrupt) this.#corrupt.add(id, this.#clock.now());
      else if (!(error instanceof Refusal)) throw error;
      return undefined;
    }
  }
}

/** The process is alive but could not confirm its request in time: the machine slept, or the event loop was blocked. */
function stillServed(task: Task, server: string | undefined, now: number): Verdict | undefined {
  const { servedBy, deadlineAt } = task.unpublished ?? {};
  if (server === undefined || servedBy !== server) return undefined;
  if (typeof deadlineAt === 'number' && deadlineAt <= now) return undefined;
  return keepForRequest(task, { servedBy: server, until: now + requestLeaseMs }, now);
}

function orphaned({ tool, toolVersion }: Task): string {
  return `Waiting for a worker with ${tool} version ${toolVersion}: no worker has claimed this task so far.`;
}

// --- Tasks of requests whose process died -------------------------------------------------------------------

/** Cancels an unpublished tree that no call can join if the process that served its request is dead. */
export async function endIfAbandoned({ store, queue }: Database, task: Task, clock: Clock): Promise<boolean> {
  const root = task.parentId === undefined ? task : await store.get(task.rootId);
  const { servedBy, join } = root?.unpublished ?? {};
  if (join) return false;
  // A request that this process serves itself needs no check.
  if (typeof servedBy !== 'string' || servedBy === queue.name || (await queue.isAlive(servedBy)))
    return false;
  const reason = 'The process that served the request died before the task was published.';
  const cancelled = store.update('family', task.rootId, (family) => cancel(family, clock.now(), reason));
  await cancelled.catch(ignoringRefusals);
  return true;
}
