import type { Verdict } from '../../../ports/change.ts';
import type { Reach, Store } from '../../../ports/store.ts';
import { storeClosed } from '../../../ports/store-errors.ts';
import { lookups } from '../../shared/look-ups.ts';
import type { Tables } from '../../shared/tables.ts';
import { withStoreErrors } from '../connections/driver.ts';
import type { PostgresQueue } from '../queue/queue.ts';
import type { Commands } from './commands.ts';
import type { Feed } from './feed.ts';
import type { Rows } from './rows.ts';

/** The `Store` on Postgres. Commands that wait at the same time share transactions (`commands.ts`). */
export function postgresStore(parts: {
  readonly rows: Rows;
  readonly tables: Tables<string>;
  readonly commands: Commands;
  readonly feed: Feed;
  readonly queue: PostgresQueue;
  /** The size of the stored data, in bytes. */
  readonly size: () => Promise<number>;
  readonly place: string;
  readonly close: () => Promise<void>;
}): Store {
  const { rows, tables, commands, feed, queue, size, place, close } = parts;
  // Set once `close` was called.
  let closed: Promise<void> | undefined;
  const read = async <T>(act: () => T | Promise<T>): Promise<T> => {
    if (closed) throw storeClosed(place);
    return withStoreErrors(place, act);
  };
  return {
    ...lookups(rows, tables, read),
    create: (bearing, decide) => commands.submit({ kind: 'create', bearing, decide }),
    update: (reach, id, decide) =>
      commands.submit({
        ...{ kind: 'update', reach, id },
        decide: decide as (subject: Reach[keyof Reach]) => Verdict,
      }),
    async claim(query, decide) {
      const checksClaimed = queue.checksClaimed();
      const { claimed, failed, ...expected } = await commands.claim({
        query,
        decide,
        checksClaimed,
      });
      queue.expect(expected);
      return { claimed, failed };
    },
    leaveOut: (before, limit) => read(() => rows.leaveOut(before, limit)),
    size: () => read(size),
    subscribe(listener) {
      if (closed) throw storeClosed(place);
      return feed.subscribe(listener);
    },
    close() {
      closed ??= close();
      return closed;
    },
  };
}
