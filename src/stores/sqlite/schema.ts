/**
 * The tables, as a list of forward migrations; an entry, once released, never changes.
 *
 * `tasks.body` is the whole task; the other columns repeat what SQL must find or compare. `lease_until`,
 * `answering` (a task that is done does not change), and `alone`, which at most one row has, live in their columns
 * alone. `root_id` is null for roots; `ready`, `unpublished` and `waiting` are null unless the task is. `standing` is
 * a code (`standing-codes.ts`). `ended_at` is that of published roots alone. `journals` counts the commits that hold a
 * part of the journal. `commits` has one row for each commit of each task: what happened (the feed that subscribers
 * read) and what its journal gained. A commit with `idle` ends a pass that did nothing; `left_out` counts the versions
 * before a commit that were left out of the history with such passes.
 *
 * Rowid tables throughout: a primary key on random ids reads several times slower. Large values come last: SQLite reads
 * the columns after one through all of its pages. A commit of a live root touches only one of the indexes for
 * operators' queries, `tasks_live`, which quotas need too; the others get their entry when a root ends. In an encrypted
 * file `body`, `events`, `journal`, `value`, `opening` and `said` are blobs, and `idempotency_key` is a hash
 * (`vault.ts`); so no later migration can read them with SQL.
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

/** The request with which the id of a call ends; in a session a point stands before it. */
export const requestSql: RequestSql = {
  request: `substr(answering, ${-requestLength})`,
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
    holder text,
    lease_until integer,
    lease_ms integer,
    alone integer,
    ready integer,
    wake_at integer,
    deadline_at integer,
    purge_at integer,
    created_at integer not null,
    ended_at integer,
    standing integer not null,
    unpublished integer,
    waiting integer,
    idempotency_key text,
    join_key text,
    answering text,
    body text not null
  );
  create index tasks_by_owner on tasks (owner, seq) where parent_id is null;
  create index tasks_by_parent on tasks (parent_id, ordinal) where parent_id is not null;
  create index tasks_in_turn on tasks (tool, tool_version, owner, wake_at) where ready is not null and holder is null;
  create index tasks_sleeping on tasks (tool, tool_version, wake_at)
    where ready is null and holder is null and wake_at is not null;
  create index tasks_held on tasks (holder) where holder is not null;
  create unique index tasks_alone on tasks (alone) where alone is not null;
  create index tasks_by_deadline on tasks (deadline_at) where deadline_at is not null;
  create index tasks_by_purge on tasks (purge_at) where purge_at is not null;
  create index tasks_live on tasks (owner, standing, tool) where parent_id is null and purge_at is null;
  create index tasks_by_end on tasks (ended_at, owner, tool, standing, created_at) where ended_at is not null;
  create index tasks_ended_by_tool on tasks (tool) where ended_at is not null;
  create index tasks_ended_badly on tasks (standing) where standing > 4 and ended_at is not null;
  create index tasks_waiting on tasks (waiting) where waiting is not null;
  create index tasks_asking on tasks (root_id) where waiting is not null and root_id is not null;
  create index tasks_to_join on tasks (join_key, seq) where join_key is not null;
  create index tasks_by_request on tasks (${requestSql.request}) where ${requestSql.isInSession};
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
/** What the version table was called before the first release. */
const olderVersionTable = 'holdfast_schema';

/**
 * Returns the names of the tables. Refuses a file from before the first release, and one that has tables but none for
 * tasks and none of `others`: it belongs to another program.
 */
export function ownTables(db: Connection, file: string, others: readonly string[] = []): Set<unknown> {
  const rows = db.prepare("select name from sqlite_schema where type = 'table'").all();
  const tables = new Set(rows.map(({ name }) => name));
  if (tables.has(olderVersionTable))
    throw new StoreError(
      'STORE_NOT_OPENED',
      file,
      'it was created by a Holdfast before its first release, which this one cannot read',
      'Use another file, or delete this one together with its -wal, -shm and -instances; nothing was changed here.',
    );
  if (tables.size > 0 && ![versionTable, ...others].some((name) => tables.has(name)))
    throw new StoreError(
      'STORE_CORRUPT',
      file,
      'this is a SQLite database of another program',
      `Choose a file of its own for ${others[0] ?? 'Holdfast'}; nothing was changed here.`,
    );
  return tables;
}

/** How many migrations were applied. Refuses what is not ours to touch, and writes nothing. */
export function versionOf(db: Connection, file: string): number {
  const tables = ownTables(db, file);
  if (tables.size === 0) return 0;
  const { version, count } = db
    .prepare(`
      select coalesce(max(version), 0) as version, count(*) filter (where applied_at glob '20??-??-??T*') as count
      from ${versionTable}`)
    .get() as { version: number; count: number };
  const isEmptied = version === 0 && tables.has('tasks');
  if (version !== count || isEmptied) throw new Corrupt('its table of versions is not whole');
  if (version > migrations.length) {
    throw new StoreError(
      'STORE_TOO_NEW',
      file,
      `it was written by a newer Holdfast (its tables are at version ${version}, this one knows ${migrations.length})`,
      'Update this Holdfast, or open another file; nothing was changed here.',
    );
  }
  return version;
}

/** Brings the tables up to date. Runs inside a write transaction, so that of several processes one migrates. */
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
  // SQLite opens a file that may only be read all the same: it is refused here, not at the first commit.
  db.exec('delete from holdfast_seal where false');
}
