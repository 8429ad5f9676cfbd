import type { Change } from '../../ports/change.ts';
import { type Observer, quietly, unobserved } from '../../ports/observer.ts';
import type { Database } from '../../ports/queue.ts';
import { withCommands } from './decorator.ts';

/** The database with an observer that hears of what is committed through it. */
export function observed(database: Database, observer: Observer): Database {
  if (observer === unobserved) return database;
  const { store } = database;
  const told = (change: Change) => {
    // What is committed is committed, whatever an observer makes of it.
    if (change.writes.length + change.removed.length > 0) quietly(() => observer.committed(change));
    return change;
  };
  return withCommands(database, {
    create: (bearing, decide) => store.create(bearing, decide).then(told),
    update: (reach, id, decide) => store.update(reach, id, decide).then(told),
    claim: async (query, decide) => {
      const claims = await store.claim(query, decide);
      for (const { change } of claims.claimed) told(change);
      return claims;
    },
  });
}
