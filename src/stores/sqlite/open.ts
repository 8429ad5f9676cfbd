import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { crashPoint } from '../../ports/crash-point.ts';
import type { Database } from '../../ports/queue.ts';
import { StoreError, storeClosed } from '../../ports/store-errors.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { storedAudit } from '../shared/audit.ts';
import { storedCalls } from '../shared/calls.ts';
import { type Encryption, type Keys, readKeys } from '../shared/encryption/keys.ts';
import { introduced, unlock } from '../shared/encryption/record.ts';
import type { RekeyReport } from '../shared/encryption/rekey.ts';
import { retried } from '../shared/retry.ts';
import { storedSecrets } from '../shared/secrets.ts';
import { storedSessions } from '../shared/sessions.ts';
import {
  type Connection,
  configure,
  connect,
  copyDatabase,
  corrupt,
  inTransaction,
  isBusy,
  isInMemory,
  setSecureDelete,
  toStoreError,
} from './driver.ts';
import { rekeySqlite } from './encryption/rekey.ts';
import { readEncryption, Vault } from './encryption/vault.ts';
import { networkFileSystemOf } from './file/file-system.ts';
import { makePrivateFile, makePrivateFolder } from './file/private-files.ts';
import { Shrinking } from './file/shrinking.ts';
import {
  readCounter,
  readCounterWithoutLog,
  renewCounter,
  transactionCounter,
} from './file/transaction-counter.ts';
import { sqliteQueries } from './query/query.ts';
import { type Instance, joinInstances, soleInstance } from './queue/process-liveness.ts';
import { SqliteQueue } from './queue/queue.ts';
import { migrate, requestSql, versionOf } from './schema.ts';
import { sqliteTables } from './tables.ts';
import { Feed, type Watch, watchLog } from './tasks/feed.ts';
import { GroupCommit } from './tasks/group-commit.ts';
import { Rows } from './tasks/rows.ts';
import { sqliteStore } from './tasks/store.ts';

export interface SqliteDatabase extends Database {
  /** Copies the database to a new file while it is in use. The copy appears only when it is complete. */
  backup(file: string): Promise<void>;
  /**
   * Re-encrypts all values that are not encrypted with the newest key, and reports the number of values for each key. A
   * key that encrypts no values can be removed from `encryption`.
   */
  rekey(): Promise<RekeyReport>;
}

export interface SqliteOptions {
  readonly clock?: Clock;
  /** Encrypts all data of callers, handlers and peers. An encrypted file cannot be opened without its keys. */
  readonly encryption?: Encryption;
}

/**
 * Databases up to this size are fully checked when they are opened. In larger ones, corrupt pages are found on access.
 */
const maxCheckedBytes = 16 * 2 ** 20;
/** The pause between attempts while another process has the file locked. */
const busyRetryMs = 5;

/**
 * Opens a task database: `memory:` or a file, which is created if it does not exist. Several processes may open the
 * same file; each must be able to write to its folder. Throws if acknowledged data is missing or corrupt.
 */
export async function openSqlite(location: string, options: SqliteOptions = {}): Promise<SqliteDatabase> {
  const clock = options.clock ?? systemClock;
  const file = isInMemory(location) ? undefined : resolve(location);
  const place = file ?? location;
  const keys = options.encryption && readKeys(options.encryption, place);
  let instance: Instance | undefined;
  let db: Connection | undefined;
  try {
    if (file) prepareFolder(file);
    instance = file ? joinInstances(file) : soleInstance();
    if (file) refuseEmptyFile(file, instance);
    db = connect(file ?? ':memory:');
    await retryWhileBusy(() => versionOf(db!, place));
    await retryWhileBusy(() => unlock(readEncryption(db!), keys, place));
    await retryWhileBusy(() => configure(db!));
    await retryWhileBusy(() => inTransaction(db!, () => migrate(db!, place)));
    const watch = file === undefined ? undefined : watchLog(`${file}-wal`);
    const parts = { db, file, place, instance, clock, keys, watch };
    if (file) await retryWhileBusy(() => checkNothingIsMissing({ ...parts, file }));
    if (keys) {
      setSecureDelete(db, 'fast');
      await retryWhileBusy(() => inTransaction(db!, () => introduceKey(db!, keys, place)));
    }
    return await retryWhileBusy(() => assemble(parts));
  } catch (error) {
    if (db) closeUnchanged(db, file);
    instance?.leave();
    throw toStoreError(error, place);
  }
}

/**
 * For simulations: opens a store on an existing connection, as the given instance. Skips what only a file needs (the
 * folder, the checks for lost data) and encryption.
 */
export function joinSqlite(
  parts: Pick<Parts, 'db' | 'place' | 'instance' | 'clock' | 'watch'>,
): SqliteDatabase {
  configure(parts.db);
  inTransaction(parts.db, () => migrate(parts.db, parts.place));
  return assemble({ ...parts, file: undefined, keys: undefined });
}

