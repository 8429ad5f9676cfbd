/**
 * The writes of one transaction. They are collected in memory while its commands decide, each on the result of the ones
 * before it. One statement then writes them all.
 */

import { answeringOf, joinKeyOf, type Task, type TaskId } from '../../../model/task.ts';
import type { AuditEntry } from '../../../ports/audit.ts';
import type { Change, TaskWrite } from '../../../ports/change.ts';
import type { CommittedChange } from '../../../ports/store.ts';
import { auditRow } from '../../shared/audit.ts';
import { statusCodeOf } from '../../shared/query/status-codes.ts';
import { bodyOf, eventsText, isEndedRoot } from '../../shared/task-texts.ts';
import { type Cells, name } from '../encryption/cells.ts';
import { type CachedRow, type RowVersion, xminOf } from './row-cache.ts';
import type { Lists, RowOf, WrittenRow } from './write-statement.ts';

/** The writes of a transaction, ready to be sent. */
export interface Flush {
  readonly lists: Lists;
  /** The row numbers of tasks to delete. */
  readonly removed: readonly number[];
  /** True if the transaction leaves an unclaimed task that is ready now or has a timer. */
  readonly leftWork: boolean;
}

/** The result of a write. */
export interface Written {
  readonly changes: readonly CommittedChange[];
  /** Tasks that a worker has claimed, with the new versions of their rows, for the row cache. */
  readonly claimed: readonly CachedRow[];
}

/** The row to write for one task. */
interface FlushedRow {
  readonly task: Task;
  readonly row: RowOf<'inserted'> & RowOf<'updated'>;
  /** The length of the stored body, in characters. */
  readonly length: number;
  /** A large result for a separate row. */
  readonly large: string | undefined;
}

export class Writes {
  /** All tasks that were read or written, as the commands so far leave them. */
  readonly tasks = new Map<TaskId, Task>();
  /** The rows that were read or are cached, by task. Tasks that this transaction creates have none. */
  readonly #rows = new Map<TaskId, RowVersion>();
  /** The tasks to write. Unlike the getter `touched`, it includes new tasks, and no task that was only read. */
  readonly #touched = new Set<TaskId>();
  readonly #removed: RowVersion[] = [];
  /** A commit of a task without a row has the id of the task in `inserted` instead of a row number. */
  #commits: (Omit<RowOf<'commits'>, 'nth'> & { readonly inserted?: TaskId })[] = [];
  readonly #removals: RowOf<'removals'>[] = [];
  readonly #changes: CommittedChange[] = [];
  /** How many commits added journal entries, by task. */
  readonly #journals = new Map<TaskId, number>();
  readonly #audit: AuditEntry[] = [];
  readonly #cells: Cells;
  #leftWork = false;
  #flushed: readonly FlushedRow[] = [];

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Adds tasks that were read or are cached. */
  add(found: readonly CachedRow[]): void {
    for (const { version, task } of found) {
      if (this.#rows.has(task.id)) continue;
      this.#rows.set(task.id, version);
      this.tasks.set(task.id, task);
    }
  }

  get isEmpty(): boolean {
    return this.#commits.length + this.#removals.length + this.#audit.length === 0;
  }

  /** Adds the effect of a command. `now` is the time of removals. */
  apply({ writes, removed, audit }: Change, now: number): void {
    if (audit) this.#audit.push(...audit);
    for (const write of writes) this.#write(write);
    for (const id of removed) this.#remove(id, now);
  }

  /** Encodes and encrypts everything for the statement. Called once, when all commands have decided. */
  flush(): Flush {
    const touched = [...this.#touched].map((id) => this.tasks.get(id)!);
    // Rows are written in order of their numbers, which prevents deadlocks.
    touched.sort((a, b) => (this.#rows.get(a.id)?.seq ?? 0) - (this.#rows.get(b.id)?.seq ?? 0));
    const rows = touched.map((task) => this.#rowOf(task));
    const inserted = rows.filter(({ row }) => row.seq === null);
    const nth = new Map(inserted.map(({ task }, index) => [task.id, index + 1]));
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
    const audit = this.#audit.map((entry) => auditRow(entry, { cells: this.#cells, name }));
    const commits = this.#commits.map(({ inserted, ...row }) => ({
      ...row,
      nth: inserted === undefined ? null : nth.get(inserted)!,
    }));
    this.#flushed = rows;
    return {
      lists: {
        inserted: inserted.map(({ row }) => row),
        updated: rows.flatMap(({ row }) => (row.seq === null ? [] : [row])),
        commits,
        removals: this.#removals,
        results,
        audit,
      },
      removed: this.#removed.map(({ seq }) => seq),
      leftWork: this.#leftWork,
    };
  }

  /** What was written: combines the result of the statement with the flushed rows. */
  written({ xact, inserted }: WrittenRow): Written {
    // The new row numbers, in the order of the inserted rows.
    const own = inserted?.split(',').map(Number) ?? [];
    let next = 0;
    const claimed: CachedRow[] = [];
    for (const { task, row, length } of this.#flushed) {
      const seq = row.seq ?? own[next++]!;
      if (task.phase !== 'done' && task.worker)
        claimed.push({ task, version: { seq, xmin: xminOf(xact!), length } });
    }
    return { changes: this.#changes, claimed };
  }

  /** The tasks whose rows this transaction has read, and so may have changed or deleted. */
  get touched(): TaskId[] {
    return [...this.#rows.keys()];
  }

  #write({ task, at, events, journal, isIdle }: TaskWrite): void {
    const { id, rootId, version } = task;
    this.tasks.set(id, task);
    this.#touched.add(id);
    if (journal) this.#journals.set(id, (this.#journals.get(id) ?? 0) + 1);
    const seq = this.#rows.get(id)?.seq;
    this.#commits.push({
      task: seq ?? null,
      version,
      at,
      events: this.#cells.write(eventsText(events), 'commits.events', id, version),
      journal: journal ? this.#cells.write(JSON.stringify(journal), 'commits.journal', id, version) : null,
      idle: isIdle ?? null,
      ...(seq === undefined && { inserted: id }),
    });
    this.#changes.push({ taskId: id, rootId, version, at, events });
  }

  #remove(id: TaskId, at: number): void {
    const version = this.tasks.get(id)!.version + 1;
    const row = this.#rows.get(id);
    this.#removals.push({ id: name(id), version, at });
    this.#changes.push({ taskId: id, rootId: id, version, at, events: [{ type: 'removed' }] });
    if (row) this.#removed.push(row);
    // This transaction also created the task, so it never had a row. Other processes receive only its removal.
    else this.#commits = this.#commits.filter(({ inserted }) => inserted !== id);
    this.tasks.delete(id);
    this.#touched.delete(id);
  }

