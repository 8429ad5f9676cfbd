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
import { worded } from './driver.ts';
import type { Connections } from './pool.ts';
import { withNames } from './tables.ts';
import type { Vault } from './vault.ts';

/** Results are large, so fewer of them are read at once. */
const batchRows = (table: Table) => (table === 'results' ? 4 : 100);
const scannedRows = 1_000;
/** Of a value as text: the mark, and the header in base64. */
const headerLength = 2 + 4 * Math.ceil(headerBytes / 3);

/** What a row is found by, and the columns that its values are bound to. */
const idOfTask = '(select id from SCHEMA.tasks t where t.seq = r.task) as id';
const sources: Readonly<Record<Table, { readonly keys: readonly string[]; readonly bound: string }>> = {
  tasks: { keys: ['seq'], bound: 'id, idempotency_key as key' },
  commits: { keys: ['task', 'version'], bound: idOfTask },
  results: { keys: ['task'], bound: idOfTask },
  sessions: { keys: ['seq'], bound: 'id' },
  secrets: { keys: ['seq'], bound: 'name as id' },
  audit: { keys: ['seq'], bound: 'at, action, owner, task' },
};

export async function rekeyPostgres(parts: {
  readonly connections: Connections;
  readonly vault: Vault;
  readonly schema: string;
  readonly place: string;
}): Promise<RekeyReport> {
  const { connections, vault, schema, place } = parts;
  const select = (table: Table, limit: number, value: (column: string) => string) => {
    const { keys, bound } = sources[table];
    return `
      select ${keys}, ${bound.replaceAll('SCHEMA', schema)}, ${valueColumns[table].map(value)}
      from ${schema}.${table} r where (${keys}) > (${keys.map((_, index) => `$${index + 1}::bigint`)})
      order by ${keys} limit ${limit}`;
  };
  const from = (table: Table, after: Row | undefined) => sources[table].keys.map((key) => after?.[key] ?? 0);
  const rewrite = (table: Table, after: Row | undefined) =>
    vault.transact(async (transaction) => {
      const sql = `${select(table, batchRows(table), (column) => column)} for update of r`;
      const rows = await transaction.query<Row>(sql, from(table, after));
      const changed = reencrypted(table, rows.map(withNames), vault);
      if (changed.length === 0) return { rows, changed };
      const { keys } = sources[table];
      const names = Object.keys(changed[0]!.values);
      const columns = names.map((name) => `${name === 'key' ? 'idempotency_key' : name} = v.${name}`);
      const type = table === 'secrets' ? 'bytea' : 'text';
      const arrays = [...keys.map(() => 'bigint'), ...names.map(() => type)];
      await transaction.query(
        `update ${schema}.${table} r set ${columns}
        from unnest(${arrays.map((type, index) => `$${index + 1}::${type}[]`)}) as v (${[...keys, ...names]})
        where ${keys.map((key) => `r.${key} = v.${key}`).join(' and ')}`,
        [
          ...keys.map((key) => changed.map(({ row }) => row[key])),
          ...names.map((name) => changed.map(({ values }) => values[name])),
        ],
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
        return connections.query<Row>(select(table, scannedRows, start), from(table, after));
      },
      change: (decide) => vault.change(decide),
    });
  } catch (error) {
    throw worded(error, place);
  }
}
