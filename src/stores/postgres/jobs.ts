/**
 * pg-boss as the dispatcher. A job says that some tasks of one tool could be claimed and that nobody holds them, no
 * more: it is sent by the transaction that made them so, fetched by the one worker that they are offered to, and deleted
 * by the transaction of their claim. One queue per tool and version, so that no worker fetches what it cannot run.
 *
 * Queues, fetching, expiry and upkeep are pg-boss's. Its statement that fetches runs as it is, and what it gives is led
 * on to the rows of the tasks in the same breath. Sending and deleting are part of the statement that writes tasks
 * (`write-statement.ts`), and giving back is a small one of ours.
 */
import { createHash } from 'node:crypto';
import type { PgBoss } from 'pg-boss';
import type { ToolVersion } from '../../engine/queue.ts';
import { runtime } from '../../model/runtime.ts';
import type { TaskId } from '../../model/task.ts';
import { name } from './cells.ts';
import { serverNow } from './dispatch-schema.ts';
import type { Connections, Transaction } from './pool.ts';
import type { RowOf } from './write-statement.ts';

/** So many tasks share a job. */
export const tasksPerJob = 8;
/** More are fetched in several statements: each number has one of its own. */
const mostAtOnce = 32;
/** A job that leads nowhere for so long is active in the hands of nobody. */
const activeSeconds = 60;
/** Of how many it is remembered that they were fetched here. */
const mostInHand = 5_000;

/** A task, and the first of its commits if it never ran, as a job led to it; without a number if it leads nowhere. */
export interface FetchedRow {
  readonly fetched: string;
  readonly queue: string;
  readonly seq: number | null;
  readonly id: string;
  readonly xmin: string;
  readonly tool: string;
  readonly tool_version: string;
  readonly wake_at: number | null;
  readonly ready: boolean | null;
  readonly job: string | null;
  readonly holder: string | null;
  readonly lease_until: number | null;
  readonly deserted: boolean;
  /** The lease has expired, by the server's clock. */
  readonly is_expired: boolean;
  readonly body: string;
  readonly root_id: string | null;
  readonly commit: number | null;
  readonly at: number;
  readonly events: string;
  readonly journal: string | null;
  readonly xact: string;
}

interface Parts {
  readonly boss: PgBoss;
  /** On which no commit waits for the disk: what is lost with a crash is a hint. */
  readonly hints: Connections;
  readonly schema: string;
  readonly bossSchema: string;
}

export class Jobs {
  readonly #parts: Parts;
  readonly #made = new Map<string, Promise<void>>();
  readonly #inHand = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Makes the queues of jobs that are about to be sent. */
  async prepare(sent: readonly RowOf<'sent'>[]): Promise<void> {
    for (const { queue } of sent) if (!this.#made.has(queue!)) await this.#queue(queue!);
  }

  /** Fetched by this process, and neither given back nor done with. */
  isInHand(job: string): boolean {
    return this.#inHand.has(job);
  }

  doneWith(job: string): void {
    this.#inHand.delete(job);
  }

  /** Takes up to `limit` jobs out of a queue, for this process alone, and looks where they lead. */
  async fetch(tool: ToolVersion, limit: number): Promise<FetchedRow[]> {
    const { boss, hints } = this.#parts;
    const queue = queueOf(tool);
    const rows: FetchedRow[] = [];
    for (let left = limit; left > 0; left -= mostAtOnce) {
      const batchSize = Math.min(left, mostAtOnce);
      // Where pg-boss does not know the queue yet, it asks on a connection that may be cut.
      const found = await hints.repeat(async () => {
        await this.#queue(queue);
        return (await boss.fetch(queue, {
          batchSize,
          // No job has a group. With such a limit pg-boss looks the jobs that it chose up by their ids, instead of
          // comparing them with every job that the queue has.
          groupConcurrency: 1,
          db: this.#leadingOn,
        })) as unknown as FetchedRow[];
      });
      for (const { fetched } of found) this.#take(fetched);
      rows.push(...found);
      if (found.length === 0) break;
    }
    return rows;
  }

  /** Sends jobs for tasks that became ready without a command. */
  async send(transaction: Transaction, sent: readonly RowOf<'sent'>[]): Promise<void> {
    await this.prepare(sent);
    const rows = 'unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as v (id, queue, data, place)';
    const text = insertJobs(this.#parts.bossSchema, rows);
    await transaction.query({ name: 'send', text }, [
      sent.map(({ id }) => id),
      sent.map(({ queue }) => queue),
      sent.map(({ data }) => data),
    ]);
  }

  /** Those that lead nowhere. */
  async delete(jobs: readonly Pick<FetchedRow, 'fetched' | 'queue'>[]): Promise<void> {
    const { hints, bossSchema } = this.#parts;
    const rows = 'unnest($1::uuid[], $2::text[]) as v (id, queue)';
    await hints.query({ name: 'delete', text: deleteJobs(bossSchema, rows) }, [
      jobs.map(({ fetched }) => fetched),
      jobs.map(({ queue }) => queue),
    ]);
    for (const { fetched } of jobs) this.#inHand.delete(fetched);
  }

  /** Others may fetch them, in the order in which they were sent. */
  async giveBack(queue: string, jobs: readonly string[]): Promise<void> {
    const { hints, bossSchema } = this.#parts;
    for (const job of jobs) this.#inHand.delete(job);
    const text = `
      update ${bossSchema}.job set state = 'created', started_on = null
      where name = $1 and id = any($2::uuid[]) and state = 'active'`;
    await hints.query({ name: 'give back', text }, [queue, jobs]);
  }

  #take(job: string): void {
    this.#inHand.add(job);
    if (this.#inHand.size > mostInHand) this.#inHand.delete(this.#inHand.keys().next().value!);
  }

  #queue(queue: string): Promise<void> {
    let made = this.#made.get(queue);
    if (!made) {
      made = this.#parts.boss.createQueue(queue, {
        policy: 'standard',
        expireInSeconds: activeSeconds,
        retryLimit: 2_147_483_647,
        retryDelay: 0,
        retryBackoff: false,
        retentionSeconds: 365 * 86_400,
        deleteAfterSeconds: 60,
      });
      this.#made.set(queue, made);
      made.catch(() => this.#made.delete(queue));
    }
    return made;
  }

