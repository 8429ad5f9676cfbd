/**
 * Ends what is past its deadline, removes what is past its retention, of the audit log too, or more than the store should
 * hold, explains what nobody takes, leaves out of histories what nobody needs; a few at a time, so that traffic never waits for long behind it.
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
/** What is not urgent is done once in this time. */
const minuteMs = 60_000;
/** A task that has been ready for so long without being claimed is explained to whoever looks. */
const orphanedMs = 60_000;
const atOnce = 20;
const prunedAtOnce = 500;
/** For so long histories hold passes that did nothing: whoever follows the commits of a store has read them by then. */
const keepIdleMs = 3_600_000;
const leftOutAtOnce = 200;
/** A store that is too large is brought down to this part of its largest size, so that there is room for a while. */
const enough = 0.9;

export class Housekeeping {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #tools: readonly ToolVersion[];
  readonly #settings: WorkerSettings;
  readonly #damaged = new CorruptTasks();
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
      () => this.#endLate(),
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
    // Each on its own: what fails in one of them must not keep the others from being done.
    for (const kind of kinds)
      await kind().catch((error: unknown) => {
        // A store that cannot be used now has reported it, and is tried again in the next round.
        if (!(error instanceof StoreError)) defects.push(error);
      });
    if (defects.length > 0) throw defects[0];
  }

  #endLate(): Promise<void> {
    return this.#all('deadline', async (id, now) => {
      const server = await this.#livingServer(id);
      await this.#database.store.update(
        'family',
        id,
        (family) => stillServed(family.task, server, now) ?? passDeadline(family, now),
      );
    });
  }

  /** The process that serves the request of an unpublished task, if it lives. */
  async #livingServer(id: TaskId): Promise<string | undefined> {
    const servedBy = (await this.#database.store.get(id))?.unpublished?.servedBy ?? undefined;
    return servedBy !== undefined && (await this.#database.queue.isAlive(servedBy)) ? servedBy : undefined;
  }

  async #explainOrphans(now: number): Promise<void> {
    const orphans = await this.#database.queue.orphans(
      this.#tools,
      now - orphanedMs,
      atOnce + this.#damaged.size,
    );
    const act = (id: TaskId) =>
      this.#database.store.update('task', id, (task) => explain(task, orphaned(task), now));
    for (const id of this.#sound(orphans).slice(0, atOnce)) await this.#one(id, act);
  }

  async #pruneAudit(now: number): Promise<void> {
    const before = now - this.#settings.auditRetentionMs;
    if (!Number.isFinite(before)) return;
    const { audit } = this.#database;
    while (!this.#stopped && (await audit.prune(before, prunedAtOnce)) === prunedAtOnce);
  }

  /** A task that polls every second for a month must not leave millions of commits behind. */
  async #leaveOutIdle(now: number): Promise<void> {
    const { store } = this.#database;
    while (!this.#stopped && (await store.leaveOut(now - keepIdleMs, leftOutAtOnce)) === leftOutAtOnce);
  }

  /** Those that ended first go first. What is alive is never touched, nor a result that somebody may be about to fetch. */
  async #makeRoom(): Promise<void> {
    const { maxStoreSize: largest, minRetention } = this.#settings.limits;
    if (largest === Number.POSITIVE_INFINITY) return;
    let size = await this.#database.store.size();
    this.#isMakingRoom = size > (this.#isMakingRoom ? largest * enough : largest);
    for (let most = 1; this.#isMakingRoom; ) {
      const at = this.#clock.now();
      const endedBy = at - minRetention;
      const done = await this.#some('oldest', endedBy, most, (id) =>
        this.#database.store.update('family', id, (family) => crowdOut(family, endedBy, at)),
      );
      const before = size;
      size = await this.#database.store.size();
      const tooMuch = size - largest * enough;
      this.#isMakingRoom = done > 0 && tooMuch > 0;
      // Half of what should be enough, going by those that went: the next may be larger.
      most = Math.ceil((tooMuch * done) / Math.max(1, before - size) / 2);
      most = Math.min(atOnce, Math.max(1, most));
      if (this.#isMakingRoom && this.#isInterrupted) return;
    }
    const wasOverfull = this.#isOverfull;
    this.#isOverfull = size > largest;
    if (this.#isOverfull && !wasOverfull)
      this.#settings.observer.overfull({ at: this.#clock.now(), size, largest });
  }

  /** A second has passed, and what has a deadline comes first again; or all is over. */
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

  /** How many it took care of. Trees go one by one, because each may hold thousands of tasks. */
  async #some(
    what: Due,
    until: number,
    most: number,
    act: (id: TaskId) => Promise<unknown>,
  ): Promise<number> {
    const due = await this.#database.store.due(what, until, most + this.#damaged.size);
    const single: TaskId[] = [];
    let done = 0;
    for (const id of this.#sound(due).slice(0, most)) {
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

  #sound(ids: readonly TaskId[]): TaskId[] {
    const now = this.#clock.now();
    const leftAlone = new Set(this.#damaged.skipped(now));
    return ids.filter((id) => !leftAlone.has(id));
  }

  /** Undefined if nothing came of it: another process was faster, or what is stored of the task is damaged. */
  async #one<T>(id: TaskId, act: (id: TaskId) => Promise<T>): Promise<{ readonly value: T } | undefined> {
    try {
      return { value: await act(id) };
    } catch (error) {
      if (error instanceof TaskCorrupt) this.#damaged.add(id, this.#clock.now());
      else if (!(error instanceof Refusal)) throw error;
      return undefined;
    }
  }
}

/** Its process lives, and was only kept from saying so: the machine slept, or the event loop was busy. */
function stillServed(task: Task, server: string | undefined, now: number): Verdict | undefined {
  const { servedBy, deadlineAt } = task.unpublished ?? {};
  if (server === undefined || servedBy !== server) return undefined;
  if (typeof deadlineAt === 'number' && deadlineAt <= now) return undefined;
  return keepForRequest(task, { servedBy: server, until: now + requestLeaseMs }, now);
}

function orphaned({ tool, toolVersion }: Task): string {
  return `Waiting for a worker that knows ${tool} version ${toolVersion}: none has taken this task so far.`;
}

// --- Tasks of requests whose process died -------------------------------------------------------------------

/** Cancels the tree of a task that nobody knows or can join, if the process that served its request is dead. */
export async function endIfAbandoned({ store, queue }: Database, task: Task, clock: Clock): Promise<boolean> {
  const root = task.parentId === undefined ? task : await store.get(task.rootId);
  const { servedBy, join } = root?.unpublished ?? {};
  if (join) return false;
  // What this process serves itself needs no looking.
  if (typeof servedBy !== 'string' || servedBy === queue.name || (await queue.isAlive(servedBy)))
    return false;
  const reason = 'The process that served the request died before the task was published.';
  const cancelled = store.update('family', task.rootId, (family) => cancel(family, clock.now(), reason));
  await cancelled.catch(ignoringRefusals);
  return true;
}
