/**
 * How many bytes the stored rows take up, estimated by the server: it reads a sample of the pages of each table and
 * adds up the rows that are alive there. Space of removed rows does not count, even before it is vacuumed.
 */
import type { Connections } from '../connections/pool.ts';

/** The columns of each table that may be large, and what a row takes besides: its other columns and index entries. */
const tables = {
  tasks: { columns: ['body'], otherBytes: 500 },
  commits: { columns: ['events', 'journal'], otherBytes: 100 },
  results: { columns: ['value'], otherBytes: 60 },
  audit: { columns: ['body'], otherBytes: 250 },
} as const;

/** So many pages of a table are read; smaller tables are read as a whole. */
const sampledPages = 200;

export async function estimatedSize(connections: Connections, schema: string): Promise<number> {
  const parts = Object.entries(tables).map(([table, { columns, otherBytes }]) => {
    const bytes = columns.map((column) => `coalesce(pg_column_size(t.${column}), 0)`).join(' + ');
    return { table, bytes: `${bytes} + ${otherBytes}` };
  });
  const shares = await connections.query<{ share: number }>({
    name: 'pages',
    text: parts
      .map(
        ({ table }) =>
          `select least(100, ${sampledPages} * 100 * current_setting('block_size')::bigint
            / greatest(1, pg_relation_size('${schema}.${table}'))::double precision) as share`,
      )
      .join(' union all '),
  });
  // The same pages each time, so that two estimates can be compared.
  const sums = parts.map(
    ({ table, bytes }, index) => `
      select sum(${bytes}) * 100 / $${index + 1}::double precision as bytes
      from ${schema}.${table} t tablesample system ($${index + 1}::double precision) repeatable (1)`,
  );
  const [row] = await connections.query<{ bytes: number }>(
    {
      name: 'size',
      text: `select coalesce(sum(bytes), 0)::bigint as bytes from (${sums.join(' union all ')}) s`,
    },
    shares.map(({ share }) => share),
  );
  return row!.bytes;
}