interface Parts {
  readonly db: Connection;
  /** The absolute path; undefined in memory. */
  readonly file: string | undefined;
  /** The path or `memory:`, for messages. */
  readonly place: string;
  readonly instance: Instance;
  readonly clock: Clock;
  readonly keys: Keys | undefined;
  /** Notices commits of other processes. Undefined in memory. */
  readonly watch: Watch | undefined;
}

function assemble({ db, file, place, instance, clock, keys, watch }: Parts): SqliteDatabase {
  const { incarnation, transactions } = readCounter(db);
  const cells = new Vault(db, keys, place);
  const rows = new Rows(db, cells);
  const feed = new Feed(db, rows, watch);
  // The first mark allocates the disk space for all later ones, which overwrite it.
  instance.mark(incarnation, transactions);
  const commands = new GroupCommit(db, place, {
    onBegin() {
      // Discards the writes of an earlier transaction that was rolled back, so that they are not delivered.
      rows.takeWritten();
      // Another process may have introduced a key that this one lacks.
      cells.refresh();
    },
    countTransaction: transactionCounter(db),
    onCommitted(transaction) {
      if (transaction !== undefined) {
        instance.mark(incarnation, transaction);
        crashPoint('commit: marked');
        shrinking.scheduleCheck();
      }
      feed.deliver(rows.takeWritten());
    },
  });
  const shrinking = new Shrinking({ db, commands, file, place });
  const queue = new SqliteQueue({ db, commands, feed, instance, clock, file: place });
  const queries = sqliteQueries({ db, file, cells, clock, place });
  let rekeying: Promise<RekeyReport> | undefined;
  let isClosing = false;
  let closed = false;
  const close = async () => {
    isClosing = true;
    await queries.close();
    await shrinking.stop();
    await commands.close();
    await rekeying?.catch(() => {});
    closed = true;
    queue.close();
    feed.close();
    const allInFile = !file || checkpoint(db);
    crashPoint('close: checkpointed');
    db.close();
    if (allInFile) instance.finishCreating();
    instance.leave({ keepMark: !allInFile });
  };
  const tables = sqliteTables(db, commands, cells, place);
  const store = sqliteStore({ rows, tables, commands, feed, queue, clock, file: place, close });
  shrinking.scheduleCheck();
  return {
    store,
    queue,
    secrets: storedSecrets(tables),
    sessions: storedSessions(tables),
    calls: storedCalls(tables, requestSql),
    audit: storedAudit(tables),
    queries,
    close: () => store.close(),
    backup: async (target) => {
      if (closed) throw storeClosed(place);
      await backUp(file ?? db, resolve(target));
    },
    rekey: async () => {
      if (isClosing) throw storeClosed(place);
      rekeying ??= rekeySqlite({
        ...{ db, vault: cells, tables, commands, file, place },
        isClosing: () => isClosing,
      }).finally(() => {
        rekeying = undefined;
      });
      return rekeying;
    },
  };
}

/**
 * Adds the current key to the encryption record, if it is new. Call it inside a transaction, because other processes
 * may change the record.
 */
function introduceKey(db: Connection, keys: Keys, place: string): void {
  const vault = new Vault(db, keys, place);
  vault.change((record) => introduced(record, keys, isUnused(db)));
  vault.keepLookupSecret();
}

/** True for a file that never contained data, so that none of its values can be plain text. */
function isUnused(db: Connection): boolean {
  const { transactions, newestCommit } = readCounter(db);
  if (transactions + newestCommit > 0) return false;
  const tables = ['tasks', 'commits', 'secrets', 'sessions', 'audit'];
  return tables.every((table) => db.prepare(`select 1 from ${table} limit 1`).get() === undefined);
}

/** Creates the folder of a database. Throws if it is on a network file system. */
function prepareFolder(file: string): void {
  const folder = dirname(file);
  try {
    makePrivateFolder(folder);
  } catch (error) {
    throw new StoreError(
      'STORE_NOT_OPENED',
      file,
      `its folder cannot be created (${(error as Error).message})`,
      'Choose a location where this user can write.',
      error,
    );
  }
  const network = networkFileSystemOf(folder);
  if (network) {
    throw new StoreError(
      'STORE_NOT_OPENED',
      file,
      `it is on a network file system (${network}), where SQLite's locks do not work reliably`,
      'Put the file on a local disk, or use Postgres to share tasks between machines.',
    );
  }
}

/**
 * Creates a missing file. Throws for an empty one that no process is creating: it has lost its data, but SQLite would
 * treat it as a new database.
 */
function refuseEmptyFile(file: string, instance: Instance): void {
  const size = () => statSync(file, { throwIfNoEntry: false })?.size;
  if (size() === undefined) {
    instance.startCreating();
    makePrivateFile(file);
  }
  // SQLite treats a file of one byte as empty, too. The size is read again at the end, because another process may have
  // finished creating the file in between.
  const isEmpty = () => size() === 0 || size() === 1;
  if (isEmpty() && !instance.isBeingCreated() && isEmpty()) {
    throw new StoreError(
      'STORE_CORRUPT',
      file,
      'the file is empty: it was truncated, or another program created it',
      'Restore a back-up, or delete the file to start with an empty store.',
    );
  }
}

