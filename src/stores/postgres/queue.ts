/**
 * The `Queue` on Postgres. Rows say which tasks have work; jobs of pg-boss see to it that each of them is offered to
 * one worker at a time. What became ready without a command (a timer came due, a lease ran out, a holder died, a job
 * went missing) gets its job here, from whoever looks first.
 */
import type { Backlog, Claim, Offer, Queue, ToolVersion } from '../../engine/queue.ts';
import type { Clock } from '../../model/clock.ts';
import type { TaskId } from '../../model/task.ts';
import { named, name as stored } from './cells.ts';
import { prepared } from './driver.ts';
import type { Feed } from './feed.ts';
import { type FetchedRow, type Jobs, JobsToSend, queueOf, tasksPerJob } from './jobs.ts';
import type { Known } from './known.ts';
import type { Line } from './line.ts';
import type { Connections } from './pool.ts';

/** Leases that ran out, and anything that was missed. */
const netMs = 1_000;
/** A task that could have been claimed for so long is asked after: is there still a job that leads to it? */
const askAfterMs = 3_000;
/** For so long a tool that was the only one with work counts as such. */
const busyMs = 50;
/** So many times jobs are fetched that lead nowhere, in one go. */
const mostTries = 10;

/** How many jobs are to be fetched. */
interface Wanted {
  readonly tool: ToolVersion;
  readonly jobs: number;
}

type Place = Pick<FetchedRow, 'wake_at' | 'seq'>;

interface ReadyRow {
  readonly seq: number;
  readonly id: string;
  readonly tool: string;
  readonly tool_version: string;
  readonly wake_at: number;
  readonly job: string | null;
  readonly holder: string | null;
  readonly lease_until: number | null;
  readonly deserted: boolean;
}

interface Parts {
  readonly connections: Connections;
  readonly jobs: Jobs;
  readonly feed: Feed;
  readonly line: Line;
  readonly clock: Clock;
  readonly schema: string;
  readonly bossSchema: string;
  /** Hears of tasks that were just read, and are about to be claimed. */
  readonly offered: (rows: readonly FetchedRow[]) => void;
  readonly known: Known;
}

