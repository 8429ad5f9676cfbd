import type { Database } from './queue.ts';
import type { Store } from './store.ts';

/** The same database, with something that stands before its store. */
export function withStore(database: Database, store: Store): Database {
  const { queue, secrets, sessions, audit } = database;
  return { store, queue, secrets, sessions, audit, close: () => database.close() };
}
