/** The `Queue` on SQLite: an index contains the ready tasks, and file locks show which workers are alive. */

import type { TaskId } from '../../../model/task.ts';
import type { Backlog, Claim, FreedWorker, Queue, ToolVersion } from '../../../ports/queue.ts';
import type { ClaimQuery } from '../../../ports/store.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { WorkListeners } from '../../shared/work-listeners.ts';
import { type Connection, withStoreErrors } from '../driver.ts';
import type { Feed } from '../tasks/feed.ts';
import type { GroupCommit } from '../tasks/group-commit.ts';
import { FairOrder } from './fair-order.ts';
import { type LeaseRow, Leases } from './leases.ts';
import type { Instance } from './process-liveness.ts';

/** Tasks of a killed process must become claimable within a second. */
const checkAliveMs = 300;
/** Finds expired leases, and anything that a file watch missed. */
const pollMs = 1_000;
/** How many owners are searched for the task that has been ready longest. */
const maxOwners = 1_000;

/** A task that is probably claimable. `freed` is the evidence that its previous worker lost it. */
export interface ReadyTask {
  readonly taskId: TaskId;
  readonly freed?: FreedWorker;
}

interface ClaimedRow extends LeaseRow {
  readonly worker: string;
  readonly tool: string;
  readonly tool_version: string;
}

interface Parts {
  readonly db: Connection;
  readonly commands: GroupCommit;
  readonly feed: Feed;
  readonly instance: Instance;
  readonly clock: Clock;
  readonly file: string;
}

