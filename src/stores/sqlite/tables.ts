import type { Tables, Value } from '../shared/tables.ts';
import { type Connection, withStoreErrors } from './driver.ts';
import { type Cells, name, type Stored } from './encryption/cells.ts';
import type { GroupCommit } from './tasks/group-commit.ts';

/** The `Tables` on SQLite: reads run at once, writes in the next group commit. `file` is named in errors. */
export function sqliteTables(
  db: Connection,
  commands: GroupCommit,
  cells: Cells,
  file: string,
): Tables<Stored> {
  const statements = new Map<string, ReturnType<Connection['prepare']>>();
  /** Prepares each statement once. Use only a fixed set of texts: no statement is ever dropped. */
  const run = <Row>(text: string, values: readonly Value[]) => {
    const statement = statements.get(text) ?? db.prepare(text);
    statements.set(text, statement);
    return statement.all(...values) as Row[];
  };
  return {
    prefix: '',
    by: (index) => `indexed by ${index}`,
    cells,
    name,
    read: <Row, T>(text: string, values: readonly Value[], use: (row: Row) => T) =>
      withStoreErrors(file, () => run<Row>(text, values).map(use)),
    write: (text, values) => commands.submit(() => run(text, values)),
    writeCells: (text, rows) =>
      commands.submit(() => {
        for (const values of rows()) run(text, values);
      }),
  };
}
