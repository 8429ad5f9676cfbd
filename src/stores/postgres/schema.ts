/**
 * The tables, as a list of forward migrations; an entry, once released, never changes. In it, SCHEMA stands for the
 * schema, where it must be named because no search path leads there: in functions.
 *
 * `tasks.body` is the whole task; the other columns repeat what SQL must find or compare. `lease_until`, `answering`,
 * `deserted` (the worker was found dead though its lease still runs) and `alone`, which at most one row has, live in
 * their columns alone. `commits` has one row for each commit of each task: what happened and what its journal gained; it
 * has at most eight columns, because a ninth would make every row eight bytes longer. `removals` has the last commit of
 * each task that was removed, for an hour. `xact` is the transaction that wrote the row: with a snapshot it says exactly
 * what is new. Rows of tasks change with every commit: pages keep room for the next versions,
 * and dead ones are vacuumed often. A commit of a live root touches only one of the indexes for operators' queries,
 * `tasks_live`, which quotas need too; the others get their entry when a root ends. Moments are double precision: a
 * number as JavaScript has it comes back the same.
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
 * `tasks.journals` counts the commits that hold a part of the journal. A commit with `idle` ends a pass that did nothing;
 * after a while it is left out with the claim before it, and the commit after them has in `left_out` how many versions are
 * missing before it. One process at a time leaves passes out, so that none counts into a row that another takes away.
 */
const historyFunctions = `
  create function leave_out(before double precision, most integer) returns integer language plpgsql as $$
  declare
    pass record;
    gone integer;
    passes integer := 0;
  begin
    if not pg_try_advisory_xact_lock(hashtextextended('holdfast leave out SCHEMA', 0)) then return 0; end if;
    for pass in select task, version from SCHEMA.commits where idle and at < before order by at limit most loop
      passes := passes + 1;
      select sum(1 + coalesce(c.left_out, 0)) into gone
        from SCHEMA.commits c where c.task = pass.task and c.version between pass.version - 1 and pass.version;
      update SCHEMA.commits c set left_out = coalesce(c.left_out, 0) + gone
        where c.task = pass.task and c.version = (
          select min(n.version) from SCHEMA.commits n where n.task = pass.task and n.version > pass.version);
      -- The last commit of a task stays: nothing comes after it that could say that it is missing.
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

/** The request with which the id of a call ends; in a session a point stands before it. */
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

/** The oldest that has all we use. */
const oldestServer = 13;

export async function checkServer(connections: Connections, place: string): Promise<void> {
  const [row] = await connections.query<{ version: string; encoding: string }>(
    `select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding`,
  );
  const major = Math.floor(Number(row!.version) / 10_000);
  if (major < oldestServer)
    throw new StoreError(
      'STORE_NOT_OPENED',
      place,
      `this server is Postgres ${major}`,
      `Holdfast needs Postgres ${oldestServer} or newer: upgrade it, or use another server.`,
    );
  if (row!.encoding !== 'UTF8')
    throw new StoreError(
      'STORE_NOT_OPENED',
      place,
      `this database stores texts as ${row!.encoding}`,
      "Make one that can hold every text: create database NAME encoding 'UTF8' template template0.",
    );
}

/** Brings the tables up to date. Of several processes one migrates, and the others wait for it. */
export async function migrate(connections: Connections, schema: string, place: string): Promise<void> {
  if (await isThere(connections, 'to_regclass', `${schema}.holdfast_schema`))
    throw new StoreError(
      'STORE_NOT_OPENED',
      place,
      `the tables in the schema ${schema} were made by a Holdfast before its first release, which this one cannot read`,
      `Use another schema or database, or remove this one: drop schema ${schema}, ${schema}_jobs cascade.`,
    );
  if ((await versionOf(connections, schema)) === migrations.length) return;
  await connections.transact(async (transaction) => {
    // Large tables take long, for who migrates and for who waits for that.
    await transaction.query('set local statement_timeout = 0');
    const lock = withoutTimeout('select pg_advisory_xact_lock(hashtextextended($1, 0))');
    await transaction.query(lock, [`holdfast ${schema}`]);
    // `create schema if not exists` asks for the right to create one even where it exists.
    if (!(await isThere(transaction, 'to_regnamespace', schema)))
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
        `it was written by a newer Holdfast (its tables are at version ${version}, this one knows ${migrations.length})`,
        'Update this Holdfast, or open another database; nothing was changed here.',
      );
    await transaction.query(`set local search_path to ${schema}`);
    for (const [index, sql] of migrations.entries()) {
      if (index < version) continue;
      await transaction.query(withoutTimeout(sql.replaceAll('SCHEMA', schema)));
      await transaction.query('insert into schema_version (version) values ($1)', [index + 1]);
    }
  });
}

/** Whether there is a schema (`to_regnamespace`) or a table (`to_regclass`) of this name. */
async function isThere(
  on: Pick<Transaction, 'query'>,
  find: 'to_regnamespace' | 'to_regclass',
  name: string,
): Promise<boolean> {
  const [row] = await on.query<{ found: boolean }>(`select ${find}($1) is not null as found`, [name]);
  return row!.found;
}

async function versionOf(connections: Connections, schema: string): Promise<number> {
  if (!(await isThere(connections, 'to_regclass', `${schema}.schema_version`))) return 0;
  const [row] = await connections.query<{ version: number | null }>(
    `select max(version) as version from ${schema}.schema_version`,
  );
  return row?.version ?? 0;
}

/** Restored into another cluster, commits bear numbers of transactions that are still to come there. */
export async function resetForeignTransactions(connections: Connections, schema: string): Promise<void> {
  for (const table of ['commits', 'removals'])
    await connections.query(
      `update ${schema}.${table} set xact = '3'::xid8 where xact > pg_snapshot_xmax(pg_current_snapshot())`,
    );
}
