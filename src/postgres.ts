import './check-node.ts';

import type { Database } from './ports/queue.ts';
import { placeOf } from './stores/postgres/connections/driver.ts';
import { openPostgres, type PostgresOptions } from './stores/postgres/open.ts';
import { readKeys } from './stores/shared/encryption/keys.ts';

export { openPostgres, type PostgresDatabase, type PostgresOptions } from './stores/postgres/open.ts';
export type { Encryption } from './stores/shared/encryption/keys.ts';
export type { RekeyReport } from './stores/shared/encryption/rekey.ts';

/** A database on a Postgres server, for `createTasks({ store })`. It opens on first use. */
export function postgres(url: string, options: PostgresOptions = {}): () => Promise<Database> {
  // Checks the keys now, not on first use, so that the error points at the caller.
  if (options.encryption) readKeys(options.encryption, placeOf(url));
  return () => openPostgres(url, options);
}