export class PostgresQueue implements Queue {
  /** Shorter than on one machine: where a lock cannot tell that a worker is gone, others go on within 15 s. */
  readonly usualLeaseMs = 10_000;
  readonly #parts: Parts;
  readonly #sql: ReturnType<typeof statements>;
  readonly #listeners = new Set<() => void>();
  #stopListening: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  #busy: { readonly tool: ToolVersion | undefined; readonly at: number } = { tool: undefined, at: 0 };
  #askedAt = Number.NEGATIVE_INFINITY;
  /** When those who hold tasks were last looked at, and when the first of their leases then ended. */
  #heldAt = Number.NEGATIVE_INFINITY;
  #leaseAt = Number.POSITIVE_INFINITY;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sql = statements(parts.schema, parts.bossSchema);
  }

  get name(): string {
    return this.#parts.line.name;
  }

  isAlive(name: string): Promise<boolean> {
    return this.#parts.line.isAlive(name);
  }

  async offers(tools: readonly ToolVersion[], limit: number): Promise<Offer[]> {
    const now = this.#parts.clock.now();
    const only = this.#onlyBusy(tools);
    const jobs = Math.ceil(limit / tasksPerJob);
    const first = only ? await this.#fetch([{ tool: only, jobs }], limit, now) : [];
    const left = limit - first.length;
    if (left === 0) return first;
    const looksAtHeld = this.#looksAtHeld(now);
    const seen = await this.#ready(tools, now, limit, looksAtHeld);
    const ready = seen.filter(({ job }) => job === null || !this.#parts.jobs.isInHand(job));
    const timers = seen.length < limit ? this.#expectTimers(tools, now, looksAtHeld) : undefined;
    const [others] = await Promise.all([
      ready.length > 0 ? this.#fetchFor(ready, tools, left, now) : [],
      timers,
    ]);
    return [...first, ...others];
  }

  async orphans(tools: readonly ToolVersion[], readySince: number, limit: number): Promise<TaskId[]> {
    const rows = await this.#parts.connections.query<{ id: string }>(this.#sql.orphans, [
      ...columnsOf(tools),
      readySince,
      limit,
    ]);
    return rows.map(({ id }) => named(id));
  }

  async renew(claims: readonly Claim[], leaseUntil: number): Promise<Claim[]> {
    if (claims.length === 0) return [];
    const rows = await this.#parts.connections.query<{ place: number; xmin: string }>(this.#sql.renew, [
      claims.map(({ taskId }) => stored(taskId)),
      claims.map(({ epoch }) => epoch),
      leaseUntil,
    ]);
    const kept = new Set(rows.map(({ place }) => place - 1));
    for (const { place, xmin } of rows) this.#parts.known.renewed(claims[place - 1]!.taskId, xmin, leaseUntil);
    return claims.filter((_, index) => !kept.has(index));
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
  #looksAtHeld(now: number): boolean {
    const isTime = now >= this.#heldAt + netMs || now < this.#heldAt || now >= this.#leaseAt;
    if (this.#listeners.size > 0 && !isTime) return false;
    this.#heldAt = now;
    return true;
  }

  async #ready(
    tools: readonly ToolVersion[],
    now: number,
    limit: number,
    looksAtHeld: boolean,
  ): Promise<ReadyRow[]> {
    const { connections, line } = this.#parts;
    const [free, freed] = await Promise.all([
      connections.query<ReadyRow>(this.#sql.free, [...columnsOf(tools), now, limit]),
      looksAtHeld
        ? connections.query<ReadyRow>(this.#sql.freed, [
            ...columnsOf(tools),
            now,
            line.dead.map(stored),
            limit,
          ])
        : [],
    ]);
    return [...free, ...freed].sort(byReadiness).slice(0, limit);
  }

  /** The one tool that had work at the last look, if that was a moment ago: its jobs need no look. */
  #onlyBusy(tools: readonly ToolVersion[]): ToolVersion | undefined {
    const { tool, at } = this.#busy;
    const isFresh = tool && performance.now() - at < busyMs;
    return isFresh ? tools.find((one) => one.tool === tool.tool && one.version === tool.version) : undefined;
  }

  /** As many jobs of each tool as lead to the tasks that have been ready for longest. */
  async #fetchFor(
    ready: readonly ReadyRow[],
    tools: readonly ToolVersion[],
    limit: number,
    now: number,
  ): Promise<Offer[]> {
    const lost = await this.#lost(ready, now);
    const without = ready.filter(({ job }) => job === null);
    const queued = await this.#enqueue([...without, ...lost], now);
    const jobs = new Map(ready.map((row) => [row.seq, row.job]));
    for (const { seq, job } of queued) jobs.set(seq, job);
    const wanted = tools.map((tool) => {
      const own = ready.filter((row) => isOf(row, tool)).flatMap(({ seq }) => jobs.get(seq) ?? []);
      return { tool, jobs: new Set(own).size };
    });
    const busy = wanted.filter((one) => one.jobs > 0);
    this.#busy = { tool: busy.length === 1 ? busy[0]!.tool : undefined, at: performance.now() };
    return this.#fetch(busy, limit, now);
  }

  async #fetch(wanted: readonly Wanted[], limit: number, now: number): Promise<Offer[]> {
    const { jobs } = this.#parts;
    let offers: FetchedRow[] = [];
    // Jobs that lead nowhere any more may stand before those that do.
    for (let tries = 0; tries < mostTries; tries++) {
      const rows = (await Promise.all(wanted.map(({ tool, jobs: count }) => jobs.fetch(tool, count)))).flat();
      if (rows.length === 0) break;
      const isClaimable = ({ seq, wake_at }: FetchedRow) => seq !== null && (wake_at ?? now + 1) <= now;
      offers = rows.filter(isClaimable).sort(byReadiness);
      const leading = new Set(offers.map(({ fetched }) => fetched));
      await this.#dequeue(rows.filter((row) => !isClaimable(row)), leading);
      if (offers.length > 0) break;
    }
    const surplus = offers.splice(limit);
    if (surplus.length > 0) await this.#giveBack(surplus);
    this.#parts.offered(offers);
    return offers.map((row) => this.#offer(row, now));
  }

  /** Gives jobs to tasks that could be claimed and have none. */
  async #enqueue(ready: readonly ReadyRow[], now: number): Promise<ReadyRow[]> {
    if (ready.length === 0) return [];
    const seqs = ready.map(({ seq }) => seq);
    const lost = ready.flatMap(({ job }) => job ?? []);
    const { connections, jobs, line } = this.#parts;
    return connections.transact(async (transaction) => {
      const rows = await transaction.query<ReadyRow>(this.#sql.lockReady, [
        seqs,
        now,
        line.dead.map(stored),
        lost,
      ]);
      rows.sort(byReadiness);
      const sent = new JobsToSend();
      const queued = rows.map((row) => ({ ...row, job: sent.add(named(row.id), toolOf(row), now) }));
      await transaction.query(this.#sql.enqueue, [
        queued.map(({ seq }) => seq),
        queued.map(({ job }) => job),
        now,
      ]);
      await jobs.send(transaction, sent.rows);
      return queued;
    });
  }

  /** What there is no place for others may have, of a job as a whole. */
  async #giveBack(surplus: readonly FetchedRow[]): Promise<void> {
    const { jobs, line } = this.#parts;
    for (const rows of Map.groupBy(surplus, (row) => queueOf(toolOf(row))).values())
      await jobs.giveBack(toolOf(rows[0]!), [...new Set(rows.map(({ fetched }) => fetched))]);
    line.tell({ work: true });
  }

  #offer({ id, holder, lease_until: leaseUntil }: FetchedRow, now: number): Offer {
    const offer = { taskId: named(id), holder: this.name };
    // By a holder whose lease still runs: offered only because that holder is dead.
    return holder !== null && leaseUntil! > now ? { ...offer, deadHolder: named(holder) } : offer;
  }

  /** What cannot be claimed has no job: it was claimed or ended meanwhile, or the clock of who sent it is ahead of ours. */
  async #dequeue(rows: readonly FetchedRow[], leading: ReadonlySet<string>): Promise<void> {
    if (rows.length === 0) return;
    const { connections, jobs } = this.#parts;
    const early = rows.filter(({ seq }) => seq !== null);
    if (early.length > 0)
      await connections.query(this.#sql.dequeue, [
        early.map(({ seq }) => seq),
        early.map(({ fetched }) => fetched),
      ]);
    const idle = rows.filter(({ fetched }) => !leading.has(fetched));
    if (idle.length > 0) await jobs.delete(idle);
  }

  /** Whose job is in the hands of a process that died before it claimed, or was deleted by somebody else. */
  async #lost(ready: readonly ReadyRow[], now: number): Promise<ReadyRow[]> {
    const old = ready.filter(({ job, wake_at }) => job !== null && wake_at <= now - askAfterMs);
    if (old.length === 0 || performance.now() - this.#askedAt < askAfterMs) return [];
    this.#askedAt = performance.now();
    const lost = await this.#parts.connections.query<{ job: string }>(this.#sql.lost, [
      old.map(({ job }) => job),
      old.map((row) => queueOf(toolOf(row))),
      askAfterMs / 1_000,
    ]);
    const ids = new Set(lost.map(({ job }) => job));
    return old.filter(({ job }) => ids.has(job!));
  }

  async #expectTimers(tools: readonly ToolVersion[], now: number, looksAtHeld: boolean): Promise<void> {
    if (this.#listeners.size === 0) return;
    const { connections, clock } = this.#parts;
    const [[row], leases] = await Promise.all([
      connections.query<{ next: number | null }>(this.#sql.nextTimer, [...columnsOf(tools), now]),
      looksAtHeld ? connections.query<{ next: number | null }>(this.#sql.nextLease, [now]) : undefined,
    ]);
    if (leases) this.#leaseAt = leases[0]?.next ?? Number.POSITIVE_INFINITY;
    this.#cancelTimer?.();
    const next = Math.min(row?.next ?? Number.POSITIVE_INFINITY, this.#leaseAt);
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

function toolOf(row: Pick<ReadyRow, 'tool' | 'tool_version'>): ToolVersion {
  return { tool: named(row.tool), version: named(row.tool_version) };
}

function isOf(row: ReadyRow, { tool, version }: ToolVersion): boolean {
  return row.tool === stored(tool) && row.tool_version === stored(version);
}

/** The longest ready first. */
function byReadiness(a: Place, b: Place): number {
  return a.wake_at! - b.wake_at! || a.seq! - b.seq!;
}

function statements(schema: string, bossSchema: string) {
  const tasks = `${schema}.tasks`;
  const columns =
    't.seq, t.id, t.tool, t.tool_version, t.wake_at, t.job, t.holder, t.lease_until, t.deserted';
  const kinds = 'unnest($1::text[], $2::text[]) as kind (tool, version)';
  const ofKind = 't.tool = kind.tool and t.tool_version = kind.version';
  /** Tasks whose holder fell silent or is gone. Those who hold are few, and looked at one by one. */
  const isFreed = (now: string, dead: string) =>
    `(t.lease_until <= ${now} or t.deserted or t.holder = any(${dead}::text[]))`;
  return prepared({
    free: `
      select r.* from ${kinds} cross join lateral (
        select ${columns} from ${tasks} t
        where ${ofKind} and t.wake_at <= $3 and t.holder is null
        order by t.wake_at, t.seq limit $4) r
      order by r.wake_at, r.seq limit $4`,
    freed: `
      select ${columns} from ${tasks} t join ${kinds} on ${ofKind}
      where t.holder is not null and t.wake_at <= $3 and ${isFreed('$3', '$4')}
      order by t.wake_at, t.seq limit $5`,
    lockReady: `
      select ${columns} from ${tasks} t
      where t.seq = any($1::bigint[]) and (t.job is null or t.job = any($4::uuid[]))
        and t.wake_at <= $2 and (t.holder is null or ${isFreed('$2', '$3')})
      order by t.seq for update of t skip locked`,
    enqueue: `
      update ${tasks} t set job = v.job, deserted = t.holder is not null and t.lease_until > $3
      from unnest($1::bigint[], $2::uuid[]) as v (seq, job) where t.seq = v.seq`,
    dequeue: `
      with queued as (
        select t.seq from ${tasks} t where t.seq = any($1::bigint[]) and t.job = any($2::uuid[])
        order by t.seq for update of t)
      update ${tasks} t set job = null from queued where t.seq = queued.seq`,
    lost: `
      select v.job from unnest($1::uuid[], $2::text[]) as v (job, queue)
      left join ${bossSchema}.job j on j.name = v.queue and j.id = v.job
      where j.id is null or j.state > 'active'
        or (j.state = 'active' and j.started_on < now() - make_interval(secs => $3))`,
    orphans: `
      select t.id from ${tasks} t where t.wake_at <= $3 and t.holder is null
        and not exists (select 1 from ${kinds} where ${ofKind})
      limit $4`,
    renew: `
      with claims as (
        select * from unnest($1::text[], $2::integer[]) with ordinality as v (id, epoch, place)),
      held as (
        select t.seq, claims.place from claims
        join ${tasks} t on t.id = claims.id and t.epoch = claims.epoch
        where t.holder is not null order by t.seq for update of t)
      update ${tasks} t set lease_until = $3 from held where t.seq = held.seq
      returning held.place, t.xmin::text as xmin`,
    backlog: `
      select count(r.wake_at) as ready, min(r.wake_at) as since,
        (select count(*) from (select 1 from ${tasks} where waiting limit $4) w) as waiting
      from (
        select r.* from ${kinds} cross join lateral (
          select t.wake_at from ${tasks} t where ${ofKind} and t.wake_at <= $3 and t.holder is null
          order by t.wake_at limit $4) r
        union all
        select t.wake_at from ${tasks} t join ${kinds} on ${ofKind}
        where t.holder is not null and t.wake_at <= $3 and t.lease_until <= $3) r`,
    nextTimer: `
      select min(r.wake_at) as next from ${kinds} cross join lateral (
        select t.wake_at from ${tasks} t where ${ofKind} and t.wake_at > $3 and t.holder is null
        order by t.wake_at limit 1) r`,
    nextLease: `
      select min(t.lease_until) as next from ${tasks} t where t.holder is not null and t.lease_until > $1`,
  });
}
