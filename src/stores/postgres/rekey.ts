/** Re-encrypts the values of a database. */
import {
  headerBytes,
  type RekeyReport,
  type Row,
  reencrypted,
  rekey,
  type Table,
  valueColumns,
} from '../values/rekey.ts';
import { namedRow } from './audit.ts';
import { named } from './cells.ts';
import { worded } from './driver.ts';
import type { Connections } from './pool.ts';
import type { Vault } from './vault.ts';

/** Results are large, so fewer of them are read at once. */
const batchRows = (table: Table) => (table === 'results' ? 4 : 100);
const scannedRows = 1_000;
/** Of a value as text: the mark, and the header in base64. */
const headerLength = 2 + 4 * Math.ceil(headerBytes / 3);

/** What a row is found by, and the columns that its values are bound to. */
const sources: Readonly<Record<Table, { readonly seq: string; readonly bound: string }>> = {
  tasks: { seq: 'seq', bound: 'id, idempotency_key as key' },
  commits: {
    seq: 'seq',
    bound: 'coalesce((select id from SCHEMA.tasks t where t.seq = r.task), removed_id) as id, version',
  },
  results: { seq: 'task', bound: '(select id from SCHEMA.tasks t where t.seq = r.task) as id' },
  sessions: { seq: 'seq', bound: 'id' },
  secrets: { seq: 'seq', bound: 'name as id' },
  audit: { seq: 'seq', bound: 'at, action, owner, task' },
};

export async function rekeyPostgres(parts: {
  readonly connections: Connections;
  readonly vault: Vault;
  readonly schema: string;
  readonly place: string;
}): Promise<RekeyReport> {
  const { connections, vault, schema, place } = parts;
  const select = (table: Table, limit: number, value: (column: string) => string) => {
    const { seq, bound } = sources[table];
    return `
      select ${seq} as seq, ${bound.replaceAll('SCHEMA', schema)}, ${valueColumns[table].map(value)}
      from ${schema}.${table} r where ${seq} > $1 order by ${seq} limit ${limit}`;
  };
  const rewrite = (table: Table, after: number) =>
    vault.transact(async (transaction) => {
      const sql = `${select(table, batchRows(table), (column) => column)} for update of r`;
      const rows = await transaction.query<Row>(sql, [after]);
      const changed = reencrypted(table, rows.map(bound), vault);
      if (changed.length === 0) return { rows, changed };
      const names = Object.keys(changed[0]!).filter((name) => name !== 'seq');
      const columns = names.map((name) => `${name === 'key' ? 'idempotency_key' : name} = v.${name}`);
      const type = table === 'secrets' ? 'bytea' : 'text';
      const arrays = names.map((_, index) => `$${index + 2}::${type}[]`);
      await transaction.query(
        `update ${schema}.${table} r set ${columns}
        from unnest($1::bigint[], ${arrays}) as v (seq, ${names}) where r.${sources[table].seq} = v.seq`,
        [changed.map(({ seq }) => seq), ...names.map((name) => changed.map((values) => values[name]))],
      );
      return { rows, changed };
    });
  try {
    return await rekey({
      cells: vault,
      rewrite,
      scan: (table, after) => {
        const start = (column: string) =>
          table === 'secrets' ? column : `left(${column}, ${headerLength}) as ${column}`;
        return connections.query<Row>(select(table, scannedRows, start), [after]);
      },
      change: (decide) => vault.change(decide),
    });
  } catch (error) {
    throw worded(error, place);
  }
}

/** The names that a value is bound to, before they were escaped for Postgres. */
function bound(row: Row): Row {
  const { id, owner, task } = row as Partial<Record<string, string | null>>;
  if (id === undefined) return namedRow({ ...row, owner: owner ?? null, task: task ?? null });
  return { ...row, id: id === null ? null : named(id) };
}
