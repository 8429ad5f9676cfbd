import { DatabaseSync } from 'node:sqlite';

/** The rows that a query finds in a database file, on a connection of its own. */
export function queryFile(file: string, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}
