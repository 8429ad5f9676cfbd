import './check-node.ts';

import type { Database } from './ports/queue.ts';
import { placeOf } from './stores/postgres/connections/driver.ts';
import { openPostgres, type PostgresOptions } from './stores/postgres/open.ts';
import { readKeys } from './stores/shared/encryption/keys.ts';

export { openPostgres, type PostgresDatabase, type PostgresOptions } from './stores/postgres/open.ts';
export type { Encryption } from './stores/shared/encryption/keys.ts';
export type { RekeyReport } from './stores/shared/encryption/rekey.ts';

/** A database on a Postgres server, for `createTasks({ store })`; opened when it is first used. */
export function postgres(url: string, options: PostgresOptions = {}): () => Promise<Database> {
  // What is no key is better refused where it is given than where it is first needed.
  if (options.encryption) readKeys(options.encryption, placeOf(url));
  return () => openPostgres(url, options);
}
