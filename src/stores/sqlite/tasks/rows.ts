/** Tasks as rows: synchronous reads and writes of `tasks` and `commits` for commands and look-ups. */

import type { Json } from '../../../model/json.ts';
import { answeringOf, joinKeyOf, type Owner, type Task, type TaskId } from '../../../model/task.ts';
import type { Change, Family, Lineage, TaskWrite } from '../../../ports/change.ts';
import type { CommittedChange, IdempotencyScope } from '../../../ports/store.ts';
import { auditRow } from '../../shared/audit.ts';
import { CorruptRecord, corruptionOf } from '../../shared/corrupt.ts';
import { expectIndex } from '../../shared/look-ups.ts';
import { statusCodeOf } from '../../shared/query/status-codes.ts';
import {
  bodyOf,
  eventsOrNone,
  eventsText,
  hasSeparateResult,
  isEndedRoot,
  journalIn,
  withResult,
} from '../../shared/task-texts.ts';
import { familyIn, lineageIn } from '../../shared/trees.ts';
import type { Connection } from '../driver.ts';
import { type Cells, name, type Stored } from '../encryption/cells.ts';
import { prepare } from './statements.ts';
import { ParsedTasks, type TaskRow } from './task-row.ts';

/** How long commits of removed tasks are kept, so that other processes can read them. */
const keepRemovalsMs = 3_600_000;

/** A commit with its global sequence number. */
export interface NumberedChange extends CommittedChange {
  readonly seq: number;
}

export interface Written {
  readonly own: readonly NumberedChange[];
  /** Whether there are unclaimed tasks that are ready now or at a later time. */
  readonly leftWork: boolean;
}

export class Rows {
  readonly #db: Connection;
  readonly #sql: ReturnType<typeof prepare>;
  /** The row numbers and versions of the tasks that the current command has read. */
  readonly #found = new Map<TaskId, { readonly seq: number; readonly version: number }>();
  readonly #parsed: ParsedTasks;
  readonly #cells: Cells;
  #leftWork = false;
  #own: NumberedChange[] = [];

  constructor(db: Connection, cells: Cells) {
    this.#db = db;
    this.#cells = cells;
    this.#parsed = new ParsedTasks(cells);
    this.#sql = prepare(db, cells);
  }

  // --- Reading --------------------------------------------------------------------------------------------

  get(id: TaskId, owner?: Owner): Task | undefined {
    const row = this.#find(id, owner);
    if (!row) return undefined;
    const task = this.#taskOf(row);
    expectIndex(task.id === id && (owner === undefined || task.owner === owner));
    if (!hasSeparateResult(task)) return task;
    const result = this.#sql.resultApart.get(row.seq) as { value: Stored } | undefined;
    if (!result) throw new CorruptRecord(task.id, 'its result is missing');
    return withResult(task, result.value, this.#cells);
  }

  /** Inside a transaction. */
  task(id: TaskId): Task | undefined {
    const task = this.#read(this.#find(id));
    expectIndex(!task || task.id === id);
    return task;
  }

  /** Inside a transaction. */
  lineage(id: TaskId): Lineage | undefined {
    return lineageIn({ get: (one) => this.task(one) }, id);
  }

  family(id: TaskId): Family | undefined {
    return this.#inSnapshot(() => {
      const lineage = this.lineage(id);
      if (!lineage) return undefined;
      const { task, ancestors } = lineage;
      const rows = task.childCount === 0 ? [] : this.#sql.descendants.all(id);
      const below = rows.map((row) => this.#read(row)!);
      return familyIn(new Map([task, ...ancestors, ...below].map((one) => [one.id, one])), id);
    });
  }

