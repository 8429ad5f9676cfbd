/**
 * The tables, as a list of forward migrations. A released migration never changes. SCHEMA is replaced by the name of
 * the schema; functions need it, because they do not use the search path of the migration.
 *
 * - `tasks.body` is the whole task as JSON; the other columns repeat the fields that SQL searches or compares. These
 *   columns are not in the body: `lease_until`, `answering`, `deserted` (true if the worker is dead although its lease
 *   has not expired) and `alone` (true for the one task that has reserved the right to run alone, `Queue.isolate`).
 * - `commits` has one row for each commit of each task: its events and its journal entries. It has at most eight
 *   columns, because a ninth would make every row eight bytes longer.
 * - `removals` contains the last commit of each removed task for about an hour.
 * - `xact` is the transaction that wrote the row; compared with a snapshot it shows exactly which rows are new.
 *
 * Rows of tasks change with every commit, so their pages have free space for new versions and are vacuumed often. A
 * commit of a live root updates only one of the indexes for operators' queries, `tasks_live`, which quotas need too;
 * the others get an entry when a root ends. Times are milliseconds in double precision, which preserves JavaScript
 * numbers. Statuses are stored as codes (`status-codes.ts`); above 4 are failed, cancelled, lost, and subtasks with a
 * question.
 */

import { requestLength } from '../../model/task.ts';
import { StoreError } from '../../ports/store-errors.ts';
import type { RequestSql } from '../shared/calls.ts';
import { withoutTimeout } from './connections/driver.ts';
import type { Connections, Transaction } from './connections/pool.ts';
import { laneTables } from './connections/write-lanes.ts';
import { encryptionTable } from './encryption/vault.ts';
import { auditTables } from './tasks/audit.ts';

/**
 * Deletes passes that did nothing (`Store.leaveOut`). `tasks.journals` counts the commits with a part of the journal. A
 * commit with `idle` ends a pass that did nothing. Later it is deleted together with the claim before it, and
 * `left_out` of the next commit counts the deleted versions directly before it. Only one process at a time deletes
 * passes, so that no count is added to a row that another process deletes.
 */
const historyFunctions = `
  create function leave_out(before double precision, max_passes integer) returns integer language plpgsql as $$
  declare
    pass record;
    gone integer;
    passes integer := 0;
  begin
    if not pg_try_advisory_xact_lock(hashtextextended('holdfast leave out SCHEMA', 0)) then return 0; end if;
    for pass in select task, version from SCHEMA.commits where idle and at < before order by at limit max_passes loop
      passes := passes + 1;
      select sum(1 + coalesce(c.left_out, 0)) into gone
        from SCHEMA.commits c where c.task = pass.task and c.version between pass.version - 1 and pass.version;
      update SCHEMA.commits c set left_out = coalesce(c.left_out, 0) + gone
        where c.task = pass.task and c.version = (
          select min(n.version) from SCHEMA.commits n where n.task = pass.task and n.version > pass.version);
      -- The last commit of a task stays, because the omission is counted in the commit after it.
      if not found then
        update SCHEMA.commits c set idle = null where c.task = pass.task and c.version = pass.version;
      else
        delete from SCHEMA.commits c
          where c.task = pass.task and c.version between pass.version - 1 and pass.version;
      end if;
    end loop;
    return passes;
  end $$;
`;

/** `answering` ends with the request id, which has a fixed length. If the call came in a session, a dot precedes it. */
export const requestSql: RequestSql = {
  requestId: `right(answering, ${requestLength})`,
  isInSession: `left(right(answering, ${requestLength + 1}), 1) = '.'`,
};

const migrations: readonly string[] = [
  `
  create table tasks (
    seq bigint generated always as identity primary key,
    id text not null collate "C" unique,
    owner text not null collate "C",
    tool text not null collate "C",
    tool_version text not null collate "C",
    parent_id text collate "C",
    root_id text collate "C",
    ordinal integer not null,
    epoch integer not null,
    journals integer not null default 0,
    worker text collate "C",
    lease_until double precision,
    lease_ms double precision,
    deserted boolean not null default false,
    alone boolean,
    ready boolean not null default false,
    wake_at double precision,
    deadline_at double precision,
    purge_at double precision,
    created_at double precision not null,
    ended_at double precision,
    status integer not null,
    unpublished boolean,
    waiting boolean,
    idempotency_key text collate "C",
    join_key text collate "C",
    answering text collate "C",
    body text not null
  ) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
  create index tasks_by_owner on tasks (owner, seq) where parent_id is null;
  create index tasks_by_parent on tasks (parent_id, ordinal) where parent_id is not null;
  create index tasks_in_turn on tasks (tool, tool_version, owner, wake_at, seq) where ready and worker is null;
  create index tasks_sleeping on tasks (tool, tool_version, wake_at)
    where not ready and wake_at is not null and worker is null;
  create index tasks_by_worker on tasks (worker) where worker is not null;
  create unique index tasks_alone on tasks (alone) where alone;
  create index tasks_by_deadline on tasks (deadline_at) where deadline_at is not null;
  create index tasks_by_purge on tasks (purge_at) where purge_at is not null;
  create index tasks_live on tasks (owner, status, tool, seq) where parent_id is null and purge_at is null;
  create index tasks_by_end on tasks (ended_at, seq) include (owner, tool, status, created_at)
    where ended_at is not null;
  create index tasks_ended_by_tool on tasks (tool, seq) where ended_at is not null;
  create index tasks_ended_badly on tasks (status, seq) where status > 4 and ended_at is not null;
  create index tasks_waiting on tasks (seq) where waiting;
  create index tasks_asking on tasks (root_id) where waiting and root_id is not null;
  create index tasks_to_join on tasks (join_key, seq) where join_key is not null;
  create index tasks_by_request on tasks ((${requestSql.requestId})) where ${requestSql.isInSession};
  create unique index tasks_by_idempotency_key on tasks (owner, tool, idempotency_key)
    where idempotency_key is not null;

  create table commits (
    task bigint not null,
    at double precision not null,
    xact xid8 not null default pg_current_xact_id(),
    version integer not null,
    left_out integer,
    idle boolean,
    events text not null,
    journal text,
    primary key (task, version)
  );
  create index commits_idle on commits (at) where idle;
  create index commits_by_xact on commits (xact);

  create table removals (
    id text not null collate "C",
    at double precision not null,
    xact xid8 not null default pg_current_xact_id(),
    version integer not null
  );
  create index removals_by_at on removals (at);
  create index removals_by_xact on removals (xact);

  create table results (
    task bigint primary key,
    value text not null
  );

  create table secrets (
    name text collate "C" primary key,
    seq bigint generated always as identity unique,
    value bytea not null
  );

  create table sessions (
    id text collate "C" primary key,
    seq bigint generated always as identity unique,
    owner text not null collate "C",
    opening text not null,
    seen_at double precision not null
  );
  create index sessions_by_seen_at on sessions (seen_at);

  create table processes (
    name text collate "C" primary key,
    key bigint,
    seen_at timestamptz not null default now()
  );
  ${auditTables}
  ${encryptionTable}
  ${laneTables}
  ${historyFunctions}
  `,
];

