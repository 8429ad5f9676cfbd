/** Re-encrypts the values of a file, and compacts the file after values were plain text. */
import { storeClosed } from '../../../ports/store-errors.ts';
import { pause } from '../../../runtime/runtime.ts';
import {
  headerBytes,
  type RekeyReport,
  rekey,
  type Source,
  type Table,
} from '../../shared/encryption/rekey.ts';
import type { Tables } from '../../shared/tables.ts';
import { type Connection, forgetThoroughly, isBusy, vacuumInSteps, worded } from '../driver.ts';
import { runInThread } from '../query/sql-thread.ts';
import type { GroupCommit } from '../tasks/group-commit.ts';
import type { Stored } from './cells.ts';
import type { Vault } from './vault.ts';

const busyTimeoutMs = 1_000;
const tryAgainMs = 50;

const idOfTask = '(select id from tasks where tasks.seq = r.task)';
const sources: Readonly<Record<Table, Source>> = {
  tasks: { keys: ['seq'], bound: 'id, idempotency_key as key' },
  commits: { keys: ['seq'], bound: `coalesce(${idOfTask}, removed_id) as id, version` },
  results: { keys: ['task'], bound: `${idOfTask} as id` },
  sessions: { keys: ['rowid'], bound: 'id' },
  secrets: { keys: ['rowid'], bound: 'name as id' },
  audit: { keys: ['seq'], bound: 'at, action, owner, task' },
};

export async function rekeySqlite(parts: {
  readonly db: Connection;
  readonly vault: Vault;
  readonly tables: Tables<Stored>;
  readonly commands: GroupCommit;
  /** None in memory, where there is nothing to compact. */
  readonly file: string | undefined;
  readonly place: string;
  readonly isClosing: () => boolean;
}): Promise<RekeyReport> {
  const { db, vault, tables, commands, file, place, isClosing } = parts;
  const whileBusy = async (act: () => unknown) => {
    for (; !isClosing(); await pause(tryAgainMs)) {
      try {
        if ((await act()) !== false) return;
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
    }
    throw storeClosed(place);
  };
  try {
    // Old values are overwritten in their pages, not only deleted.
    forgetThoroughly(db, 'on');
    return await rekey({
      ...{ sources, headerLength: headerBytes },
      tables: {
        ...tables,
        async read(text, values, use) {
          if (isClosing()) throw storeClosed(place);
          return tables.read(text, values, use);
        },
      },
      change: (decide) =>
        commands.submit(() => {
          vault.change(decide);
          vault.keepLookupSecret();
        }),
      ...(file !== undefined && { compact: () => compact(db, file, whileBusy) }),
    });
  } catch (error) {
    throw worded(error, place);
  } finally {
    if (db.isOpen) forgetThoroughly(db, 'fast');
  }
}

/**
 * Removes from a file what SQLite has deleted and not overwritten: free pages, gaps within pages, and the log. `VACUUM`
 * rewrites every page; after it the log is emptied. It holds the write lock all the time, so it runs in a thread of its
 * own: reads continue, and commands wait as for any other process.
 */
async function compact(
  db: Connection,
  file: string,
  whileBusy: (act: () => unknown) => Promise<void>,
): Promise<void> {
  const statements = ['pragma synchronous = full', vacuumInSteps, 'vacuum'];
  await whileBusy(() => runInThread(file, busyTimeoutMs, statements));
  // Readers of the log delay this for as long as each reads.
  await whileBusy(() => {
    const { busy } = db.prepare('pragma wal_checkpoint(truncate)').get() as { busy: number };
    return busy === 0;
  });
}
