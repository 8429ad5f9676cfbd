import './check-node.ts';

import type { Database } from './engine/queue.ts';
import { openSqlite } from './stores/sqlite/open.ts';

export { openSqlite, type SqliteDatabase } from './stores/sqlite/open.ts';

/** A database in a file, or `'memory:'`, for `createTasks({ store })`; opened when it is first used. */
export function sqlite(location: string): () => Promise<Database> {
  return () => openSqlite(location);
}
