/** Re-encrypts the values of a file, and compacts the file after values were plain text. */
import { storeClosed } from '../../engine/store-errors.ts';
import { pause } from '../../model/runtime.ts';
import {
  headerBytes,
  type RekeyReport,
  type Row,
  reencrypted,
  rekey,
  type Table,
  valueColumns,
} from '../values/rekey.ts';
import type { Stored } from './cells.ts';
import { type Connection, forgetThoroughly, isBusy, vacuumInSteps, worded } from './driver.ts';
import type { GroupCommit } from './group-commit.ts';
import { runInThread } from './sql-thread.ts';
import type { Vault } from './vault.ts';

/** Bounds how long the event loop is blocked by one batch. */
const batchRows = 100;
const batchBytes = 256 * 1024;
const scannedRows = 1_000;
const busyTimeoutMs = 1_000;
const tryAgainMs = 50;

/** What a row is found by, and the columns that its values are bound to. */
const sources: Readonly<
  Record<Table, { readonly seq: string; readonly from: string; readonly bound: string }>
> = {
  tasks: { seq: 'seq', from: 'tasks', bound: 'id, idempotency_key as key' },
  commits: {
    seq: 'commits.seq',
    from: 'commits left join tasks on tasks.seq = commits.task',
    bound: 'coalesce(tasks.id, removed_id) as id, version',
  },
  results: {
    seq: 'results.task',
    from: 'results left join tasks on tasks.seq = results.task',
    bound: 'tasks.id',
  },
  sessions: { seq: 'rowid', from: 'sessions', bound: 'id' },
  secrets: { seq: 'rowid', from: 'secrets', bound: 'name as id' },
  audit: { seq: 'seq', from: 'audit', bound: 'at, action, owner, task' },
};

export async function rekeySqlite(parts: {
  readonly db: Connection;
  readonly vault: Vault;
  readonly commands: GroupCommit;
  /** None in memory, where there is nothing to compact. */
  readonly file: string | undefined;
  readonly place: string;
  readonly isClosing: () => boolean;
}): Promise<RekeyReport> {
  const { db, vault, commands, file, place, isClosing } = parts;
  const read = (table: Table, after: Row | undefined, limit: number, value: (column: string) => string) => {
    const { seq, from, bound } = sources[table];
    const columns = valueColumns[table].map(value);
    const sql = `select ${seq} as seq, ${bound}, ${columns} from ${from} where ${seq} > ? order by ${seq} limit ?`;
    return db.prepare(sql).iterate((after?.seq as number | undefined) ?? 0, limit) as Iterable<Row>;
  };
  const rewrite = (table: Table, after: Row | undefined) => {
    const rows = upTo(
      batchBytes,
      read(table, after, batchRows, (column) => column),
    );
    const changed = reencrypted(table, rows, vault);
    for (const { row, values } of changed) {
      const columns = Object.keys(values).map(
        (name) => `${name === 'key' ? 'idempotency_key' : name} = :${name}`,
      );
      const update = db.prepare(`update ${table} set ${columns} where rowid = :seq`);
      update.run({ ...(values as Record<string, Stored | null>), seq: row.seq as number });
    }
    return { rows, changed };
  };
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
      cells: vault,
      rewrite: (table, after) => commands.submit(() => rewrite(table, after)),
      async scan(table, after) {
        if (isClosing()) throw storeClosed(place);
        const start = (column: string) =>
          table === 'secrets' ? column : `substr(${column}, 1, ${headerBytes}) as ${column}`;
        return [...read(table, after, scannedRows, start)];
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

function upTo(bytes: number, rows: Iterable<Row>): Row[] {
  const taken: Row[] = [];
  let size = 0;
  for (const row of rows) {
    taken.push(row);
    for (const value of Object.values(row))
      if (typeof value === 'string' || value instanceof Uint8Array) size += value.length;
    if (size > bytes) break;
  }
  return taken;
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
