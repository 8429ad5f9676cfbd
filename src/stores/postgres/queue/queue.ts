/** The `Queue` on Postgres: available work, leases, and dead processes. */

import type { TaskId } from '../../../model/task.ts';
import type { Backlog, Claim, Queue, ToolVersion } from '../../../ports/queue.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { WorkListeners } from '../../shared/work-listeners.ts';
import { prepared } from '../connections/driver.ts';
import type { Connections } from '../connections/pool.ts';
import { named, name as stored } from '../encryption/cells.ts';
import type { Feed } from '../tasks/feed.ts';
import type { RowCache } from '../tasks/row-cache.ts';
import type { Liveness } from './process-liveness.ts';
import { columnsOf, type Expected, serverNow } from './ready-tasks.ts';

/** How often workers are notified without a reason, to find expired leases and missed notifications. In ms. */
const pollMs = 1_000;
/** `backlog` searches at most this many owners for the task that has been ready longest. */
const maxOwners = 1_000;

interface Parts {
  readonly connections: Connections;
  readonly feed: Feed;
  readonly liveness: Liveness;
  readonly clock: Clock;
  readonly schema: string;
  readonly cache: RowCache;
}

export class PostgresQueue implements Queue {
  /**
   * In milliseconds. Shorter than the default: if a worker has no lock (`process-liveness.ts`), only its expired lease
   * shows that it is dead.
   */
  readonly usualLeaseMs = 10_000;
  readonly #parts: Parts;
  readonly #sql: ReturnType<typeof statements>;
  readonly #listeners: WorkListeners;
  /** When a claim last checked claimed tasks; on the monotonic clock. */
  #claimedCheckedAt = Number.NEGATIVE_INFINITY;
  /** When the next lease expires; on the monotonic clock. */
  #leaseAt = Number.POSITIVE_INFINITY;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sql = statements(parts.schema);
    const notify = () => this.#listeners.notify();
    this.#listeners = new WorkListeners(parts.clock, () => [
      parts.feed.onWork(notify),
      this.#listeners.every(pollMs, notify),
    ]);
    parts.liveness.onMissed(() => {
      // A process may have died, so the next claim checks claimed tasks.
      this.#claimedCheckedAt = Number.NEGATIVE_INFINITY;
      notify();
    });
  }

  get name(): string {
    return this.#parts.liveness.name;
  }

  isAlive(name: string, certainty?: 'certain'): Promise<boolean> {
    return this.#parts.liveness.isAlive(name, certainty);
  }

  /**
   * Whether this claim must check claimed tasks, because leases may have expired or processes may have died. If it
   * returns true, it records that the check is done, so call it only once for each claim.
   */
  checksClaimed(): boolean {
    const now = this.#parts.clock.monotonic();
    const isTime = now >= this.#claimedCheckedAt + pollMs || now >= this.#leaseAt;
    if (!this.#listeners.isEmpty && !isTime) return false;
    this.#claimedCheckedAt = now;
    return true;
  }

  /** Schedules a notification of the listeners for when the next timer is due or the next lease expires. */
  expect({ timerAt, leaseMs }: Expected): void {
    const { clock } = this.#parts;
    if (this.#listeners.isEmpty) return;
    if (leaseMs !== undefined) this.#leaseAt = clock.monotonic() + leaseMs;
    const now = clock.now();
    const timer = timerAt > now ? timerAt : Number.POSITIVE_INFINITY;
    this.#listeners.notifyAt(Math.min(timer, now + this.#leaseAt - clock.monotonic()));
  }

  async orphans(tools: readonly ToolVersion[], readySince: number, limit: number): Promise<TaskId[]> {
    const rows = await this.#parts.connections.query<{ id: string }>(this.#sql.orphans, [
      ...columnsOf(tools),
      readySince,
      limit,
    ]);
    return rows.map(({ id }) => named(id));
  }

  async renew(claims: readonly Claim[], leaseMs: number): Promise<Claim[]> {
    if (claims.length === 0) return [];
    const rows = await this.#parts.connections.query<{ id: string; epoch: number }>(this.#sql.renew, [
      claims.map(({ taskId }) => stored(taskId)),
      claims.map(({ epoch }) => epoch),
      leaseMs,
    ]);
    const kept = new Map(rows.map(({ id, epoch }) => [named(id), epoch]));
    // The update gave the rows new versions, perhaps after writes of other processes.
    for (const { taskId } of claims) this.#parts.cache.delete(taskId);
    return claims.filter(({ taskId, epoch }) => kept.get(taskId) !== epoch);
  }

  async isolate({ taskId, epoch }: Claim): Promise<boolean> {
    const { connections, liveness } = this.#parts;
    await connections.query(this.#sql.forgetAlone, [liveness.dead.map(stored)]);
    const rows = await connections.query(this.#sql.isolate, [stored(taskId), epoch]);
    // The update gave the row a new version.
    this.#parts.cache.delete(taskId);
    return rows.length === 1;
  }

  async backlog(tools: readonly ToolVersion[], limit: number): Promise<Backlog> {
    const [row] = await this.#parts.connections.query<{
      ready: number;
      since: number | null;
      waiting: number;
    }>(this.#sql.backlog, [...columnsOf(tools), this.#parts.clock.now(), limit]);
    const { ready, since, waiting } = row!;
    return { ready: Math.min(limit, ready), readySince: since, waiting };
  }

  onWork(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  close(): void {
    this.#listeners.close();
  }
}

function statements(schema: string) {
  const tasks = `${schema}.tasks`;
  // Pairs of tool and version.
  const kinds = 'unnest($1::text[], $2::text[]) as kind (tool, version)';
  const ofKind = 't.tool = kind.tool and t.tool_version = kind.version';
  const isReady = 't.ready and t.worker is null';
  // $3 is the time of the query, and $4 in the statements below is their limit.
  const isDue = 'not t.ready and t.wake_at is not null and t.wake_at <= $3 and t.worker is null';
  const orphans = (which: string) => `
    select t.id from ${tasks} t where ${which} and t.wake_at <= $3
      and not exists (select 1 from ${kinds} where ${ofKind})`;
  return prepared({
    orphans: `(${orphans(isReady)} limit $4) union all (${orphans(isDue)} limit $4) limit $4`,
    renew: `
      with claimed as (
        select t.seq from unnest($1::text[], $2::integer[]) as claims (id, epoch)
        join ${tasks} t on t.id = claims.id and t.epoch = claims.epoch
        where t.worker is not null order by t.seq for update of t)
      update ${tasks} t set lease_until = ${serverNow} + $3, deserted = false
      from claimed where t.seq = claimed.seq
      returning t.id, t.epoch`,
    // A task that must run alone reserves that right with `alone`. Releases it if its worker is dead, even if no worker
    // can take over the task: otherwise no other task could run alone.
    forgetAlone: `
      update ${tasks} set alone = null where alone and (worker is null or deserted or worker = any($1::text[]))`,
    isolate: `
      update ${tasks} t set alone = true
      where t.id = $1 and t.epoch = $2 and t.worker is not null
        and not exists (select 1 from ${tasks} other where other.alone and other.seq <> t.seq)
      returning 1`,
    // The index orders ready tasks per owner: one look-up finds the next owner, another its oldest ready task.
    backlog: `
      with recursive owners as (
        select kind.tool, kind.version, o.owner, 1 as n from ${kinds} cross join lateral (
          select min(t.owner) as owner from ${tasks} t where ${ofKind} and ${isReady}) o
        where o.owner is not null
        union all
        select o.tool, o.version, n.owner, o.n + 1 from owners o cross join lateral (
          select min(t.owner) as owner from ${tasks} t
          where t.tool = o.tool and t.tool_version = o.version and t.owner > o.owner and ${isReady}) n
        where o.n < ${maxOwners} and n.owner is not null),
      times as (
        select (select min(t.wake_at) from ${tasks} t
          where t.tool = o.tool and t.tool_version = o.version and t.owner = o.owner and ${isReady}) as since
        from owners o
        union all
        select min(t.wake_at) from ${tasks} t join ${kinds} on ${ofKind} where ${isDue}
        union all
        select min(t.wake_at) from ${tasks} t join ${kinds} on ${ofKind}
        where t.worker is not null and t.lease_until <= ${serverNow})
      select (select min(since) from times) as since,
        (select count(*) from (
          select r.one from ${kinds} cross join lateral (
            (select 1 as one from ${tasks} t where ${ofKind} and ${isReady} limit $4)
            union all (select 1 from ${tasks} t where ${ofKind} and ${isDue} limit $4)
            union all (select 1 from ${tasks} t where ${ofKind} and t.worker is not null and t.lease_until <= ${serverNow} limit $4)) r
          limit $4) counted) as ready,
        (select count(*) from (select 1 from ${tasks} where waiting limit $4) w) as waiting`,
  });
}
