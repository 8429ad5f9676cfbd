import './check-node.ts';

import type { Database } from './engine/queue.ts';
import { openPostgres, type PostgresOptions } from './stores/postgres/open.ts';

export { openPostgres, type PostgresOptions } from './stores/postgres/open.ts';

/** A database on a Postgres server, for `createTasks({ store })`; opened when it is first used. */
export function postgres(url: string, options: PostgresOptions = {}): () => Promise<Database> {
  return () => openPostgres(url, options);
}
