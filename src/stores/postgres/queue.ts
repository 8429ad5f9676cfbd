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
import { type Job, type Jobs, newJobId, queueOf } from './jobs.ts';
import type { Line } from './line.ts';
import type { Connections } from './pool.ts';

/** Leases that ran out, and anything that was missed. */
const netMs = 1_000;
/** A task that could have been claimed for so long is asked after: is there still a job that leads to it? */
const askAfterMs = 3_000;

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
}

export class PostgresQueue implements Queue {
  /** Shorter than on one machine: where a lock cannot tell that a worker is gone, others go on within 15 s. */
  readonly usualLeaseMs = 10_000;
  readonly #parts: Parts;
  readonly #sql: ReturnType<typeof statements>;
  readonly #listeners = new Set<() => void>();
  #stopListening: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;
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
    const looksAtHeld = this.#looksAtHeld(now);
    const ready = await this.#ready(tools, now, limit, looksAtHeld);
    const timers = ready.length < limit ? this.#expectTimers(tools, now, looksAtHeld) : undefined;
    const [offers] = await Promise.all([ready.length > 0 ? this.#fetch(tools, ready, now) : [], timers]);
    return offers;
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
    const rows = await this.#parts.connections.query<{ place: number }>(this.#sql.renew, [
      claims.map(({ taskId }) => stored(taskId)),
      claims.map(({ epoch }) => epoch),
      leaseUntil,
    ]);
    const kept = new Set(rows.map(({ place }) => place - 1));
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
    return [...free, ...freed].sort((a, b) => a.wake_at - b.wake_at || a.seq - b.seq).slice(0, limit);
  }

  /** As many jobs of each tool as there are among the tasks that have been ready for longest. */
  async #fetch(tools: readonly ToolVersion[], ready: readonly ReadyRow[], now: number): Promise<Offer[]> {
    const lost = await this.#lost(ready, now);
    await this.#dequeue(lost.map((row) => jobFor(row, row.job!)));
    const queued = await this.#enqueue([...ready.filter(({ job }) => job === null), ...lost], now);
    const jobs = await Promise.all(
      tools.map((tool) => {
        const wanted = ready.filter((row) => isOf(row, tool)).length;
        return wanted > 0 ? this.#parts.jobs.fetch(tool, wanted) : [];
      }),
    );
    return this.#offered(jobs.flat(), [...ready, ...queued], now);
  }

  /** Gives jobs to tasks that could be claimed and have none. */
  async #enqueue(ready: readonly ReadyRow[], now: number): Promise<ReadyRow[]> {
    if (ready.length === 0) return [];
    const seqs = ready.map(({ seq }) => seq);
    const { connections, jobs, line } = this.#parts;
    return connections.transact(async (transaction) => {
      const rows = await transaction.query<ReadyRow>(this.#sql.lockReady, [seqs, now, line.dead.map(stored)]);
      rows.sort((a, b) => a.wake_at - b.wake_at || a.seq - b.seq);
      const sent = rows.map((row) => jobFor(row, newJobId(now)));
      await transaction.query(this.#sql.enqueue, [rows.map(({ seq }) => seq), sent.map(({ id }) => id), now]);
      await jobs.send(transaction, sent);
      return rows.map((row, index) => ({ ...row, job: sent[index]!.id }));
    });
  }

  /** What the jobs that were fetched lead to. A job that leads nowhere is deleted. */
  async #offered(jobs: readonly Job[], seen: readonly ReadyRow[], now: number): Promise<Offer[]> {
    const rows = new Map(seen.map((row) => [row.job, row]));
    // Whoever was faster took some of those that we saw; in their place we got others.
    const unseen = jobs.filter(({ id }) => !rows.has(id)).map(({ task }) => stored(task));
    if (unseen.length > 0) {
      const found = await this.#parts.connections.query<ReadyRow>(this.#sql.findOffered, [unseen]);
      for (const row of found) rows.set(row.job, row);
    }
    const isClaimable = ({ id }: Job) => (rows.get(id)?.wake_at ?? Number.POSITIVE_INFINITY) <= now;
    await this.#dequeue(jobs.filter((job) => !isClaimable(job)));
    return jobs
      .filter(isClaimable)
      .map(({ id }) => rows.get(id)!)
      .sort((a, b) => a.wake_at - b.wake_at || a.seq - b.seq)
      .map((row) => this.#offer(row, now));
  }

  #offer({ id, holder, lease_until: leaseUntil }: ReadyRow, now: number): Offer {
    const offer = { taskId: named(id), holder: this.name };
    // By a holder whose lease still runs: offered only because that holder is dead.
    return holder !== null && leaseUntil! > now ? { ...offer, deadHolder: named(holder) } : offer;
  }

  /** Takes jobs back: their tasks were claimed or ended meanwhile, or the clock of whoever sent them is ahead of ours. */
  async #dequeue(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.#parts.connections.transact(async (transaction) => {
      await transaction.query(this.#sql.dequeue, [
        jobs.map(({ task }) => stored(task)),
        jobs.map(({ id }) => id),
      ]);
      await this.#parts.jobs.delete(transaction, jobs);
    });
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

function toolOf(row: ReadyRow): ToolVersion {
  return { tool: named(row.tool), version: named(row.tool_version) };
}

function isOf(row: ReadyRow, { tool, version }: ToolVersion): boolean {
  return row.tool === stored(tool) && row.tool_version === stored(version);
}

function jobFor(row: ReadyRow, id: string): Job {
  return { ...toolOf(row), id, task: named(row.id) };
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
      where t.seq = any($1::bigint[]) and t.job is null and t.wake_at <= $2 and (t.holder is null or ${isFreed('$2', '$3')})
      order by t.seq for update of t skip locked`,
    enqueue: `
      update ${tasks} t set job = v.job, deserted = t.holder is not null and t.lease_until > $3
      from unnest($1::bigint[], $2::uuid[]) as v (seq, job) where t.seq = v.seq`,
    dequeue: `
      with queued as (
        select t.seq from ${tasks} t where t.id = any($1::text[]) and t.job = any($2::uuid[])
        order by t.seq for update of t)
      update ${tasks} t set job = null from queued where t.seq = queued.seq`,
    findOffered: `select ${columns} from ${tasks} t where t.id = any($1::text[])`,
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
      update ${tasks} t set lease_until = $3 from held where t.seq = held.seq returning held.place`,
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
