/**
 * The tables, as a list of forward migrations. A released migration never changes.
 *
 * `tasks.body` is the whole task as JSON, except a large result, which is in `results`. Most other columns repeat
 * fields of the task that SQL searches or compares. These have the current value only in their column:
 *   `lease_until`  because renewals do not rewrite the body
 *   `answering`    the call that the task answers; it may change after the task is done, when the body is final
 *   `alone`        set for the task that has the right to run alone; at most one row has it
 *   `journals`     the number of the task's commits that contain journal entries
 * `root_id` is null for roots; `ready`, `unpublished` and `waiting` are null or 1. `status` is a code
 * (`status-codes.ts`). `ended_at` is set only for finished roots. Times are in milliseconds since 1970.
 *
 * `commits` has one row for each commit of each task: its events, for the change feed, and its journal entries. The
 * commit that removed a task has no `task`, but its id in `removed_id`. A commit with `idle` ends a pass that did
 * nothing. Such passes are deleted later, and the commit after them counts the missing versions in `left_out`.
 *
 * All tables are rowid tables, because reads through a primary key on random ids are several times slower. Large values
 * come last, because SQLite reads through all pages of a value to reach later columns. Of the indexes for operators'
 * queries, a commit of a live root updates only `tasks_live`, which quotas need too; the others get an entry when a
 * root ends. In an encrypted file `body`, `events`, `journal`, `value` and `opening` are blobs and `idempotency_key` is
 * a hash (`vault.ts`), so later migrations cannot read them with SQL.
 */

import { requestLength } from '../../model/task.ts';
import { crashPoint } from '../../ports/crash-point.ts';
import { StoreError } from '../../ports/store-errors.ts';
import { runtime } from '../../runtime/runtime.ts';
import type { RequestSql } from '../shared/calls.ts';
import { Corrupt } from '../shared/corrupt.ts';
import type { Connection } from './driver.ts';
import { encryptionTable } from './encryption/vault.ts';
import { counterTable, renewCounter } from './file/transaction-counter.ts';
import { auditTables } from './tasks/audit.ts';

/** SQL for the request in `answering`: it ends with the request id, after a dot, only if the call was in a session. */
export const requestSql: RequestSql = {
  requestId: `substr(answering, ${-requestLength})`,
  isInSession: `substr(answering, ${-requestLength - 1}, 1) = '.'`,
};

const migrations: readonly string[] = [
  `
  create table tasks (
    seq integer primary key,
    id text not null unique,
    owner text not null,
    tool text not null,
    tool_version text not null,
    parent_id text,
    root_id text,
    ordinal integer not null,
    epoch integer not null,
    journals integer not null default 0,
    worker text,
    lease_until integer,
    lease_ms integer,
    alone integer,
    ready integer,
    wake_at integer,
    deadline_at integer,
    purge_at integer,
    created_at integer not null,
    ended_at integer,
    status integer not null,
    unpublished integer,
    waiting integer,
    idempotency_key text,
    join_key text,
    answering text,
    body text not null
  );
  create index tasks_by_owner on tasks (owner, seq) where parent_id is null;
  create index tasks_by_parent on tasks (parent_id, ordinal) where parent_id is not null;
  create index tasks_in_turn on tasks (tool, tool_version, owner, wake_at) where ready is not null and worker is null;
  create index tasks_sleeping on tasks (tool, tool_version, wake_at)
    where ready is null and worker is null and wake_at is not null;
  create index tasks_by_worker on tasks (worker) where worker is not null;
  create unique index tasks_alone on tasks (alone) where alone is not null;
  create index tasks_by_deadline on tasks (deadline_at) where deadline_at is not null;
  create index tasks_by_purge on tasks (purge_at) where purge_at is not null;
  create index tasks_live on tasks (owner, status, tool) where parent_id is null and purge_at is null;
  create index tasks_by_end on tasks (ended_at, owner, tool, status, created_at) where ended_at is not null;
  create index tasks_ended_by_tool on tasks (tool) where ended_at is not null;
  create index tasks_ended_badly on tasks (status) where status > 4 and ended_at is not null;
  create index tasks_waiting on tasks (waiting) where waiting is not null;
  create index tasks_asking on tasks (root_id) where waiting is not null and root_id is not null;
  create index tasks_to_join on tasks (join_key, seq) where join_key is not null;
  create index tasks_by_request on tasks (${requestSql.requestId}) where ${requestSql.isInSession};
  create unique index tasks_by_idempotency_key on tasks (owner, tool, idempotency_key)
    where idempotency_key is not null;

  create table commits (
    seq integer primary key,
    task integer,
    removed_id text,
    version integer not null,
    left_out integer not null default 0,
    at integer not null,
    idle integer,
    events text not null,
    journal text
  );
  create index commits_by_task on commits (task, version) where task is not null;
  create index commits_with_journal on commits (task, version) where journal is not null;
  create index commits_of_removals on commits (at) where task is null;
  create index commits_idle on commits (at) where idle is not null;

  create table results (
    task integer primary key,
    value text not null
  );

  create table secrets (
    name text primary key,
    value blob not null
  );

  create table sessions (
    id text primary key,
    owner text not null,
    opening text not null,
    seen_at integer not null
  );
  create index sessions_by_seen_at on sessions (seen_at);
  ${auditTables}
  ${encryptionTable}
  ${counterTable}
  `,
];

