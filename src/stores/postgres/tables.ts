import type { Tables, Value } from '../shared/tables.ts';
import { type Statement, withStoreErrors } from './connections/driver.ts';
import type { Connections } from './connections/pool.ts';
import { named, name as stored } from './encryption/cells.ts';
import type { Vault } from './encryption/vault.ts';

/** The port of the shared code (`Tables`) on Postgres. */
export function postgresTables(parts: {
  readonly connections: Connections;
  readonly vault: Vault;
  readonly schema: string;
  readonly place: string;
}): Tables<string> {
  const { connections, vault, schema, place } = parts;
  // Statements by their text. A named statement is prepared once for each connection.
  const statements = new Map<string, Statement>();
  const statementOf = (text: string) => {
    const statement = statements.get(text) ?? { name: `table ${statements.size}`, text: numbered(text) };
    statements.set(text, statement);
    return statement;
  };
  return {
    prefix: `${schema}.`,
    // The planner of Postgres selects the index.
    by: () => '',
    cells: vault,
    name: stored,
    read: <Row, T>(text: string, values: readonly Value[], use: (row: Row) => T) =>
      withStoreErrors(place, async () => {
        const rows = await connections.query<Record<string, unknown>>(statementOf(text), values);
        return rows.map((row) => use(withNames(row) as Row));
      }),
    write: (text, values) => connections.query(statementOf(text), values),
    writeCells: (text, rows) =>
      vault.transact(async (transaction) => {
        await Promise.all(rows().map((values) => transaction.query(statementOf(text), values)));
      }),
  };
}

/** Replaces every question mark with a numbered parameter of Postgres. The text must not contain any in literals. */
export function numbered(text: string): string {
  let count = 0;
  return text.replaceAll('?', () => `$${++count}`);
}

/** Decodes the columns that `name` encoded. */
export function withNames<R extends Readonly<Record<string, unknown>>>(row: R): R {
  const names = ['id', 'owner', 'tool', 'task', 'answering']
    .filter((column) => typeof row[column] === 'string')
    .map((column) => [column, named(row[column] as string)]);
  return { ...row, ...Object.fromEntries(names) };
}