  #rowOf(task: Task): FlushedRow {
    const before = this.#rows.get(task.id);
    const live = task.phase === 'done' ? undefined : task;
    this.#leftWork ||= live !== undefined && live.wakeAt !== null && !live.worker;
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
      worker: live?.worker === undefined ? null : name(live.worker.name),
      lease_ms: live?.worker?.leaseMs ?? null,
      ready: live?.isReady === true,
      wake_at: live?.wakeAt ?? null,
      deadline_at: live?.deadlineAt ?? null,
      purge_at: task.phase === 'done' ? task.purgeAt : null,
      ended_at: isEndedRoot(task) ? task.finishedAt : null,
      unpublished: task.unpublished ? true : null,
      waiting: task.phase === 'waiting' ? true : null,
      status: statusCodeOf(task),
      join_key: joinKeyOf(task),
      created_at: task.createdAt,
      idempotency_key: idempotency ? this.#cells.keyOf({ owner, tool, key: idempotency.key }) : null,
      answering: answering === null ? null : name(answering),
      body: stored,
      journals: this.#journals.get(task.id) ?? 0,
    };
    return { task, row, length: stored.length, large };
  }
}

/**
 * Deletes the tasks $1 (row numbers) with all their rows, and at most $3 removals from before $2, which every process
 * has had time to read.
 */
export function removeStatement(schema: string): string {
  return `
with gone as (delete from ${schema}.tasks where seq = any($1::bigint[])),
apart as (delete from ${schema}.results where task = any($1::bigint[])),
own as (delete from ${schema}.commits where task = any($1::bigint[]))
delete from ${schema}.removals where ctid = any(array(
  select ctid from ${schema}.removals where at < $2 order by at limit $3 for update skip locked))`;
}