  /** What pg-boss is told to run its fetch in: the jobs that it gives are followed to their tasks. */
  readonly #leadingOn = {
    executeSql: async (text: string, values: unknown[] = []) => {
      const { hints, schema } = this.#parts;
      const led = `
        with fetched as (${text})
        select f.id as fetched, f.name as queue, t.seq, t.id, t.xmin::text as xmin, t.tool, t.tool_version, t.wake_at, t.ready, t.job,
          t.holder, t.lease_until, t.deserted, coalesce(t.lease_until <= ${serverNow}, false) as is_expired, t.body, t.root_id, c.seq as commit, c.at, c.events, c.journal, c.xact::text as xact
        from fetched f
        left join lateral (
          select t.* from jsonb_array_elements_text(f.data -> 'tasks') as v (id)
          cross join lateral (select *, xmin from ${schema}.tasks where id = v.id offset 0) t
          where t.job = f.id) t on true
        left join lateral (
          select * from ${schema}.commits where task = t.seq and version = 1 and t.epoch = 0 offset 0) c on true`;
      return { rows: await hints.query({ name: nameFor(led), text: led }, values) };
    },
  };
}

/** For rows of `id`, `queue`, `data` and `place`. What pg-boss would ask of its queue, it is asked for all rows at once. */
export function insertJobs(bossSchema: string, rows: string): string {
  return `
    insert into ${bossSchema}.job (id, name, data, policy, expire_seconds, deletion_seconds, keep_until, retry_limit,
      retry_delay, retry_backoff, retry_delay_max)
    select v.id, q.name, v.data::jsonb, q.policy, q.expire_seconds, q.deletion_seconds,
      now() + make_interval(secs => q.retention_seconds), q.retry_limit, q.retry_delay, q.retry_backoff,
      q.retry_delay_max
    from ${rows} cross join lateral (select * from ${bossSchema}.queue where name = v.queue offset 0) q
    order by v.place`;
}

/** For rows of `id` and `queue`. */
export function deleteJobs(bossSchema: string, rows: string): string {
  return `delete from ${bossSchema}.job j using ${rows} where j.name = v.queue and j.id = v.id`;
}

/** Jobs for tasks that could be claimed now, some tasks to each. */
export class JobsToSend {
  readonly #open = new Map<string, { readonly id: string; readonly tasks: string[] }>();
  readonly #all: { readonly id: string; readonly queue: string; readonly tasks: string[] }[] = [];

  /** The id of the job that will lead to this task. */
  add(task: TaskId, tool: ToolVersion, now: number): string {
    const queue = queueOf(tool);
    let job = this.#open.get(queue);
    if (!job || job.tasks.length === tasksPerJob) {
      const made = { id: newJobId(now), queue, tasks: [] };
      this.#all.push(made);
      this.#open.set(queue, made);
      job = made;
    }
    job.tasks.push(name(task));
    return job.id;
  }

  get rows(): RowOf<'sent'>[] {
    return this.#all.map(({ id, queue, tasks }) => ({ id, queue, data: JSON.stringify({ tasks }) }));
  }
}

/** The name of a queue, in which pg-boss allows few characters. */
export function queueOf({ tool, version }: ToolVersion): string {
  return `hf/${plain(tool)}/${plain(version)}`;
}

function plain(text: string): string {
  if (/^[\w-]*$/.test(text)) return text;
  return text.replace(/[^\w-]/g, (found) => `.${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Jobs are fetched in the order in which they were sent, and those of one transaction by their ids. */
export function newJobId(now: number): string {
  count = (count + 1) % 0x1000;
  const time = Math.max(0, Math.floor(now)).toString(16).padStart(12, '0').slice(-12);
  const rest = runtime.randomBytes(8).toString('hex');
  const place = count.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-a${rest.slice(0, 3)}-${rest.slice(3, 15)}`;
}

let count = 0;

const names = new Map<string, string>();

function nameFor(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `boss ${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`;
    names.set(text, name);
  }
  return name;
}

/** What pg-boss runs its own statements on. */
export function bossDatabase(connections: Connections) {
  return { executeSql: (text: string, values?: unknown[]) => connections.raw(text, values) };
}
