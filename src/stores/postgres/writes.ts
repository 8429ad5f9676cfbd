/**
 * What the commands of one transaction write: collected in memory while they decide, each seeing what those before it
 * left, and written by one statement for all of them.
 */
import type { AuditEntry } from '../../engine/audit.ts';
import type { Change, TaskWrite } from '../../engine/change.ts';
import type { CommitNotice } from '../../engine/store.ts';
import { answeringOf, type DoneTask, joinKeyOf, type Task, type TaskId } from '../../model/task.ts';
import { bodyOf } from '../values/body.ts';
import { standingCodeOf } from '../values/standing-codes.ts';
import { auditRow } from './audit.ts';
import { type Cells, name } from './cells.ts';
import { type Jobs, JobsToSend, queueOf } from './jobs.ts';
import { type Held, type KnownTask, xminOf } from './known.ts';
import { addToSize, bytesOf, rowBytes } from './sizes.ts';
import type { Lists, RowOf, WrittenRow } from './write-statement.ts';

/** A commit with the number of its row. */
export interface NumberedNotice extends CommitNotice {
  readonly seq: number;
}

/** What a transaction writes, ready to be sent. */
export interface Flush {
  readonly lists: Lists;
  /** By how much the size grows. */
  readonly grown: number;
  /** The rows of tasks that go. */
  readonly removed: readonly number[];
  /** True if tasks are left that no worker holds, to be claimed now or at a later moment. */
  readonly leftWork: boolean;
}

/** What is known once it was written. */
export interface Written {
  readonly notices: readonly NumberedNotice[];
  /** Tasks that are held now, as they stand in their rows. */
  readonly known: readonly KnownTask[];
}

interface FlushedRow {
  readonly task: Task;
  readonly row: RowOf<'made'> & RowOf<'changed'>;
  readonly bytes: number;
  readonly large: string | undefined;
}

export class Writes {
  readonly tasks = new Map<TaskId, Task>();
  /** The rows of those that were there when the transaction began. */
  readonly #rows = new Map<TaskId, Held>();
  readonly #touched = new Set<TaskId>();
  readonly #removed: Held[] = [];
  /** A commit of a task that has no row yet has `made` in place of its number. */
  readonly #commits: (Omit<RowOf<'commits'>, 'nth'> & { readonly made?: TaskId })[] = [];
  readonly #notices: CommitNotice[] = [];
  /** How many commits added to the journal of each. */
  readonly #journals = new Map<TaskId, number>();
  readonly #audit: AuditEntry[] = [];
  readonly #sent = new JobsToSend();
  readonly #deleted = new Map<string, RowOf<'deleted'>>();
  readonly #cells: Cells;
  readonly #jobs: Jobs;
  #leftWork = false;
  #flushed: readonly FlushedRow[] = [];

  constructor(cells: Cells, jobs: Jobs) {
    this.#cells = cells;
    this.#jobs = jobs;
  }

