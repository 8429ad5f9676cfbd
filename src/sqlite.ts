import './check-node.ts';

import type { Database } from './ports/queue.ts';
import { readKeys } from './stores/shared/encryption/keys.ts';
import { openSqlite, type SqliteOptions } from './stores/sqlite/open.ts';

export type { Encryption } from './stores/shared/encryption/keys.ts';
export type { RekeyReport } from './stores/shared/encryption/rekey.ts';
export { openSqlite, type SqliteDatabase, type SqliteOptions } from './stores/sqlite/open.ts';

/**
 * A database in a file, or in the memory of this process (`'memory:'`), for `createTasks({ store })`. Opens it on first
 * use.
 */
export function sqlite(
  location: string,
  options: Pick<SqliteOptions, 'encryption'> = {},
): () => Promise<Database> {
  // Checks the keys now, not on first use, so that the error points at the caller.
  if (options.encryption) readKeys(options.encryption, location);
  return () => openSqlite(location, options);
}
