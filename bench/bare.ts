/**
 * The baseline: the reads and writes of `src/stores/sqlite/tasks/rows.ts`, in one transaction per operation, with
 * values bound in advance and nothing parsed. `same-rows.ts` checks that it still writes the same rows as the store.
 * Everything else that the store does (savepoints, transaction counter, marks, corruption checks) counts as its cost.
 */
import type { SQLInputValue } from 'node:sqlite';
import type { TaskWrite } from '../src/ports/change.ts';
import { statusCodeOf } from '../src/stores/shared/query/status-codes.ts';
import { bodyOf, eventsText } from '../src/stores/shared/task-texts.ts';
import { type Connection, configure, connect } from '../src/stores/sqlite/driver.ts';

/** The values for the statements of a write. */
export interface Bound {
  readonly state: readonly SQLInputValue[];
  readonly place: readonly SQLInputValue[];
  readonly commit: readonly SQLInputValue[];
}

export function bind({ task, at, events, journal }: TaskWrite): Bound {
  const live = task.phase === 'done' ? undefined : task;
  return {
    state: [
      task.epoch,
      live?.worker?.name ?? null,
      live?.worker?.leaseUntil ?? null,
      live?.worker?.leaseMs ?? null,
      live?.isReady ? 1 : null,
      live?.wakeAt ?? null,
      live?.deadlineAt ?? null,
      task.phase === 'done' ? task.purgeAt : null,
      statusCodeOf(task),
      bodyOf(task).body,
      journal ? 1 : 0,
    ],
    place: [
      task.id,
      task.owner,
      task.tool,
      task.toolVersion,
      task.parentId ?? null,
      task.ordinal,
      task.createdAt,
      task.idempotency?.key ?? null,
    ],
    commit: [null, task.version, at, eventsText(events), journal ? JSON.stringify(journal) : null],
  };
}

export class BareLoop {
  readonly #db: Connection;
  readonly #sql: ReturnType<typeof prepare>;

  constructor(file: string) {
    this.#db = connect(file);
    configure(this.#db);
    this.#sql = prepare(this.#db);
  }

  create({ state, place, commit }: Bound): void {
    this.#sql.begin.run();
    const { lastInsertRowid } = this.#sql.insert.run(...state, ...place);
    this.#sql.insertCommit.run(lastInsertRowid, ...commit);
    this.#sql.commit.run();
  }

  update(id: string, { state, commit }: Bound): void {
    this.#sql.begin.run();
    const { seq } = this.#sql.get.get(id) as { seq: number };
    this.#sql.update.run(...state, seq);
    this.#sql.insertCommit.run(seq, ...commit);
    this.#sql.commit.run();
  }

  get(id: string): unknown {
    return this.#sql.get.get(id);
  }

  list(owner: string, before: number, limit: number): unknown[] {
    return this.#sql.list.all(owner, before, limit);
  }

  close(): void {
    this.#db.close();
  }
}

function prepare(db: Connection) {
  const columns = 'seq, body, lease_until';
  return {
    begin: db.prepare('begin immediate'),
    commit: db.prepare('commit'),
    get: db.prepare(`select ${columns} from tasks where id = ?`),
    list: db.prepare(`
      select ${columns} from tasks where owner = ? and parent_id is null and seq < ? order by seq desc limit +?`),
    insert: db.prepare(insertTask),
    update: db.prepare(`
      update tasks set epoch = ?, worker = ?, lease_until = ?, lease_ms = ?, ready = ?, wake_at = ?, deadline_at = ?,
        purge_at = ?, status = ?, body = ?, journals = journals + ?
      where seq = ?`),
    insertCommit: db.prepare(insertCommit),
  };
}

export const insertTask = `
  insert into tasks (epoch, worker, lease_until, lease_ms, ready, wake_at, deadline_at, purge_at, status, body,
    journals, id, owner, tool, tool_version, parent_id, ordinal, created_at, idempotency_key)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export const insertCommit =
  'insert into commits (task, removed_id, version, at, events, journal) values (?, ?, ?, ?, ?, ?)';