  /** Adds what was read, or is known. */
  add(found: readonly KnownTask[]): void {
    for (const { held, task } of found) {
      if (this.#rows.has(task.id)) continue;
      this.#rows.set(task.id, held);
      this.tasks.set(task.id, task);
    }
  }

  get isEmpty(): boolean {
    return this.#commits.length + this.#audit.length === 0;
  }

  apply({ writes, removed, audit }: Change, now: number): void {
    if (audit) this.#audit.push(...audit);
    for (const write of writes) this.#write(write);
    for (const id of removed) this.#remove(id, now);
  }

  /** What it comes to, at a moment that is later than any rule could have said. */
  flush(now: number): Flush {
    const touched = [...this.#touched].map((id) => this.tasks.get(id)!);
    // In the order of their numbers: whoever writes several rows waits for others in one direction only.
    touched.sort((a, b) => (this.#rows.get(a.id)?.seq ?? 0) - (this.#rows.get(b.id)?.seq ?? 0));
    const rows = touched.map((task) => this.#rowOf(task, now));
    const made = rows.filter(({ row }) => row.seq === null);
    const nth = new Map(made.map(({ task }, index) => [task.id, index + 1]));
    const results = rows.flatMap(({ task, row: { seq }, large }) =>
      large === undefined
        ? []
        : [
            {
              seq,
              nth: nth.get(task.id) ?? null,
              value: this.#cells.write(large, 'results.value', task.id),
            },
          ],
    );
    const audit = this.#audit.map((entry) => auditRow(entry, this.#cells));
    const commits = this.#commits.map(({ made, ...row }) => ({
      ...row,
      nth: made === undefined ? null : nth.get(made)!,
    }));
    const grown =
      sum(rows, ({ task, bytes }) => bytes - (this.#rows.get(task.id)?.bytes ?? -rowBytes.task)) +
      sum(results, ({ value }) => rowBytes.result + bytesOf(value)) +
      sum(audit, ({ said }) => rowBytes.entry + bytesOf(said)) +
      sum(commits, ({ events, journal }) => rowBytes.commit + bytesOf(events) + bytesOf(journal));
    this.#flushed = rows;
    return {
      lists: {
        made: made.map(({ row }) => row),
        changed: rows.flatMap(({ row }) => (row.seq === null ? [] : [row])),
        commits,
        results,
        sent: this.#sent.rows,
        deleted: [...this.#deleted.values()],
        audit,
      },
      grown,
      removed: this.#removed.map(({ seq }) => seq),
      leftWork: this.#leftWork,
    };
  }

  /** What the statement gave, put beside what it was sent for. */
  written({ xact, commits, made }: WrittenRow): Written {
    const [seqs, own] = [commits, made].map((list) => list?.split(',').map(Number) ?? []);
    const notices = this.#notices.map((notice, index) => ({ ...notice, seq: seqs![index]! }));
    let next = 0;
    const known: KnownTask[] = [];
    for (const { task, row, bytes } of this.#flushed) {
      const seq = row.seq ?? own![next++]!;
      if (task.phase !== 'done' && task.holder)
        known.push({ task, held: { seq, xmin: xminOf(xact!), job: row.job, bytes } });
    }
    return { notices, known };
  }

  /** All of which a row may have changed, or gone. */
  get touched(): TaskId[] {
    return [...this.#rows.keys()];
  }

  /** Jobs that the transaction deletes. */
  get deletedJobs(): Iterable<string> {
    return this.#deleted.keys();
  }

  #write({ task, at, events, journal, isIdle }: TaskWrite): void {
    const { id, rootId, version } = task;
    this.tasks.set(id, task);
    this.#touched.add(id);
    if (journal) this.#journals.set(id, (this.#journals.get(id) ?? 0) + 1);
    const seq = this.#rows.get(id)?.seq;
    this.#commit(
      { taskId: id, rootId, version, at, events },
      {
        task: seq ?? null,
        removed_id: null,
        journal: journal ? this.#cells.write(JSON.stringify(journal), 'commits.journal', id, version) : null,
        idle: isIdle ?? null,
        ...(seq === undefined && { made: id }),
      },
    );
  }

  #remove(id: TaskId, at: number): void {
    const version = this.tasks.get(id)!.version + 1;
    const row = this.#rows.get(id);
    this.#commit(
      { taskId: id, rootId: id, version, at, events: [{ type: 'removed' }] },
      { task: null, removed_id: name(id), journal: null, idle: null },
    );
    if (row) {
      this.#removed.push(row);
      this.#forgetJob(this.tasks.get(id)!, row);
    } else {
      // What happened to it in this transaction must still be told, of a task that never had a row.
      for (const [index, { made, ...commit }] of this.#commits.entries())
        if (made === id) this.#commits[index] = { ...commit, removed_id: name(id) };
    }
    this.tasks.delete(id);
    this.#touched.delete(id);
  }

  #commit(
    notice: CommitNotice,
    row: Pick<RowOf<'commits'>, 'task' | 'removed_id' | 'journal' | 'idle'> & { readonly made?: TaskId },
  ): void {
    const { taskId, version, at, events } = notice;
    const written = this.#cells.write(JSON.stringify(events), 'commits.events', taskId, version);
    this.#commits.push({ ...row, version, at, events: written });
    this.#notices.push(notice);
  }

  #rowOf(task: Task, now: number): FlushedRow {
    const before = this.#rows.get(task.id);
    const live = task.phase === 'done' ? undefined : task;
    const { body, large } = bodyOf(task);
    const { owner, tool, idempotency } = task;
    const stored = this.#cells.write(body, 'tasks.body', task.id);
    const answering = answeringOf(task);
    const row = {
      seq: before?.seq ?? null,
      xmin: before?.xmin ?? null,
      id: name(task.id),
      owner: name(owner),
      tool: name(tool),
      tool_version: name(task.toolVersion),
      parent_id: task.parentId === undefined ? null : name(task.parentId),
      root_id: task.parentId === undefined ? null : name(task.rootId),
      ordinal: task.ordinal,
      epoch: task.epoch,
      holder: live?.holder === undefined ? null : name(live.holder.name),
      lease_ms: live?.holder?.leaseMs ?? null,
      ready: live?.isReady === true,
      wake_at: live?.wakeAt ?? null,
      job: this.#jobOf(task, before, now),
      deadline_at: live?.deadlineAt ?? null,
      purge_at: task.phase === 'done' ? task.purgeAt : null,
      ended_at: isEndedRoot(task) ? task.finishedAt : null,
      unpublished: task.unpublished ? true : null,
      waiting: task.phase === 'waiting' ? true : null,
      standing: standingCodeOf(task),
      join_key: joinKeyOf(task),
      created_at: task.createdAt,
      idempotency_key: idempotency ? this.#cells.keyOf({ owner, tool, key: idempotency.key }) : null,
      answering: answering === null ? null : name(answering),
      body: stored,
      journals: this.#journals.get(task.id) ?? 0,
    };
    return { task, row, bytes: bytesOf(stored), large };
  }

  /** A task that could be claimed now and that nobody holds has a job that leads to it; no other task has one. */
  #jobOf(task: Task, row: Held | undefined, now: number): string | null {
    const isFree = task.phase !== 'done' && task.wakeAt !== null && !task.holder;
    this.#leftWork ||= isFree;
    if (isFree && (task.isReady || task.wakeAt! <= now)) {
      // One in our own hands leads nobody there any more.
      if (row?.job && !this.#jobs.isInHand(row.job)) return row.job;
      return this.#sent.add(task.id, { tool: task.tool, version: task.toolVersion }, now);
    }
    if (row) this.#forgetJob(task, row);
    return null;
  }

  /** A job may lead to others too: it goes with what it led us to, or when it leads nowhere. */
  #forgetJob({ tool, toolVersion: version }: Task, { job }: Held): void {
    if (job && this.#jobs.isInHand(job))
      this.#deleted.set(job, { id: job, queue: queueOf({ tool, version }) });
  }
}

function isEndedRoot(task: Task): task is DoneTask {
  return task.phase === 'done' && task.parentId === undefined;
}

function sum<T>(some: readonly T[], of: (one: T) => number): number {
  return some.reduce((total, one) => total + of(one), 0);
}

/** Takes rows of tasks away with all that belongs to them, and notices of removal that everybody has had time to read. */
export function removeStatement(schema: string): string {
  const bytesOfCommit = `octet_length(events) + coalesce(octet_length(journal), 0) + ${rowBytes.commit} as bytes`;
  return `
with gone as (
  delete from ${schema}.tasks where seq = any($1::bigint[])
  returning octet_length(body) + ${rowBytes.task} as bytes),
apart as (
  delete from ${schema}.results where task = any($1::bigint[])
  returning octet_length(value) + ${rowBytes.result} as bytes),
own as (delete from ${schema}.commits where task = any($1::bigint[]) returning ${bytesOfCommit}),
old as (
  delete from ${schema}.commits where seq in (
    select seq from ${schema}.commits where task is null and at < $2
    order by at limit $3 for update skip locked)
  returning ${bytesOfCommit}),
lost as (
  select bytes from gone union all select bytes from apart
  union all select bytes from own union all select bytes from old)
insert into ${schema}.sizes (writer, bytes) select $4, -sum(bytes) from lost ${addToSize}`;
}
