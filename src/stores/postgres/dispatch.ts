/**
 * How work is handed out: from tasks that are ready to those that this process was given by pg-boss, each of them to it
 * alone. What is ready and has no job gets one here; what a job leads to and cannot be claimed loses it; and what there
 * is no place for is given back.
 */
import type { ToolVersion } from '../../engine/queue.ts';
import { runtime } from '../../model/runtime.ts';
import { named, name as stored } from './cells.ts';
import { serverNow } from './dispatch-schema.ts';
import { prepared } from './driver.ts';
import { type FetchedRow, type Jobs, JobsToSend, queueOf, tasksPerJob } from './jobs.ts';
import type { Line } from './line.ts';
import type { Connections } from './pool.ts';

/** A task that could have been claimed for so long is asked after: is there still a job that leads to it? */
const askAfterMs = 1_500;
/** For so long a tool that was the only one with work counts as such. */
const busyMs = 50;
/** So many times jobs are fetched that lead nowhere, in one go. */
const mostTries = 10;

export interface ReadyRow {
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

/** How many jobs are to be fetched. */
interface Wanted {
  readonly tool: ToolVersion;
  readonly jobs: number;
}

interface Parts {
  readonly connections: Connections;
  readonly jobs: Jobs;
  readonly line: Line;
  readonly schema: string;
  readonly bossSchema: string;
}

export class Dispatch {
  readonly #parts: Parts;
  readonly #sql: ReturnType<typeof statements>;
  #busy: { readonly tool: ToolVersion | undefined; readonly at: number } = { tool: undefined, at: 0 };
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sql = statements(parts.schema, parts.bossSchema);
  }

  /** Tasks of the one tool that had work at the last look, if that was a moment ago: its jobs need no look. */
  async fetchBusy(tools: readonly ToolVersion[], limit: number, now: number): Promise<FetchedRow[]> {
    const { tool, at } = this.#busy;
    const isFresh = tool !== undefined && runtime.monotonic() - at < busyMs;
    if (!isFresh || !tools.some((one) => isSame(one, tool))) return [];
    return this.#fetch([{ tool, jobs: Math.ceil(limit / tasksPerJob) }], limit, now);
  }