/** The minimum Postgres version. */
const minServerVersion = 13;

/** Throws if the server is too old or the database does not use UTF-8. */
export async function checkServer(connections: Connections, place: string): Promise<void> {
  const [row] = await connections.query<{ version: string; encoding: string }>(
    `select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding`,
  );
  const major = Math.floor(Number(row!.version) / 10_000);
  if (major < minServerVersion)
    throw new StoreError(
      'STORE_NOT_OPENED',
      place,
      `this server is Postgres ${major}`,
      `Holdfast needs Postgres ${minServerVersion} or newer: upgrade it, or use another server.`,
    );
  if (row!.encoding !== 'UTF8')
    throw new StoreError(
      'STORE_NOT_OPENED',
      place,
      `this database stores texts as ${row!.encoding}`,
      "Create a database with UTF-8: create database NAME encoding 'UTF8' template template0.",
    );
}

/** Applies missing migrations. If several processes open the store at once, one migrates and the others wait. */
export async function migrate(connections: Connections, schema: string, place: string): Promise<void> {
  if (await exists(connections, 'to_regclass', `${schema}.holdfast_schema`))
    throw new StoreError(
      'STORE_NOT_OPENED',
      place,
      `the tables in the schema ${schema} were created by a version of Holdfast before the first release, which this version cannot read`,
      `Use another schema or database, or delete this one: drop schema ${schema}, ${schema}_jobs cascade.`,
    );
  if ((await versionOf(connections, schema)) === migrations.length) return;
  await connections.transact(async (transaction) => {
    // Migrating large tables may take longer than the statement timeout, and so may waiting for the lock.
    await transaction.query('set local statement_timeout = 0');
    const lock = withoutTimeout('select pg_advisory_xact_lock(hashtextextended($1, 0))');
    await transaction.query(lock, [`holdfast ${schema}`]);
    // `create schema if not exists` requires the permission to create one even if it exists.
    if (!(await exists(transaction, 'to_regnamespace', schema)))
      await transaction.query(`create schema ${schema}`);
    await transaction.query(`
      create table if not exists ${schema}.schema_version (
        version integer primary key, applied_at timestamptz not null default now())`);
    const rows = await transaction.query<{ version: number }>(`select version from ${schema}.schema_version`);
    const version = Math.max(0, ...rows.map((row) => row.version));
    if (version > migrations.length)
      throw new StoreError(
        'STORE_TOO_NEW',
        place,
        `it was written by a newer Holdfast (its tables have version ${version}, this Holdfast supports ${migrations.length})`,
        'Update Holdfast, or open another database. Nothing was changed.',
      );
    await transaction.query(`set local search_path to ${schema}`);
    for (const [index, sql] of migrations.entries()) {
      if (index < version) continue;
      await transaction.query(withoutTimeout(sql.replaceAll('SCHEMA', schema)));
      await transaction.query('insert into schema_version (version) values ($1)', [index + 1]);
    }
  });
}

/** Whether a schema (`to_regnamespace`) or a table (`to_regclass`) with this name exists. */
async function exists(
  on: Pick<Transaction, 'query'>,
  find: 'to_regnamespace' | 'to_regclass',
  name: string,
): Promise<boolean> {
  const [row] = await on.query<{ found: boolean }>(`select ${find}($1) is not null as found`, [name]);
  return row!.found;
}

/** The number of applied migrations. */
async function versionOf(connections: Connections, schema: string): Promise<number> {
  if (!(await exists(connections, 'to_regclass', `${schema}.schema_version`))) return 0;
  const [row] = await connections.query<{ version: number | null }>(
    `select max(version) as version from ${schema}.schema_version`,
  );
  return row?.version ?? 0;
}

/**
 * After a restore into another cluster, commits may have transaction ids that are in the future there. The feed would
 * read them as new every time. They get the id 3, the lowest of a normal transaction.
 */
export async function resetForeignTransactions(connections: Connections, schema: string): Promise<void> {
  for (const table of ['commits', 'removals'])
    await connections.query(
      `update ${schema}.${table} set xact = '3'::xid8 where xact > pg_snapshot_xmax(pg_current_snapshot())`,
    );
}