export class SqliteQueue implements Queue {
  readonly #parts: Parts;
  readonly #fairOrder: FairOrder;
  readonly #sql: ReturnType<typeof prepare>;
  readonly #leases = new Leases(2 * pollMs);
  readonly #listeners: WorkListeners;
  /** Workers that were alive at the last check. */
  #alive = new Set<string>();
  /** True if leases may have expired or workers may have died since claimed tasks were last checked. */
  #mustCheckClaimed = true;
  /** Tasks that lost their worker at the last check and were not selected since. */
  #freed: (ClaimedRow & { readonly freed: FreedWorker })[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#fairOrder = new FairOrder(parts.db);
    this.#sql = prepare(parts.db);
    this.#listeners = new WorkListeners(parts.clock, () => {
      // Workers that start and stop faster than the timers below must also see leases expire.
      this.#mustCheckClaimed = true;
      return [
        parts.feed.onWork(() => this.#listeners.notify()),
        this.#listeners.every(pollMs, () => this.#checkClaimed()),
        this.#listeners.every(checkAliveMs, () => this.#checkAlive()),
      ];
    });
  }

  get name(): string {
    return this.#parts.instance.name;
  }

  async isAlive(name: string): Promise<boolean> {
    return this.#parts.instance.isAlive(name);
  }

  /** Selects tasks to claim; owners take turns. The rule checks them again in the transaction that claims them. */
  async select({ tools, limit, running, except }: ClaimQuery): Promise<ReadyTask[]> {
    return withStoreErrors(this.#parts.file, async () => {
      const freed = this.#takeFreed(tools, limit, new Set([...running, ...except]));
      const slots = limit - freed.length;
      if (slots <= 0) return freed;
      const isFree = ({ taskId }: ReadyTask) => !except.has(taskId);
      let ready = await this.#selectReady(tools, slots);
      // Excluded tasks stay ready and may come before all others.
      if (!ready.every(isFree)) ready = await this.#selectReady(tools, slots + except.size);
      // Another process may have moved a task between two reads, so that both found it.
      const found = [...freed, ...ready.filter(isFree).slice(0, slots)];
      return [...new Map(found.map((one) => [one.taskId, one])).values()];
    });
  }

  async #selectReady(tools: readonly ToolVersion[], limit: number): Promise<ReadyTask[]> {
    const now = this.#parts.clock.now();
    const due = this.#fairOrder.due(tools, now, limit);
    let ready = this.#fairOrder.next(tools, limit);
    if (due.length + ready.length < limit) this.#expectTimers(tools, now);
    // If there are more tasks than slots, tasks with due timers take part in the turns.
    if (due.length > 0 && due.length + ready.length > limit) {
      await this.#parts.commands.submit(() => this.#fairOrder.enqueueDue(tools, now));
      ready = this.#fairOrder.next(tools, limit);
    } else ready = [...due, ...ready].sort((a, b) => a.wake_at - b.wake_at);
    return ready.map(({ id }) => ({ taskId: id }));
  }

  async orphans(tools: readonly ToolVersion[], readySince: number, limit: number): Promise<TaskId[]> {
    const known = JSON.stringify(tools.map(({ tool, version }) => `${tool} ${version}`));
    const values = [readySince, known];
    return withStoreErrors(this.#parts.file, () => {
      const rows = this.#sql.orphaned.all(...values, ...values, limit) as unknown as { id: TaskId }[];
      return rows.map(({ id }) => id);
    });
  }

  async backlog(tools: readonly ToolVersion[], limit: number): Promise<Backlog> {
    return withStoreErrors(this.#parts.file, () => {
      const now = this.#parts.clock.now();
      const ready = tools.map(
        ({ tool, version }) =>
          this.#sql.unclaimed.get(tool, version, limit, tool, version, now, limit)?.ready as number,
      );
      const moments = tools.flatMap(({ tool, version: v }) => {
        const given = [tool, v, tool, v, maxOwners, tool, v, tool, v, now] as const;
        return (this.#sql.unclaimedSince.get(...given)?.since as number | null) ?? [];
      });
      return {
        ready: Math.min(
          limit,
          ready.reduce((sum, count) => sum + count, 0),
        ),
        readySince: moments.length > 0 ? Math.min(...moments) : null,
        waiting: (this.#sql.waiting.get(limit) as { waiting: number }).waiting,
      };
    });
  }

  renew(claims: readonly Claim[], leaseMs: number): Promise<Claim[]> {
    return this.#parts.commands.submit(() => {
      const now = this.#parts.clock.now();
      const isRenewed = ({ taskId, epoch }: Claim) =>
        this.#sql.renew.run(now + leaseMs, leaseMs, taskId, epoch).changes === 1;
      return claims.filter((claim) => !isRenewed(claim));
    });
  }

  isolate({ taskId, epoch }: Claim): Promise<boolean> {
    return this.#parts.commands.submit(() => {
      // A dead worker must not block other suspects, even if no worker can take over its task.
      const alone = this.#sql.isolatedWorker.get() as { worker: string | null } | undefined;
      if (alone && !this.#isAlive(alone.worker)) this.#sql.endIsolation.run();
      return this.#sql.isolate.run(taskId, epoch).changes === 1;
    });
  }

  onWork(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  close(): void {
    this.#listeners.close();
  }

  #takeFreed(tools: readonly ToolVersion[], limit: number, except: ReadonlySet<TaskId>): ReadyTask[] {
    // Without listeners no timer triggers this check.
    if (this.#mustCheckClaimed || this.#listeners.isEmpty) this.#freed = this.#findFreed();
    if (this.#freed.length === 0) return [];
    const known = new Set(tools.map(({ tool, version }) => `${tool} ${version}`));
    const isTaken = ({ id, tool, tool_version }: ClaimedRow) =>
      !except.has(id) && known.has(`${tool} ${tool_version}`);
    const taken = this.#freed.filter(isTaken).slice(0, limit);
    this.#freed = this.#freed.filter((row) => !taken.includes(row));
    return taken.map(({ id, freed }) => ({ taskId: id, freed }));
  }

  /** Tasks whose worker is dead or whose lease has expired. Claimed tasks are few, so each is checked. */
  #findFreed() {
    if (this.#listeners.isEmpty) this.#alive.clear();
    this.#mustCheckClaimed = false;
    const rows = this.#sql.claimed.all() as unknown as ClaimedRow[];
    const expired = this.#leases.expired(rows, this.#parts.clock.monotonic());
    return rows.flatMap((row) => {
      const freed = this.#freedWorker(row, expired.has(row.id));
      return freed ? [{ ...row, freed }] : [];
    });
  }

  #freedWorker({ worker: name, lease_until }: ClaimedRow, isExpired: boolean): FreedWorker | undefined {
    if (!this.#isKnownAlive(name)) return { name };
    return isExpired ? { name, leaseUntil: lease_until } : undefined;
  }

  #isAlive(name: string | null): boolean {
    return name !== null && (name === this.#parts.instance.name || this.#parts.instance.isAlive(name));
  }

  #isKnownAlive(name: string): boolean {
    if (name === this.#parts.instance.name || this.#alive.has(name)) return true;
    if (!this.#parts.instance.isAlive(name)) return false;
    this.#alive.add(name);
    return true;
  }

  #expectTimers(tools: readonly ToolVersion[], now: number): void {
    if (this.#listeners.isEmpty) return;
    const times = tools.map(
      ({ tool, version }) => this.#sql.next.get(tool, version, now)?.wake_at as number | null,
    );
    this.#listeners.notifyAt(Math.min(...times.map((time) => time ?? Number.POSITIVE_INFINITY)));
  }

  #checkAlive(): void {
    const before = this.#alive;
    this.#alive = new Set(this.#parts.instance.others().filter((name) => this.#parts.instance.isAlive(name)));
    if ([...before].some((name) => !this.#alive.has(name))) this.#checkClaimed();
  }

  #checkClaimed(): void {
    this.#mustCheckClaimed = true;
    this.#listeners.notify();
  }
}

function prepare(db: Connection) {
  const orphaned = (index: string, kind: string) => `
    select id from tasks indexed by ${index}
    where ${kind} and worker is null and wake_at is not null and wake_at <= ?
      and tool || ' ' || tool_version not in (select value from json_each(?))`;
  const inTurn = `from tasks indexed by tasks_in_turn
    where tool = ? and tool_version = ? and ready is not null and worker is null`;
  const due = `from tasks indexed by tasks_sleeping
    where tool = ? and tool_version = ? and ready is null and worker is null
      and wake_at is not null and wake_at <= ?`;
  return {
    claimed: db.prepare(`
      select id, epoch, worker, lease_until, lease_ms, tool, tool_version from tasks indexed by tasks_by_worker
      where worker is not null`),
    orphaned: db.prepare(`
      ${orphaned('tasks_in_turn', 'ready is not null')}
      union all ${orphaned('tasks_sleeping', 'ready is null')} limit +?`),
    next: db.prepare(`
      select min(wake_at) as wake_at from tasks indexed by tasks_sleeping
      where tool = ? and tool_version = ? and ready is null and worker is null and wake_at > ?`),
    unclaimed: db.prepare(`
      select count(*) as ready from (
        select * from (select 1 ${inTurn} limit +?) union all select 1 ${due} limit +?)`),
    // The index orders ready tasks per owner: one look-up finds the next owner, another its oldest ready task.
    unclaimedSince: db.prepare(`
      with recursive owners (owner) as (
        select min(owner) ${inTurn}
        union all
        select (select min(owner) ${inTurn} and owner > owners.owner) from owners where owners.owner is not null
        limit +?)
      select min(since) as since from (
        select (select min(wake_at) ${inTurn} and owner = owners.owner) as since from owners
        union all select min(wake_at) ${due})`),
    // Every renewal changes `lease_until`, even if the clock stops or goes back, because others detect renewals by it.
    renew: db.prepare(`
      update tasks set lease_until = max(lease_until + 1, ?), lease_ms = ?
      where id = ? and epoch = ? and worker is not null`),
    isolatedWorker: db.prepare('select worker from tasks where alone is not null'),
    endIsolation: db.prepare('update tasks set alone = null where alone is not null'),
    isolate: db.prepare(`
      update tasks set alone = 1 where id = ? and epoch = ? and worker is not null
        and not exists (select 1 from tasks as other where other.alone is not null and other.seq <> tasks.seq)`),
    waiting: db.prepare(
      'select count(*) as waiting from (select 1 from tasks where waiting is not null limit +?)',
    ),
  };
}
