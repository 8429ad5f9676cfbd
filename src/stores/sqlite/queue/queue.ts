/** The `Queue` on SQLite: ready tasks are an index on their rows, and locks tell whether their holders are alive. */

import type { TaskId } from '../../../model/task.ts';
import type { Backlog, Claim, FreedWorker, Queue, ToolVersion } from '../../../ports/queue.ts';
import type { ClaimQuery } from '../../../ports/store.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { WorkListeners } from '../../shared/work-listeners.ts';
import { type Connection, wording } from '../driver.ts';
import type { Feed } from '../tasks/feed.ts';
import type { GroupCommit } from '../tasks/group-commit.ts';
import { FairOrder } from './fair-order.ts';
import { type HeldRow, Leases } from './leases.ts';
import type { Instance } from './process-liveness.ts';

/** A claim of a killed process must be free within a second. */
const lookForDeadMs = 300;
/** Leases that run out, and anything a watcher missed. */
const netMs = 1_000;
/** So many owners are asked for their longest ready task. */
const mostOwners = 1_000;

/** A task that looks claimable, with the evidence against its previous holder. */
export interface ReadyTask {
  readonly taskId: TaskId;
  readonly freed?: FreedWorker;
}

interface HolderRow extends HeldRow {
  readonly holder: string;
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
  readonly #turns: FairOrder;
  readonly #sql: ReturnType<typeof prepare>;
  readonly #leases = new Leases(2 * netMs);
  readonly #listeners: WorkListeners;
  /** Holders seen alive at the last look. */
  #alive = new Set<string>();
  /** Leases may have expired, or a holder died, since held tasks were last looked at. */
  #looksAtHeld = true;
  /** Tasks whose holder was found freed then, and that were not selected since. */
  #freed: (HolderRow & { readonly freed: FreedWorker })[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#turns = new FairOrder(parts.db);
    this.#sql = prepare(parts.db);
    this.#listeners = new WorkListeners(parts.clock, () => {
      // Workers that come and go faster than the timers below must see leases expire, too.
      this.#looksAtHeld = true;
      return [
        parts.feed.onStir(() => this.#listeners.tell()),
        this.#listeners.every(netMs, () => this.#lookAtHeld()),
        this.#listeners.every(lookForDeadMs, () => this.#lookForDead()),
      ];
    });
  }

  get name(): string {
    return this.#parts.instance.name;
  }

  async isAlive(name: string): Promise<boolean> {
    return this.#parts.instance.isAlive(name);
  }

  /** Tasks to claim, owners taking turns. The rule decides again in the transaction that claims them. */
  async select({ tools, limit, running, except }: ClaimQuery): Promise<ReadyTask[]> {
    return wording(this.#parts.file, async () => {
      const freed = this.#takeFreed(tools, limit, new Set([...running, ...except]));
      const slots = limit - freed.length;
      if (slots <= 0) return freed;
      const isFree = ({ taskId }: ReadyTask) => !except.has(taskId);
      let ready = await this.#selectReady(tools, slots);
      // Tasks that are not to be claimed stay ready, and may come before all others.
      if (!ready.every(isFree)) ready = await this.#selectReady(tools, slots + except.size);
      // Another process may have moved a task between two look-ups, so that both found it.
      const found = [...freed, ...ready.filter(isFree).slice(0, slots)];
      return [...new Map(found.map((one) => [one.taskId, one])).values()];
    });
  }

  async #selectReady(tools: readonly ToolVersion[], limit: number): Promise<ReadyTask[]> {
    const now = this.#parts.clock.now();
    const due = this.#turns.due(tools, now, limit);
    let ready = this.#turns.next(tools, limit);
    if (due.length + ready.length < limit) this.#expectTimers(tools, now);
    // Where there is more work than slots, tasks that slept wait in line with the others.
    if (due.length > 0 && due.length + ready.length > limit) {
      await this.#parts.commands.submit(() => this.#turns.enqueueDue(tools, now));
      ready = this.#turns.next(tools, limit);
    } else ready = [...due, ...ready].sort((a, b) => a.wake_at - b.wake_at);
    return ready.map(({ id }) => ({ taskId: id }));
  }

  async orphans(tools: readonly ToolVersion[], readySince: number, limit: number): Promise<TaskId[]> {
    const known = JSON.stringify(tools.map(({ tool, version }) => `${tool} ${version}`));
    const values = [readySince, known];
    return wording(this.#parts.file, () => {
      const rows = this.#sql.orphaned.all(...values, ...values, limit) as unknown as { id: TaskId }[];
      return rows.map(({ id }) => id);
    });
  }

  async backlog(tools: readonly ToolVersion[], most: number): Promise<Backlog> {
    return wording(this.#parts.file, () => {
      const now = this.#parts.clock.now();
      const ready = tools.map(
        ({ tool, version }) =>
          this.#sql.unclaimed.get(tool, version, most, tool, version, now, most)?.ready as number,
      );
      const moments = tools.flatMap(({ tool, version: v }) => {
        const given = [tool, v, tool, v, mostOwners, tool, v, tool, v, now] as const;
        return (this.#sql.unclaimedSince.get(...given)?.since as number | null) ?? [];
      });
      return {
        ready: Math.min(
          most,
          ready.reduce((sum, count) => sum + count, 0),
        ),
        readySince: moments.length > 0 ? Math.min(...moments) : null,
        waiting: (this.#sql.waiting.get(most) as { waiting: number }).waiting,
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
      // A dead holder must not keep other suspects waiting, even if no worker can take over its task.
      const alone = this.#sql.aloneIn.get() as { holder: string | null } | undefined;
      if (alone && !this.#isAlive(alone.holder)) this.#sql.forgetAlone.run();
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
    // While nobody listens nothing tells when to look.
    if (this.#looksAtHeld || this.#listeners.areNone) this.#freed = this.#findFreed();
    if (this.#freed.length === 0) return [];
    const known = new Set(tools.map(({ tool, version }) => `${tool} ${version}`));
    const isTaken = ({ id, tool, tool_version }: HolderRow) =>
      !except.has(id) && known.has(`${tool} ${tool_version}`);
    const taken = this.#freed.filter(isTaken).slice(0, limit);
    this.#freed = this.#freed.filter((row) => !taken.includes(row));
    return taken.map(({ id, freed }) => ({ taskId: id, freed }));
  }

  /** Tasks whose holder is dead, or let its lease expire. Held tasks are few, and looked at one by one. */
  #findFreed() {
    if (this.#listeners.areNone) this.#alive.clear();
    this.#looksAtHeld = false;
    const rows = this.#sql.held.all() as unknown as HolderRow[];
    const expired = this.#leases.expired(rows, this.#parts.clock.monotonic());
    return rows.flatMap((row) => {
      const freed = this.#freedHolder(row, expired.has(row.id));
      return freed ? [{ ...row, freed }] : [];
    });
  }

  #freedHolder({ holder: name, lease_until }: HolderRow, isExpired: boolean): FreedWorker | undefined {
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
    if (this.#listeners.areNone) return;
    const times = tools.map(
      ({ tool, version }) => this.#sql.next.get(tool, version, now)?.wake_at as number | null,
    );
    this.#listeners.tellAt(Math.min(...times.map((time) => time ?? Number.POSITIVE_INFINITY)));
  }

  #lookForDead(): void {
    const before = this.#alive;
    this.#alive = new Set(this.#parts.instance.others().filter((name) => this.#parts.instance.isAlive(name)));
    if ([...before].some((name) => !this.#alive.has(name))) this.#lookAtHeld();
  }

  #lookAtHeld(): void {
    this.#looksAtHeld = true;
    this.#listeners.tell();
  }
}

function prepare(db: Connection) {
  const orphaned = (index: string, kind: string) => `
    select id from tasks indexed by ${index}
    where ${kind} and holder is null and wake_at is not null and wake_at <= ?
      and tool || ' ' || tool_version not in (select value from json_each(?))`;
  const inTurn = `from tasks indexed by tasks_in_turn
    where tool = ? and tool_version = ? and ready is not null and holder is null`;
  const due = `from tasks indexed by tasks_sleeping
    where tool = ? and tool_version = ? and ready is null and holder is null
      and wake_at is not null and wake_at <= ?`;
  return {
    held: db.prepare(`
      select id, epoch, holder, lease_until, lease_ms, tool, tool_version from tasks indexed by tasks_held
      where holder is not null`),
    orphaned: db.prepare(`
      ${orphaned('tasks_in_turn', 'ready is not null')}
      union all ${orphaned('tasks_sleeping', 'ready is null')} limit +?`),
    next: db.prepare(`
      select min(wake_at) as wake_at from tasks indexed by tasks_sleeping
      where tool = ? and tool_version = ? and ready is null and holder is null and wake_at > ?`),
    unclaimed: db.prepare(`
      select count(*) as ready from (
        select * from (select 1 ${inTurn} limit +?) union all select 1 ${due} limit +?)`),
    // Ready tasks are in order for each owner only: one look-up finds the next owner, another its longest ready task.
    unclaimedSince: db.prepare(`
      with recursive owners (owner) as (
        select min(owner) ${inTurn}
        union all
        select (select min(owner) ${inTurn} and owner > owners.owner) from owners where owners.owner is not null
        limit +?)
      select min(since) as since from (
        select (select min(wake_at) ${inTurn} and owner = owners.owner) as since from owners
        union all select min(wake_at) ${due})`),
    // It changes with every renewal, even if the clock stands still or goes back: that is how others see it.
    renew: db.prepare(`
      update tasks set lease_until = max(lease_until + 1, ?), lease_ms = ?
      where id = ? and epoch = ? and holder is not null`),
    aloneIn: db.prepare('select holder from tasks where alone is not null'),
    forgetAlone: db.prepare('update tasks set alone = null where alone is not null'),
    isolate: db.prepare(`
      update tasks set alone = 1 where id = ? and epoch = ? and holder is not null
        and not exists (select 1 from tasks as other where other.alone is not null and other.seq <> tasks.seq)`),
    waiting: db.prepare(
      'select count(*) as waiting from (select 1 from tasks where waiting is not null limit +?)',
    ),
  };
}
