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
  /** The rows of tasks to delete. */
  readonly removed: readonly number[];
  /** True if there are unclaimed tasks that are ready now or at a later time. */
  readonly leftWork: boolean;
}

/** The result of a write. */
export interface Written {
  readonly changes: readonly CommittedChange[];
  /** Claimed tasks with the new versions of their rows. */
  readonly claimed: readonly CachedRow[];
}

interface FlushedRow {
  readonly task: Task;
  readonly row: RowOf<'inserted'> & RowOf<'updated'>;
  readonly length: number;
  readonly large: string | undefined;
}

export class Writes {
  readonly tasks = new Map<TaskId, Task>();
  /** The rows that existed when the transaction began. */
  readonly #rows = new Map<TaskId, RowVersion>();
  readonly #touched = new Set<TaskId>();
  readonly #removed: RowVersion[] = [];
  /** A commit of a task without a row has `inserted` instead of a row number. */
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

  apply({ writes, removed, audit }: Change, now: number): void {
    if (audit) this.#audit.push(...audit);
    for (const write of writes) this.#write(write);
    for (const id of removed) this.#remove(id, now);
  }

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

  /** Combines the result of the statement with the flushed rows. */
  written({ xact, inserted }: WrittenRow): Written {
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

  /** The tasks whose existing rows this transaction may have changed or deleted. */
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
    // The task never had a row, so other processes only receive its removal.
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

/** Deletes tasks with all their rows, and removals that every process has had time to read. */
export function removeStatement(schema: string): string {
  return `
with gone as (delete from ${schema}.tasks where seq = any($1::bigint[])),
apart as (delete from ${schema}.results where task = any($1::bigint[])),
own as (delete from ${schema}.commits where task = any($1::bigint[]))
delete from ${schema}.removals where ctid = any(array(
  select ctid from ${schema}.removals where at < $2 order by at limit $3 for update skip locked))`;
}
