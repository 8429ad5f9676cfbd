/** A database as a worker sees it that will die: from one of its commits on, nothing reaches it or comes back. */

import type { Database } from '../../../src/index.ts';
import { storeClosed } from '../../../src/ports/store-errors.ts';
import type { Change } from '../../../src/store.ts';

let opened = 0;

/** Dies after so many commits to journals; `onCommit` gets each before the worker does. */
export function mortalDatabase(database: Database, commits: number, onCommit: (change: Change) => void) {
  let left = commits;
  const isDead = () => left <= 0;
  const refuseDead = () => {
    if (isDead()) throw storeClosed('dead');
  };
  const committed = (change: Change) => {
    onCommit(change);
    if (change.writes.some(({ journal }) => journal)) left--;
  };
  /** The same, with methods that fail and listeners that get nothing as soon as the worker is dead. */
  const mortal = <T extends object>(whole: T, own: Partial<T>): T =>
    new Proxy(whole, {
      get(_, name) {
        if (Object.hasOwn(own, name)) return own[name as keyof T];
        const method = whole[name as keyof T];
        if (typeof method !== 'function') return method;
        if (name === 'subscribe' || name === 'onWork')
          return (listener: (...notice: unknown[]) => void) =>
            method.call(whole, (...notice: unknown[]) => isDead() || listener(...notice));
        return async (...given: unknown[]) => {
          refuseDead();
          const done = await method.apply(whole, given);
          if (name === 'create' || name === 'update') committed(done as Change);
          refuseDead();
          return done;
        };
      },
    });
  // Each is a process of its own, which knows nothing of the steps that another left behind.
  const name = `${database.queue.name} ${++opened}`;
  const isAlive = (other: string) => database.queue.isAlive(other);
  const close = async () => {};
  return {
    ...database,
    store: mortal(database.store, { close }),
    queue: mortal(database.queue, { name, isAlive }),
    isDead,
    close,
  };
}
