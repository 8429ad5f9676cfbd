/**
 * Re-encrypts the values of a SQLite database. Compacts its file if values were plain text before and all are encrypted
 * now.
 */
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
import { type Connection, incrementalVacuum, isBusy, setSecureDelete, toStoreError } from '../driver.ts';
import { runInThread } from '../query/sql-thread.ts';
import type { GroupCommit } from '../tasks/group-commit.ts';
import type { Stored } from './cells.ts';
import type { Vault } from './vault.ts';

/** How long `VACUUM` waits for the lock of another process. It runs in a thread, where it may block. */
const busyTimeoutMs = 1_000;
/** The pause before a retry while the file is busy. */
const retryMs = 50;

/** The id of the task that a row of another table (`r`) belongs to. */
const idOfTask = '(select id from tasks where tasks.seq = r.task)';
const sources: Readonly<Record<Table, Source>> = {
  tasks: { keys: ['seq'], bound: 'id, idempotency_key as key' },
  commits: { keys: ['seq'], bound: `coalesce(${idOfTask}, removed_id) as id, version` },
  results: { keys: ['task'], bound: `${idOfTask} as id` },
  sessions: { keys: ['rowid'], bound: 'id' },
  secrets: { keys: ['rowid'], bound: 'name as id' },
  audit: { keys: ['seq'], bound: 'at, action, owner, task' },
};

/** Implements `rekey()` of a SQLite database. Stops with an error when the store closes. */
export async function rekeySqlite(parts: {
  readonly db: Connection;
  readonly vault: Vault;
  readonly tables: Tables<Stored>;
  readonly commands: GroupCommit;
  /** Undefined in memory, where nothing needs compacting. */
  readonly file: string | undefined;
  readonly place: string;
  readonly isClosing: () => boolean;
}): Promise<RekeyReport> {
  const { db, vault, tables, commands, file, place, isClosing } = parts;
  // Repeats `act` while it finds the file busy or returns false.
  const whileBusy = async (act: () => unknown) => {
    for (; !isClosing(); await pause(retryMs)) {
      try {
        if ((await act()) !== false) return;
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
    }
    throw storeClosed(place);
  };
  try {
    // Old values are overwritten in their pages, and not only marked as free.
    setSecureDelete(db, 'on');
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
    throw toStoreError(error, place);
  } finally {
    if (db.isOpen) setSecureDelete(db, 'fast');
  }
}

/**
 * Removes deleted data that SQLite has not overwritten: in free pages, in gaps within pages, and in the log. `VACUUM`
 * rewrites every page; afterwards the log is truncated. `VACUUM` has the write lock all the time, so it runs in a
 * thread: reads continue, and commands wait as for any other process.
 */
async function compact(
  db: Connection,
  file: string,
  whileBusy: (act: () => unknown) => Promise<void>,
): Promise<void> {
  const statements = ['pragma synchronous = full', incrementalVacuum, 'vacuum'];
  await whileBusy(() => runInThread(file, busyTimeoutMs, statements));
  // Truncates the log. Fails while others still read from it.
  await whileBusy(() => {
    const { busy } = db.prepare('pragma wal_checkpoint(truncate)').get() as { busy: number };
    return busy === 0;
  });
}
