/**
 * Estimates the size of the stored rows. The server reads a sample of each table's pages and adds up the sizes of their
 * live rows. Deleted rows do not count, even before they are vacuumed.
 */
import type { Connections } from '../connections/pool.ts';

/**
 * For each table: the columns whose size is measured, because they may be large, and an estimate for the other columns
 * and the index entries of a row, in bytes.
 */
const tables = {
  tasks: { columns: ['body'], otherBytes: 500 },
  commits: { columns: ['events', 'journal'], otherBytes: 100 },
  results: { columns: ['value'], otherBytes: 60 },
  audit: { columns: ['body'], otherBytes: 250 },
} as const;

/** How many pages of a table are read. Smaller tables are read completely. */
const sampledPages = 200;

/** Returns the estimated size in bytes. */
export async function estimatedSize(connections: Connections, schema: string): Promise<number> {
  const parts = Object.entries(tables).map(([table, { columns, otherBytes }]) => {
    const bytes = columns.map((column) => `coalesce(pg_column_size(t.${column}), 0)`).join(' + ');
    return { table, bytes: `${bytes} + ${otherBytes}` };
  });
  // The percentage of the pages of each table to read.
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
  // `repeatable` samples the same pages each time, so that estimates are comparable.
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
