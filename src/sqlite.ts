import './check-node.ts';

import type { Database } from './ports/queue.ts';
import { readKeys } from './stores/shared/encryption/keys.ts';
import { openSqlite, type SqliteOptions } from './stores/sqlite/open.ts';

export type { Encryption } from './stores/shared/encryption/keys.ts';
export type { RekeyReport } from './stores/shared/encryption/rekey.ts';
export { openSqlite, type SqliteDatabase, type SqliteOptions } from './stores/sqlite/open.ts';

/** A database in a file, or `'memory:'`, for `createTasks({ store })`; opened when it is first used. */
export function sqlite(
  location: string,
  options: Pick<SqliteOptions, 'encryption'> = {},
): () => Promise<Database> {
  // What is no key is better refused where it is given than where it is first needed.
  if (options.encryption) readKeys(options.encryption, location);
  return () => openSqlite(location, options);
}
