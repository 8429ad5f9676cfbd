/**
 * The `Queue` on Postgres. Rows say which tasks have work; jobs of pg-boss see to it that each of them is offered to
 * one worker at a time (`dispatch.ts`). What became ready without a command (a timer came due, a lease ran out, a holder
 * died, a job went missing) gets its job from whoever looks first.
 */
import type { Backlog, Claim, FreedHolder, Queue, ToolVersion } from '../../engine/queue.ts';
import type { ClaimQuery } from '../../engine/store.ts';
import type { Clock } from '../../model/clock.ts';
import type { TaskId } from '../../model/task.ts';
import { named, name as stored } from './cells.ts';
import { byReadiness, type Dispatch, isFreed, isReady, type ReadyRow, readyColumns } from './dispatch.ts';
import { serverNow } from './dispatch-schema.ts';
import { prepared } from './driver.ts';
import type { Feed } from './feed.ts';
import type { FetchedRow } from './jobs.ts';
import type { Known } from './known.ts';
import type { Line } from './line.ts';
import type { Connections } from './pool.ts';

/** Leases that ran out, and anything that was missed. */
const netMs = 1_000;

/** A task that looks claimable, with the evidence against its previous holder. */
export interface ReadyTask {
  readonly taskId: TaskId;
  readonly freed?: FreedHolder;
}

interface Parts {
  readonly connections: Connections;
  readonly dispatch: Dispatch;
  readonly feed: Feed;
  readonly line: Line;
  readonly clock: Clock;
  readonly schema: string;
  /** Hears of tasks that were just read, and are about to be claimed. */
  readonly offered: (rows: readonly FetchedRow[]) => void;
  readonly known: Known;
}

