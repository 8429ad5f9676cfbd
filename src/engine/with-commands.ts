import type { Database } from './queue.ts';
import type { Store } from './store.ts';

/** The same database, its commands sent another way. */
export function withCommands(database: Database, commands: Pick<Store, 'create' | 'update'>): Database {
  const { store, queue, secrets, sessions, calls, audit, survey } = database;
  const commanded: Store = {
    ...commands,
    get: (id, owner) => store.get(id, owner),
    family: (id) => store.family(id),
    asking: (rootId) => store.asking(rootId),
    childIds: (id) => store.childIds(id),
    list: (query) => store.list(query),
    count: (owner, what, upTo) => store.count(owner, what, upTo),
    commitsOf: (id, afterVersion, limit) => store.commitsOf(id, afterVersion, limit),
    journal: (id) => store.journal(id),
    due: (what, now, limit) => store.due(what, now, limit),
    leaveOut: (before, limit) => store.leaveOut(before, limit),
    size: () => store.size(),
    subscribe: (listener) => store.subscribe(listener),
    close: () => store.close(),
  };
  return { store: commanded, queue, secrets, sessions, calls, audit, survey, close: () => database.close() };
}
