/** A database that counts what is asked of its store. */

import { withCommands } from '../../../src/engine/decorated.ts';
import type { Change, CommitNotice, Database, Store } from '../../../src/index.ts';

export class Counted {
  gets = 0;
  /** Whole families, to look at or to change. */
  families = 0;
  /** Tasks that were read because they ask something. */
  asking = 0;
  /** Commits that were read to learn what happened to a task. */
  commits = 0;
  /** How many tasks each commit wrote. */
  readonly writes: number[] = [];

  /** Nobody is told of commits that fit. */
  wrap(database: Database, unheard: (notice: CommitNotice) => boolean = () => false): Database {
    const { store } = database;
    const committed = (change: Change) => {
      this.writes.push(change.writes.length);
      return change;
    };
    const wrapped = withCommands(database, {
      create: (bearing, decide) => store.create(bearing, decide).then(committed),
      update: (reach, id, decide) => {
        if (reach === 'family') this.families++;
        return store.update(reach, id, decide).then(committed);
      },
    });
    const counted: Partial<Store> = {
      get: (id, owner) => {
        this.gets++;
        return store.get(id, owner);
      },
      family: (id) => {
        this.families++;
        return store.family(id);
      },
      asking: async (id) => {
        const found = await store.asking(id);
        this.asking += found.length;
        return found;
      },
      commitsOf: async (...asked) => {
        const found = await store.commitsOf(...asked);
        this.commits += found.length;
        return found;
      },
      subscribe: (listener) => store.subscribe((notice) => unheard(notice) || listener(notice)),
    };
    return { ...wrapped, store: { ...wrapped.store, ...counted } };
  }
}