export class PostgresQueue implements Queue {
  /** Shorter than on one machine: where a lock cannot tell that a worker is gone, others go on within 15 s. */
  readonly usualLeaseMs = 10_000;
  readonly #parts: Parts;
  readonly #dispatch: Dispatch;
  readonly #sql: ReturnType<typeof statements>;
  readonly #listeners = new Set<() => void>();
  #stopListening: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  /** When those who hold tasks were last looked at, and when the first of their leases then ends: monotonic. */
  #heldAt = Number.NEGATIVE_INFINITY;
  #leaseAt = Number.POSITIVE_INFINITY;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#dispatch = parts.dispatch;
    this.#sql = statements(parts.schema);
  }

  get name(): string {
    return this.#parts.line.name;
  }

  isAlive(name: string, certainty?: 'certain'): Promise<boolean> {
    return this.#parts.line.isAlive(name, certainty);
  }

  async select({ tools, limit, except: running }: ClaimQuery): Promise<ReadyTask[]> {
    const now = this.#parts.clock.now();
    const found: FetchedRow[] = [];
    const mine: FetchedRow[] = [];
    const add = (rows: readonly FetchedRow[]) => {
      for (const row of rows) (running.has(named(row.id)) ? mine : found).push(row);
    };
    add(await this.#dispatch.fetchBusy(tools, limit, now));
    // Jobs of tasks that run here may come first: they are given back once others were fetched.
    for (let before = -1; found.length < limit && mine.length > before; ) {
      before = mine.length;
      add(await this.#look(tools, limit, limit - found.length, now, running));
    }
    this.#dispatch.giveBack(mine);
    this.#parts.offered(found);
    return found.map((row) => this.#readyTask(row));
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
    // Their rows are others now, on top of whatever somebody else may have written there.
    for (const { taskId } of claims) this.#parts.known.delete(taskId);
    return claims.filter(({ taskId, epoch }) => kept.get(taskId) !== epoch);
  }

  async isolate({ taskId, epoch }: Claim): Promise<boolean> {
    const { connections, line } = this.#parts;
    await connections.query(this.#sql.forgetAlone, [line.dead.map(stored)]);
    const rows = await connections.query(this.#sql.isolate, [stored(taskId), epoch]);
    // Its row is another now.
    this.#parts.known.delete(taskId);
    return rows.length === 1;
  }

  async backlog(tools: readonly ToolVersion[], most: number): Promise<Backlog> {
    const [row] = await this.#parts.connections.query<{
      ready: number;
      since: number | null;
      waiting: number;
    }>(this.#sql.backlog, [...columnsOf(tools), this.#parts.clock.now(), most]);
    const { ready, since, waiting } = row!;
    return { ready: Math.min(most, ready), readySince: since, waiting };
  }

  onWork(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1)
      this.#stopListening = [this.#parts.feed.onStir(() => this.#tell()), this.#everySoOften()];
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.close();
    };
  }

  close(): void {
    this.#listeners.clear();
    for (const stop of this.#stopListening.splice(0)) stop();
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Whose lease has run out need not be known earlier than that, nor who died earlier than the next round. */
  #looksAtHeld(): boolean {
    const now = this.#parts.clock.monotonic();
    const isTime = now >= this.#heldAt + netMs || now >= this.#leaseAt;
    if (this.#listeners.size > 0 && !isTime) return false;
    this.#heldAt = now;
    return true;
  }

  async #ready(
    tools: readonly ToolVersion[],
    now: number,
    limit: number,
    looksAtHeld: boolean,
    running: ReadonlySet<TaskId>,
  ): Promise<ReadyRow[]> {
    const { connections, line } = this.#parts;
    const own = [...running].map(stored);
    const [free, freed] = await Promise.all([
      connections.query<ReadyRow>(this.#sql.free, [...columnsOf(tools), now, limit, own]),
      looksAtHeld
        ? connections.query<ReadyRow>(this.#sql.freed, [
            ...columnsOf(tools),
            now,
            line.dead.map(stored),
            limit,
            own,
          ])
        : [],
    ]);
    return [...free, ...freed].sort(byReadiness).slice(0, limit);
  }

  /** Looks at so many of those that are ready, and fetches no more than there are places left. */
  async #look(
    tools: readonly ToolVersion[],
    limit: number,
    places: number,
    now: number,
    running: ReadonlySet<TaskId>,
  ): Promise<FetchedRow[]> {
    const looksAtHeld = this.#looksAtHeld();
    const ready = await this.#ready(tools, now, limit, looksAtHeld, running);
    const [found] = await Promise.all([
      ready.length > 0 ? this.#dispatch.fetchFor(ready, tools, places, now) : [],
      ready.length < limit ? this.#expectTimers(tools, now, looksAtHeld) : undefined,
    ]);
    return found;
  }

  #readyTask({ id, holder, lease_until: leaseUntil, deserted }: FetchedRow): ReadyTask {
    const offer = { taskId: named(id) };
    if (holder === null) return offer;
    const name = named(holder);
    const isDead = deserted || this.#parts.line.dead.includes(name);
    return { ...offer, freed: isDead ? { name } : { name, leaseUntil: leaseUntil! } };
  }

  async #expectTimers(tools: readonly ToolVersion[], now: number, looksAtHeld: boolean): Promise<void> {
    if (this.#listeners.size === 0) return;
    const { connections, clock } = this.#parts;
    const [[row], leases] = await Promise.all([
      connections.query<{ next: number | null }>(this.#sql.nextTimer, [...columnsOf(tools), now]),
      looksAtHeld ? connections.query<{ left: number | null }>(this.#sql.nextLease, []) : undefined,
    ]);
    if (leases) this.#leaseAt = clock.monotonic() + (leases[0]?.left ?? Number.POSITIVE_INFINITY);
    this.#cancelTimer?.();
    const leaseAt = clock.now() + this.#leaseAt - clock.monotonic();
    const next = Math.min(row?.next ?? Number.POSITIVE_INFINITY, leaseAt);
    const isNone = next === Number.POSITIVE_INFINITY || this.#listeners.size === 0;
    this.#cancelTimer = isNone ? undefined : clock.schedule(next, () => this.#tell());
  }

  #everySoOften(): () => void {
    const { clock } = this.#parts;
    let cancel: () => void;
    const arm = () => {
      cancel = clock.schedule(clock.now() + netMs, () => {
        arm();
        this.#tell();
      });
    };
    arm();
    return () => cancel();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

function columnsOf(tools: readonly ToolVersion[]): [string[], string[]] {
  return [tools.map(({ tool }) => stored(tool)), tools.map(({ version }) => stored(version))];
}

function statements(schema: string) {
  const tasks = `${schema}.tasks`;
  const kinds = 'unnest($1::text[], $2::text[]) as kind (tool, version)';
  const ofKind = 't.tool = kind.tool and t.tool_version = kind.version';
  const free = (which: string) => `
    select r.* from ${kinds} cross join lateral (
      select ${readyColumns} from ${tasks} t
      where ${ofKind} and ${which} and t.holder is null and t.id <> all($5::text[])
      order by t.wake_at, t.seq limit $4) r`;
  const ready = 't.ready';
  const due = 'not t.ready and t.wake_at <= $3';
  const freeTimes = (which: string) => `
    select r.wake_at from ${kinds} cross join lateral (
      select t.wake_at from ${tasks} t where ${ofKind} and ${which} and t.holder is null
      order by t.wake_at limit $4) r`;
  return prepared({
    free: `
      select r.* from (${free(ready)} union all ${free(due)}) r order by r.wake_at, r.seq limit $4`,
    freed: `
      select ${readyColumns} from ${tasks} t join ${kinds} on ${ofKind}
      where t.holder is not null and ${isReady('$3')} and ${isFreed('$4')} and t.id <> all($6::text[])
      order by t.wake_at, t.seq limit $5`,
    orphans: `
      select t.id from ${tasks} t where t.wake_at <= $3 and t.holder is null
        and not exists (select 1 from ${kinds} where ${ofKind})
      limit $4`,
    renew: `
      with held as (
        select t.seq from unnest($1::text[], $2::integer[]) as claims (id, epoch)
        join ${tasks} t on t.id = claims.id and t.epoch = claims.epoch
        where t.holder is not null order by t.seq for update of t)
      update ${tasks} t set lease_until = ${serverNow} + $3, job = null, deserted = false
      from held where t.seq = held.seq
      returning t.id, t.epoch`,
    // A dead holder must not keep other suspects waiting, even if no worker can take over its task.
    forgetAlone: `
      update ${tasks} set alone = null where alone and (holder is null or deserted or holder = any($1::text[]))`,
    isolate: `
      update ${tasks} t set alone = true
      where t.id = $1 and t.epoch = $2 and t.holder is not null
        and not exists (select 1 from ${tasks} other where other.alone and other.seq <> t.seq)
      returning 1`,
    backlog: `
      select count(r.wake_at) as ready, min(r.wake_at) as since,
        (select count(*) from (select 1 from ${tasks} where waiting limit $4) w) as waiting
      from (
        ${freeTimes(ready)} union all ${freeTimes(due)}
        union all
        select t.wake_at from ${tasks} t join ${kinds} on ${ofKind}
        where t.holder is not null and t.lease_until <= ${serverNow}) r`,
    nextTimer: `
      select min(r.wake_at) as next from ${kinds} cross join lateral (
        select t.wake_at from ${tasks} t where ${ofKind} and not t.ready and t.wake_at > $3 and t.holder is null
        order by t.wake_at limit 1) r`,
    nextLease: `
      select min(t.lease_until) - ${serverNow} as "left" from ${tasks} t
      where t.holder is not null and t.lease_until > ${serverNow}`,
  });
}
