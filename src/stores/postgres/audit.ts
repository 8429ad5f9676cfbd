import type { Audit, AuditEntry } from '../../engine/audit.ts';
import { numberAfter } from '../values/cursor.ts';
import { entryOf, type SaidRow, saidOf } from '../values/said.ts';
import { type Cells, named, name as stored } from './cells.ts';
import { prepared, wording } from './driver.ts';
import type { Connections } from './pool.ts';
import type { Vault } from './vault.ts';

/**
 * Part of a migration. `said` is all that SQL need not find or compare. The triggers are there for mistakes, in this
 * program and by hand: a value may be encrypted, decrypted or put under another key, and nothing else may change; and
 * entries go only if they are from before the moment up to which the log was pruned.
 */
export const auditTables = `
  create table audit (
    seq bigint generated always as identity primary key,
    at double precision not null,
    action text not null collate "C",
    owner text collate "C",
    task text collate "C",
    said text not null
  );
  create index audit_by_at on audit (at);
  create index audit_by_task on audit (task, seq) where task is not null;
  create index audit_by_owner on audit (owner, seq) where owner is not null;
  create table audit_pruned (before double precision not null);
  insert into audit_pruned (before) values ('-infinity');
  create function audit_is_append_only() returns trigger language plpgsql as $$
  begin
    if (new.seq, new.at, new.action, new.owner, new.task)
        is distinct from (old.seq, old.at, old.action, old.owner, old.task)
      or (new.said <> old.said and not starts_with(new.said, '\\~') and not starts_with(old.said, '\\~'))
    then raise exception 'An entry of the audit log never changes.';
    end if;
    return new;
  end $$;
  create trigger audit_is_append_only before update on audit
    for each row execute function audit_is_append_only();
  create function audit_is_kept() returns trigger language plpgsql as $$
  begin
    if tg_op = 'DELETE' then
      if old.at < (select before from SCHEMA.audit_pruned) then return old; end if;
    end if;
    raise exception 'An entry of the audit log is kept until its retention is over.';
  end $$;
  create trigger audit_is_kept before delete on audit for each row execute function audit_is_kept();
  create trigger audit_is_not_emptied before truncate on audit execute function audit_is_kept();
`;

/** How many rows one look may pass, so that a query that finds little does not hold up the server. */
const mostPassed = 10_000;
const batch = 1_000;

type Row = SaidRow<string> & { readonly seq: number };

/** An entry as a row, as the statements take it. */
export function auditRow(entry: AuditEntry, cells: Cells): SaidRow<string> {
  const row = saidOf(entry, cells);
  const named = (text: string | null) => (text === null ? null : stored(text));
  return { ...row, owner: named(row.owner), task: named(row.task) };
}

/** A row as it was before its names were made fit for Postgres. */
export function namedRow<R extends Pick<Row, 'owner' | 'task'>>(row: R): R {
  const { owner, task } = row;
  return { ...row, owner: owner === null ? null : named(owner), task: task === null ? null : named(task) };
}

export function postgresAudit(parts: {
  readonly connections: Connections;
  readonly vault: Vault;
  readonly schema: string;
  readonly place: string;
}): Audit {
  const { connections, vault, schema, place } = parts;
  const sql = statements(schema);
  const read: Audit['read'] = async ({ limit, cursor, taskId, owner, action, since, until }) => {
    const found = await connections.query<Row & { last: number; passed: number }>(sql.read, [
      numberAfter(cursor),
      taskId === undefined ? null : stored(taskId),
      owner === undefined ? null : stored(owner),
      action ?? null,
      since ?? null,
      until ?? null,
      limit + 1,
      mostPassed,
    ]);
    const { last, passed } = found[0]!;
    const rows = found.filter(({ seq }) => seq !== null);
    const entries = rows.slice(0, limit).map((row) => entryOf(namedRow(row), vault));
    if (rows.length > limit) return { entries, nextCursor: String(rows[limit - 1]!.seq) };
    return passed === mostPassed ? { entries, nextCursor: String(last) } : { entries };
  };
  return {
    async append(entries) {
      for (let from = 0; from < entries.length; from += batch) {
        const some = entries.slice(from, from + batch);
        await vault.transact(async (transaction) => {
          const rows = some.map((entry) => auditRow(entry, vault));
          await transaction.query(sql.append, [JSON.stringify(rows)]);
        });
      }
    },
    read: (query) => wording(place, () => read(query)),
    prune: (before, limit) =>
      connections.transact(async (transaction) => {
        const [some] = await transaction.query(sql.anyBefore, [before]);
        if (!some) return 0;
        await transaction.query(sql.pruned, [before]);
        const [row] = await transaction.query<{ n: number }>(sql.prune, [before, limit]);
        return row!.n;
      }),
  };
}

function statements(schema: string) {
  const audit = `${schema}.audit`;
  return prepared({
    append: insertEntries(schema, '$1::text::json'),
    read: `
      with passed as (
        select seq, at, action from ${audit}
        where seq > $1 and ($2::text is null or task = $2) and ($3::text is null or owner = $3)
        order by seq limit $8),
      wanted as (
        select seq from passed
        where ($4::text is null or action = $4)
          and ($5::double precision is null or at >= $5) and ($6::double precision is null or at < $6)
        order by seq limit $7)
      select p.last, p.passed, a.* from (select max(seq) as last, count(*) as passed from passed) p
      left join (
        select a.* from wanted cross join lateral (select * from ${audit} where seq = wanted.seq offset 0) a
      ) a on true
      order by a.seq`,
    anyBefore: `select 1 from ${audit} where at < $1 limit 1`,
    pruned: `update ${schema}.audit_pruned set before = greatest(before, $1)`,
    prune: `
      with gone as (
        delete from ${audit} where seq in (select seq from ${audit} where at < $1 order by at limit $2)
        returning 1)
      select count(*) as n from gone`,
  });
}

export function insertEntries(schema: string, rows: string): string {
  return `
    insert into ${schema}.audit (at, action, owner, task, said)
    select at, action, owner, task, said from json_to_recordset(${rows})
      as v (at double precision, action text, owner text, task text, said text)`;
}