/** Throws if acknowledged commits are missing or a page is corrupt. Then removes the files of dead instances. */
function checkNothingIsMissing({ db, file, instance }: Parts & { readonly file: string }): void {
  const { incarnation } = readCounter(db);
  // The counter in the database file alone, without its write-ahead log.
  const alone = readCounterWithoutLog(file);
  if (alone && alone.incarnation !== incarnation) {
    throw new StoreError(
      'STORE_CORRUPT',
      file,
      `its write-ahead log (${file}-wal) belongs to another database`,
      `Delete ${file}-wal and ${file}-instances to use the file as it is, or restore the database that the log belongs to.`,
    );
  }
  // The marks must be read before the counter: otherwise a commit of another process in between would look like a loss.
  const acknowledged = instance.highestMark(incarnation);
  const { transactions, newestCommit } = readCounter(db);
  if (acknowledged > transactions) {
    // If the file alone has a higher counter than with its log, the log is older and would overwrite newer pages.
    const leftovers = `${alone && alone.transactions > transactions ? `${file}-wal and ` : ''}${file}-instances`;
    throw new StoreError(
      'STORE_CORRUPT',
      file,
      `acknowledged changes are missing: transaction ${acknowledged} was acknowledged, but the last one found is ${transactions}; the file is an older copy, or its write-ahead log (${file}-wal) was truncated, damaged or removed`,
      `Restore the file together with its -wal, or a back-up. To continue with the remaining data, stop every process that uses it and delete ${leftovers}.`,
    );
  }
  const { seq } = db.prepare('select coalesce(max(seq), 0) as seq from commits').get() as { seq: number };
  if (newestCommit > seq) throw corrupt(file, `its last commit is ${seq} instead of ${newestCommit}`);
  if (statSync(file).size <= maxCheckedBytes) {
    const found = db.prepare('pragma integrity_check(1)').get() as { integrity_check: string };
    if (found.integrity_check !== 'ok') throw corrupt(file, found.integrity_check);
  }
  // Listed before the checkpoint: an instance that dies after it may have acknowledged commits that are only in the
  // log.
  const dead = instance.dead();
  if (checkpoint(db)) {
    instance.removeDead(dead);
    instance.finishCreating();
  }
}

/**
 * Moves commits from the write-ahead log to the database file. Returns true if all of them are there now; false if
 * other connections prevented that or an error occurred, such as a full disk. No data is lost then.
 */
function checkpoint(db: Connection): boolean {
  try {
    const done = db.prepare('pragma wal_checkpoint(passive)').get() as {
      busy: number;
      log: number;
      checkpointed: number;
    };
    return done.busy === 0 && done.log === done.checkpointed;
  } catch {
    return false;
  }
}

/**
 * Closes without a checkpoint. The last connection to close runs one, and a corrupt write-ahead log would then damage a
 * good file. So a read-only connection closes last and a refused file stays unchanged.
 */
function closeUnchanged(db: Connection, file: string | undefined): void {
  let last: Connection | undefined;
  try {
    last = file === undefined ? undefined : connect(file, { readOnly: true });
    last?.prepare('select 1 from sqlite_schema').get();
  } catch {
    // There is no readable database that a checkpoint could damage.
  }
  db.close();
  last?.close();
}

/** Writes the copy next to the target, then renames it, so that the target never contains an incomplete copy. */
async function backUp(source: string | Connection, target: string): Promise<void> {
  if (typeof source === 'string' && isSameFile(source, target)) {
    throw new StoreError(
      'STORE_NOT_OPENED',
      target,
      'the target is the database itself',
      'Choose another file for the back-up.',
    );
  }
  const unfinished = `${target}.unfinished`;
  try {
    rmSync(unfinished, { force: true });
    makePrivateFile(unfinished);
    await copyDatabase(source, unfinished);
    const copy = connect(unfinished);
    try {
      // The back-up must be a single file, without a write-ahead log.
      copy.exec('pragma journal_mode = delete');
      inTransaction(copy, () => renewCounter(copy));
    } finally {
      copy.close();
    }
    crashPoint('backup: copied');
    renameSync(unfinished, target);
    flushFolder(dirname(target));
  } catch (error) {
    if (existsSync(unfinished)) rmSync(unfinished);
    throw toStoreError(error, target);
  }
}

function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((file) => statSync(file, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}

/** Syncs a folder: only then does the name of a new file in it survive a power failure. Windows cannot do that. */
function flushFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** Retries while other processes have the file locked. */
function retryWhileBusy<T>(act: () => T): Promise<T> {
  return retried(act, isBusy, busyRetryMs);
}
