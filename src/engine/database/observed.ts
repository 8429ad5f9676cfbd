import type { Change } from '../../ports/change.ts';
import { type Observer, quietly, unobserved } from '../../ports/observer.ts';
import type { Database } from '../../ports/queue.ts';
import { withCommands } from './decorator.ts';

/** Wraps a database so that the observer is notified of every commit that writes or removes a task. */
export function observed(database: Database, observer: Observer): Database {
  if (observer === unobserved) return database;
  const { store } = database;
  const notified = (change: Change) => {
    // An error in the observer must not affect a change that is already committed.
    if (change.writes.length + change.removed.length > 0) quietly(() => observer.committed(change));
    return change;
  };
  return withCommands(database, {
    create: (bearing, decide) => store.create(bearing, decide).then(notified),
    update: (reach, id, decide) => store.update(reach, id, decide).then(notified),
    claim: async (query, decide) => {
      const claims = await store.claim(query, decide);
      for (const { change } of claims.claimed) notified(change);
      return claims;
    },
  });
}