  asking(rootId: TaskId): Task[] {
    return this.#inSnapshot(() => {
      const tasks = (this.#sql.asking.all(rootId) as unknown as TaskRow[]).map((row) =>
        this.#parsed.taskOf(row),
      );
      const known = new Set([rootId, ...tasks.map(({ id }) => id)]);
      expectIndex(tasks.every((task) => task.rootId === rootId && known.has(task.parentId!)));
      return tasks.sort((one, other) => one.depth - other.depth);
    });
  }

  withKey(scope: IdempotencyScope): Task | undefined {
    const { owner, tool, key } = scope;
    const rows = this.#cells.keysOf(scope).map((stored) => this.#sql.withKey.get(owner, tool, stored));
    const task = this.#read(rows.find((row) => row !== undefined));
    expectIndex(!task || (task.owner === owner && task.tool === tool && task.idempotency?.key === key));
    return task;
  }

  journal(id: TaskId): Json[] {
    return this.#inSnapshot(() => {
      const row = this.#find(id);
      if (!row) return [];
      const task = this.#taskOf(row);
      expectIndex(task.id === id);
      const commits = this.#sql.journal.all(row.seq) as { task: number; version: number; journal: Stored }[];
      const { journals } = this.#sql.journals.get(row.seq) as { journals: number };
      expectIndex(commits.every((commit) => commit.task === row.seq));
      return journalIn(id, commits, journals, this.#cells);
    });
  }

  size(): number {
    return (this.#sql.size.get() as { bytes: number }).bytes;
  }

  newestCommit(): number {
    return (this.#sql.newestCommit.get() as { seq: number | null }).seq ?? 0;
  }

  /** Commits after a given one, of all processes. */
  commitsAfter(seq: number, limit: number): NumberedChange[] {
    const rows = this.#sql.commitsAfter.all(seq, limit) as {
      seq: number;
      id: TaskId;
      root_id: TaskId;
      version: number;
      at: number;
      events: Stored;
    }[];
    return rows.map(({ id, root_id, events, ...rest }) => ({
      ...rest,
      taskId: id,
      rootId: root_id,
      events: eventsOrNone(id, () => this.#cells.read(events, 'commits.events', id, rest.version)),
    }));
  }

  // --- Writing, inside a transaction ----------------------------------------------------------------------

  /** Begins a command. It may write only tasks that it has read. */
  begin(): void {
    this.#found.clear();
  }

  /** False after a database error that rolled back the whole transaction. */
  get isInTransaction(): boolean {
    return this.#db.isTransaction;
  }

  /** Writes a change. If this throws, its writes are rolled back, so they are also removed from the feed. */
  apply({ writes, removed, audit }: Pick<Change, 'writes' | 'removed' | 'audit'>, now: number): void {
    const before = this.#own.length;
    try {
      for (const entry of audit ?? []) {
        const { at, action, owner, task, body } = auditRow(entry, { cells: this.#cells, name });
        this.#sql.audit.run(at, action, owner, task, body);
      }
      for (const write of writes) this.#write(write);
      // The commit of a removal is written before the rows are deleted, so the newest commit number never decreases.
      for (const id of removed) this.#remove(id, now);
      if (removed.length > 0) this.#sql.forgetRemovals.run(now - keepRemovalsMs, removed.length + 100);
    } catch (error) {
      this.#own.length = before;
      throw error;
    }
  }

  /** Deletes idle passes (a claim, and a commit that parked the task again) from the history. Returns how many. */
  leaveOut(before: number, limit: number): number {
    const passes = this.#sql.idlePasses.all(before, limit) as { task: number; version: number }[];
    for (const { task, version } of passes) {
      const pass = { task, version };
      // The last commit of a task stays, because the omission is counted in the commit after it.
      if (this.#sql.leaveOutBefore.run(pass).changes === 0) this.#sql.keepPass.run(pass);
      else this.#sql.forgetPass.run(pass);
    }
    return passes.length;
  }

  /** Returns the writes of this connection since the last call. */
  takeWritten(): Written {
    const written = { own: this.#own, leftWork: this.#leftWork };
    this.#own = [];
    this.#leftWork = false;
    return written;
  }

  #find(id: TaskId, owner?: Owner): TaskRow | undefined {
    const found = owner === undefined ? this.#sql.get.get(id) : this.#sql.getOf.get(id, id, owner);
    // Rows are read as arrays, because objects created by SQLite are slower than this one.
    const row = found as unknown as [number, Stored, number | null] | undefined;
    return row && { seq: row[0], body: row[1], lease_until: row[2], id };
  }

  /** Runs several reads in one snapshot. */
  #inSnapshot<T>(read: () => T): T {
    if (this.#db.isTransaction) return read();
    this.#db.exec('begin');
    try {
      return read();
    } finally {
      if (this.#db.isTransaction) this.#db.exec('commit');
    }
  }

  #read(row: unknown): Task | undefined {
    if (row === undefined) return undefined;
    const task = this.#taskOf(row as TaskRow);
    this.#found.set(task.id, { seq: (row as TaskRow).seq, version: task.version });
    return task;
  }

  #taskOf(row: TaskRow): Task {
    try {
      return this.#parsed.taskOf(row);
    } catch (error) {
      // Most rows are read without their id. It is read only for corrupt ones.
      throw corruptionOf(() => row.id ?? (this.#sql.idAt.get(row.seq) as { id: TaskId }).id, error);
    }
  }

  #write({ task, at, events, journal, isIdle }: TaskWrite): void {
    const live = task.phase === 'done' ? undefined : task;
    this.#leftWork ||= live !== undefined && live.wakeAt !== null && !live.worker;
    const { id: taskId, rootId, version } = task;
    const { body: text, large } = bodyOf(task);
    const body = this.#cells.write(text, 'tasks.body', taskId);
    const state = [
      task.epoch,
      live?.worker?.name ?? null,
      live?.worker?.leaseUntil ?? null,
      live?.worker?.leaseMs ?? null,
      live?.isReady ? 1 : null,
      live?.wakeAt ?? null,
      live?.deadlineAt ?? null,
      task.phase === 'done' ? task.purgeAt : null,
      isEndedRoot(task) ? task.finishedAt : null,
      task.unpublished ? 1 : null,
      task.phase === 'waiting' ? 1 : null,
      statusCodeOf(task),
      joinKeyOf(task),
      body,
      journal ? 1 : 0,
    ] as const;
    let seq = this.#found.get(task.id)?.seq;
    if (seq !== undefined) {
      this.#sql.update.run(task.epoch, live?.worker?.name ?? null, ...state, seq);
    } else {
      const place = [
        answeringOf(task),
        task.id,
        task.owner,
        task.tool,
        task.toolVersion,
        task.parentId ?? null,
        task.parentId === undefined ? null : task.rootId,
        task.ordinal,
        task.createdAt,
      ] as const;
      const { owner, tool, idempotency } = task;
      const key = idempotency ? this.#cells.keyOf({ owner, tool, key: idempotency.key }) : null;
      seq = Number(this.#sql.insert.run(...state, ...place, key).lastInsertRowid);
    }
    if (large !== undefined) this.#sql.keepApart.run(seq, this.#cells.write(large, 'results.value', taskId));
    else this.#parsed.remember(seq, body, task);
    const { lastInsertRowid } = this.#sql.commit.run(
      seq,
      null,
      version,
      at,
      this.#cells.write(eventsText(events), 'commits.events', taskId, version),
      journal ? this.#cells.write(JSON.stringify(journal), 'commits.journal', taskId, version) : null,
      isIdle ? 1 : null,
    );
    this.#own.push({ seq: Number(lastInsertRowid), taskId, rootId, version, at, events });
  }

  #remove(id: TaskId, at: number): void {
    const { seq, version: last } = this.#found.get(id)!;
    const version = last + 1;
    const events = [{ type: 'removed' }] as const;
    const written = this.#cells.write(eventsText(events), 'commits.events', id, version);
    const { lastInsertRowid } = this.#sql.commit.run(null, id, version, at, written, null, null);
    this.#own.push({ seq: Number(lastInsertRowid), taskId: id, rootId: id, version, at, events });
    this.#sql.forgetCommits.run(seq);
    this.#sql.forgetResult.run(seq);
    this.#sql.remove.run(seq);
  }
}
