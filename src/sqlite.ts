import './check-node.ts';

import type { Database } from './engine/queue.ts';
import { openSqlite, type SqliteOptions } from './stores/sqlite/open.ts';

export type { Encryption } from './stores/sqlite/keys.ts';
export { openSqlite, type SqliteDatabase, type SqliteOptions } from './stores/sqlite/open.ts';

/** A database in a file, or `'memory:'`, for `createTasks({ store })`; opened when it is first used. */
export function sqlite(
  location: string,
  options: Pick<SqliteOptions, 'encryption'> = {},
): () => Promise<Database> {
  return () => openSqlite(location, options);
}
