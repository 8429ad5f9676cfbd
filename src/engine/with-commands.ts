import type { Database } from './queue.ts';
import type { Store } from './store.ts';

/** The same database with some of its commands replaced. */
export function withCommands(
  database: Database,
  commands: Partial<Pick<Store, 'create' | 'update' | 'claim'>>,
): Database {
  const { store, queue, secrets, sessions, calls, audit, survey } = database;
  const commanded: Store = {
    create: (bearing, decide) => store.create(bearing, decide),
    update: (reach, id, decide) => store.update(reach, id, decide),
    claim: (query, decide) => store.claim(query, decide),
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