const versionTable = 'holdfast_schema_version';
/** The version table of files from before the first release, which cannot be read. */
const olderVersionTable = 'holdfast_schema';

/**
 * Returns the names of all tables in the file. Throws for a file from before the first release, and for a database of
 * another program: one that has tables, but neither the version table nor any of `others`.
 */
export function ownTables(db: Connection, file: string, others: readonly string[] = []): Set<unknown> {
  const rows = db.prepare("select name from sqlite_schema where type = 'table'").all();
  const tables = new Set(rows.map(({ name }) => name));
  if (tables.has(olderVersionTable))
    throw new StoreError(
      'STORE_NOT_OPENED',
      file,
      'it was created by a version of Holdfast before the first release, which this version cannot read',
      'Use another file, or delete this one together with its -wal, -shm and -instances. Nothing was changed.',
    );
  if (tables.size > 0 && ![versionTable, ...others].some((name) => tables.has(name)))
    throw new StoreError(
      'STORE_CORRUPT',
      file,
      'this is a SQLite database of another program',
      `Use a separate file for ${others[0] ?? 'Holdfast'}. Nothing was changed.`,
    );
  return tables;
}

/** Returns how many migrations were applied. Throws for a file that is not Holdfast's or too new. Writes nothing. */
export function versionOf(db: Connection, file: string): number {
  const tables = ownTables(db, file);
  if (tables.size === 0) return 0;
  const { version, count } = db
    .prepare(`
      select coalesce(max(version), 0) as version, count(*) filter (where applied_at glob '20??-??-??T*') as count
      from ${versionTable}`)
    .get() as { version: number; count: number };
  const isEmptied = version === 0 && tables.has('tasks');
  if (version !== count || isEmptied) throw new Corrupt('its version table is incomplete');
  if (version > migrations.length) {
    throw new StoreError(
      'STORE_TOO_NEW',
      file,
      `it was written by a newer Holdfast (its tables have version ${version}, this Holdfast supports ${migrations.length})`,
      'Update Holdfast, or open another file. Nothing was changed.',
    );
  }
  return version;
}

/** Applies missing migrations. Call it inside a write transaction, so that only one of several processes migrates. */
export function migrate(db: Connection, file: string): void {
  const version = versionOf(db, file);
  db.exec(
    `create table if not exists ${versionTable} (version integer primary key, applied_at text not null)`,
  );
  const applied = db.prepare(`insert into ${versionTable} (version, applied_at) values (?, ?)`);
  for (const [index, sql] of migrations.entries()) {
    if (index < version) continue;
    db.exec(sql);
    applied.run(index + 1, new Date(runtime.now()).toISOString());
    crashPoint('open: migrating');
  }
  if (version === 0) renewCounter(db);
  // SQLite also opens a read-only file. This write of nothing makes it fail now instead of at the first commit.
  db.exec('delete from holdfast_transaction_counter where false');
}