  /** As many jobs of each tool as lead to the tasks that have been ready for longest. */
  async fetchFor(
    ready: readonly ReadyRow[],
    tools: readonly ToolVersion[],
    limit: number,
    now: number,
  ): Promise<FetchedRow[]> {
    const lost = await this.#lost(ready, now);
    const without = ready.filter(({ job }) => job === null);
    const queued = await this.#enqueue([...without, ...lost], now);
    const jobs = new Map(ready.map((row) => [row.seq, row.job]));
    for (const { seq, job } of queued) jobs.set(seq, job);
    const wanted = tools.map((tool) => {
      const own = ready.filter((row) => isSame(toolOf(row), tool)).flatMap(({ seq }) => jobs.get(seq) ?? []);
      // What was fetched already, and is about to be claimed, is still there to be seen.
      return { tool, jobs: new Set(own.filter((job) => !this.#isInHand(job))).size };
    });
    const busy = wanted.filter((one) => one.jobs > 0);
    this.#busy = { tool: busy.length === 1 ? busy[0]!.tool : undefined, at: runtime.monotonic() };
    const places = Math.min(limit, ready.filter(({ seq }) => !this.#isInHand(jobs.get(seq))).length);
    const found = await this.#fetch(busy, limit, now);
    // Others may stand before those that were seen, in jobs with fewer tasks.
    for (let more = found; more.length > 0 && found.length < places; found.push(...more)) {
      const count = Math.ceil((places - found.length) / tasksPerJob);
      const again = busy.map(({ tool }) => ({ tool, jobs: count }));
      more = await this.#fetch(again, limit - found.length, now);
    }
    return found;
  }

  #isInHand(job: string | null | undefined): boolean {
    return job != null && this.#parts.jobs.isInHand(job);
  }

  async #fetch(wanted: readonly Wanted[], limit: number, now: number): Promise<FetchedRow[]> {
    const { jobs } = this.#parts;
    // Jobs that lead nowhere any more may stand before those that do.
    for (let tries = 0; tries < mostTries; tries++) {
      const rows = (await Promise.all(wanted.map((one) => jobs.fetch(one.tool, one.jobs)))).flat();
      const { dead } = this.#parts.line;
      const isFree = ({ holder, is_expired, deserted }: FetchedRow) =>
        holder === null || is_expired || deserted || dead.includes(named(holder));
      const isReady = ({ ready, wake_at }: FetchedRow) =>
        ready === true || (wake_at !== null && wake_at <= now);
      const isClaimable = (row: FetchedRow) => row.seq !== null && isReady(row) && isFree(row);
      const found = rows.filter(isClaimable).sort(byReadiness);
      const leading = new Set(found.map(({ fetched }) => fetched));
      await this.#dequeue(
        rows.filter((row) => !isClaimable(row)),
        leading,
      );
      if (found.length > 0) this.giveBack(found.splice(limit));
      if (found.length > 0 || rows.length === 0) return found;
    }
    return [];
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
      ]);
      await jobs.send(transaction, sent.rows);
      return queued;
    });
  }

  /** What there is no place for others may have. Whoever asks here next, asks on the same connection, and so later. */
  giveBack(surplus: readonly FetchedRow[]): void {
    const { jobs, line } = this.#parts;
    for (const rows of Map.groupBy(surplus, ({ queue }) => queue).values()) {
      const ids = [...new Set(rows.map(({ fetched }) => fetched))];
      jobs.giveBack(rows[0]!.queue, ids).then(
        () => line.tell({ work: true }),
        () => {}, // It is found to be lost soon enough.
      );
    }
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
    if (old.length === 0 || runtime.monotonic() - this.#askedAt < askAfterMs) return [];
    this.#askedAt = runtime.monotonic();
    const lost = await this.#parts.connections.query<{ job: string }>(this.#sql.lost, [
      old.map(({ job }) => job),
      old.map((row) => queueOf(toolOf(row))),
      askAfterMs / 1_000,
    ]);
    const ids = new Set(lost.map(({ job }) => job));
    for (const id of ids) this.#parts.jobs.doneWith(id);
    return old.filter(({ job }) => ids.has(job!));
  }
}

export function toolOf(row: Pick<ReadyRow, 'tool' | 'tool_version'>): ToolVersion {
  return { tool: named(row.tool), version: named(row.tool_version) };
}

/** The longest ready first. */
export function byReadiness(a: Place, b: Place): number {
  return a.wake_at! - b.wake_at! || a.seq! - b.seq!;
}

type Place = Pick<FetchedRow, 'wake_at' | 'seq'>;

function isSame(one: ToolVersion, other: ToolVersion): boolean {
  return one.tool === other.tool && one.version === other.version;
}

export const readyColumns =
  't.seq, t.id, t.tool, t.tool_version, t.wake_at, t.job, t.holder, t.lease_until, t.deserted';

/** Tasks whose holder fell silent or is gone. Those who hold are few, and looked at one by one. */
export function isFreed(dead: string): string {
  return `(t.lease_until <= ${serverNow} or t.deserted or t.holder = any(${dead}::text[]))`;
}

/** Tasks that have work, whoever holds them. */
export function isReady(now: string): string {
  return `(t.ready or t.wake_at <= ${now})`;
}

function statements(schema: string, bossSchema: string) {
  const tasks = `${schema}.tasks`;
  return prepared({
    lockReady: `
      select ${readyColumns} from ${tasks} t
      where t.seq = any($1::bigint[]) and (t.job is null or t.job = any($4::uuid[]))
        and ${isReady('$2')} and (t.holder is null or ${isFreed('$3')})
      order by t.seq for update of t skip locked`,
    enqueue: `
      update ${tasks} t set job = v.job, deserted = t.holder is not null and t.lease_until > ${serverNow}
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
  });
}
