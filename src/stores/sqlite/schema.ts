/**
 * The tables, as a list of forward migrations; an entry, once released, never changes.
 *
 * `tasks.body` is the whole task; the other columns repeat what SQL must find or compare. `lease_until`,
 * `answering`, and `alone`, which at most one row has, live in their columns alone. `commits` has one row for each commit of each task: what
 * happened (the feed that subscribers read) and what its journal gained. Rowid tables throughout: a primary key
 * on random ids reads several times slower. `ended_at` is that of published roots alone. In an encrypted file `body`,
 * `events`, `journal`, `value`, `opening` and `said` are blobs, and `idempotency_key` is a hash (`vault.ts`).
 * `journals` counts the commits that hold a part of the journal. A commit with `idle` ends a pass that did nothing;
 * `left_out` says how many versions before a commit were left out of the history with such passes. `root_id`
 * is null for roots, `unpublished` and `waiting` null unless the task is. `standing` is a code (`standing-codes.ts`).
 */
import { crashPoint } from '../../engine/crash-point.ts';
import { StoreCorrupt, StoreTooNew } from '../../engine/store-errors.ts';
import { runtime } from '../../model/runtime.ts';
import { Damaged } from '../values/damaged.ts';
import { auditTables } from './audit.ts';
import { callColumns } from './calls.ts';
import { dispatchColumns } from './dispatch-schema.ts';
import type { Connection } from './driver.ts';
import { renewSeal, sealTable } from './seal.ts';
import { surveyColumns } from './survey-schema.ts';
import { encryptionTable } from './vault.ts';

const migrations: readonly string[] = [
  `
  create table tasks (
    seq integer primary key,
    id text not null unique,
    owner text not null,
    tool text not null,
    tool_version text not null,
    parent_id text,
    ordinal integer not null,
    epoch integer not null,
    holder text,
    lease_until integer,
    wake_at integer,
    deadline_at integer,
    purge_at integer,
    idempotency_key text,
    body text not null
  );
  create index tasks_by_owner on tasks (owner, seq) where parent_id is null;
  create index tasks_by_parent on tasks (parent_id, ordinal) where parent_id is not null;
  create index tasks_ready on tasks (tool, tool_version, wake_at) where wake_at is not null;
  create index tasks_by_deadline on tasks (deadline_at) where deadline_at is not null;
  create index tasks_by_purge on tasks (purge_at) where purge_at is not null;
  create unique index tasks_by_idempotency_key on tasks (owner, tool, idempotency_key)
    where idempotency_key is not null;

  create table commits (
    seq integer primary key,
    task integer,
    removed_id text,
    version integer not null,
    at integer not null,
    events text not null,
    journal text
  );
  create index commits_by_task on commits (task) where task is not null;
  create index commits_of_removals on commits (at) where task is null;

  create table results (
    task integer primary key,
    value text not null
  );
  `,
  `
  alter table tasks add column root_id text;
  update tasks set root_id = json_extract(body, '$.rootId') where parent_id is not null;
  alter table tasks add column unpublished integer;
  create table secrets (
    name text primary key,
    value blob not null
  );
  `,
  `
  create table sessions (
    id text primary key,
    owner text not null,
    opening text not null,
    seen_at integer not null
  );
  create index sessions_by_seen_at on sessions (seen_at);
  `,
  `
  alter table tasks add column waiting integer;
  update tasks set waiting = 1 where json_extract(body, '$.phase') = 'waiting';
  create index tasks_waiting on tasks (waiting) where waiting is not null;
  `,
  // From here on texts may be encrypted, so that no later migration can look into them with SQL.
  encryptionTable,
  `
  create index tasks_live on tasks (owner) where parent_id is null and purge_at is null;
  `,
  auditTables,
  // The last commit of a task that is done is its end, and every root that is done has a moment when it goes.
  `
  alter table tasks add column ended_at integer;
  update tasks set ended_at = (select at from commits where task = tasks.seq order by commits.seq desc limit 1)
    where parent_id is null and purge_at is not null and unpublished is null;
  create index tasks_by_end on tasks (ended_at) where ended_at is not null;
  `,
  surveyColumns,
  dispatchColumns,
  // A journal is read without the commits that added nothing to it, and a pass that did nothing is left out after a while.
  `
  drop index commits_by_task;
  create index commits_by_task on commits (task, version) where task is not null;
  create index commits_with_journal on commits (task, version) where journal is not null;
  alter table commits add column idle integer;
  alter table commits add column left_out integer not null default 0;
  create index commits_idle on commits (at) where idle is not null;
  alter table tasks add column journals integer not null default 0;
  update tasks set journals =
    (select count(*) from commits where commits.task = tasks.seq and commits.journal is not null);
  create index tasks_asking on tasks (root_id) where waiting is not null and root_id is not null;
  `,
  callColumns,
];

/** How many migrations were applied. Refuses what is not ours to touch, and writes nothing. */
export function versionOf(db: Connection, file: string): number {
  const tables = db.prepare("select name from sqlite_schema where type = 'table'").all();
  if (tables.length === 0) return 0;
  if (!tables.some(({ name }) => name === 'holdfast_schema')) {
    throw new StoreCorrupt(
      file,
      'this is a SQLite database of another program',
      'Choose a file of its own for Holdfast; nothing was changed here.',
    );
  }
  const { version, count } = db
    .prepare(`
      select coalesce(max(version), 0) as version, count(*) filter (where applied_at glob '20??-??-??T*') as count
      from holdfast_schema`)
    .get() as { version: number; count: number };
  const isEmptied = version === 0 && tables.some(({ name }) => name === 'tasks');
  if (version !== count || isEmptied) throw new Damaged('its table of versions is not whole');
  if (version > migrations.length) {
    throw new StoreTooNew(
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
    'create table if not exists holdfast_schema (version integer primary key, applied_at text not null)',
  );
  db.exec(sealTable);
  const applied = db.prepare('insert into holdfast_schema (version, applied_at) values (?, ?)');
  for (const [index, sql] of migrations.entries()) {
    if (index < version) continue;
    db.exec(sql);
    applied.run(index + 1, new Date(runtime.now()).toISOString());
    crashPoint('open: migrating');
  }
  if (version === 0) renewSeal(db);
  // SQLite opens a file that may only be read all the same: it is refused here, not at the first commit.
  db.exec('delete from holdfast_seal where false');
}
