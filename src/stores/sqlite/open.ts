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
  forgetThoroughly,
  inTransaction,
  isBusy,
  isInMemory,
  worded,
} from './driver.ts';
import { rekeySqlite } from './encryption/rekey.ts';
import { readEncryption, Vault } from './encryption/vault.ts';
import { networkFileSystemOf } from './file/file-system.ts';
import { makePrivateFile, makePrivateFolder } from './file/private-files.ts';
import { Shrinking } from './file/shrinking.ts';
import { counting, readCounter, readCounterOfFileAlone, renewCounter } from './file/transaction-counter.ts';
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
  /** Copies the database to a new file while work goes on. The copy is complete or not there at all. */
  backup(file: string): Promise<void>;
  /**
   * Re-encrypts all values that are not encrypted with the newest key, and reports how many values there are under
   * which key. When none is left under a key, that key can be removed from `encryption`.
   */
  rekey(): Promise<RekeyReport>;
}

export interface SqliteOptions {
  readonly clock?: Clock;
  /** Encrypts what callers, handlers and peers say. A file that is encrypted cannot be opened without. */
  readonly encryption?: Encryption;
}

/** Databases up to this size are checked whole when they are opened; damage in larger ones shows on access. */
const checkedWholeBytes = 16 * 2 ** 20;
const busyRetryMs = 5;

/**
 * Opens a database of tasks, `memory:` or a file, which is made if it is not there. Several processes may open the
 * same file; each must be able to write to its folder.
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
    if (file) expectDatabase(file, instance);
    db = connect(file ?? ':memory:');
    await whenFree(() => versionOf(db!, place));
    await whenFree(() => unlock(readEncryption(db!), keys, place));
    await whenFree(() => configure(db!));
    await whenFree(() => inTransaction(db!, () => migrate(db!, place)));
    const watch = file === undefined ? undefined : watchLog(`${file}-wal`);
    const parts = { db, file, place, instance, clock, keys, watch };
    if (file) await whenFree(() => checkNothingIsMissing({ ...parts, file }));
    if (keys) {
      forgetThoroughly(db, 'fast');
      await whenFree(() => inTransaction(db!, () => introduceKey(db!, keys, place)));
    }
    return await whenFree(() => assemble(parts));
  } catch (error) {
    if (db) closeAsFound(db, file);
    instance?.leave();
    throw worded(error, place);
  }
}

/**
 * Joins the processes on a database that is connected to already, and of which others know by their `instance`. What a
 * file needs beyond that (locks, marks, checks) is left out: for simulations.
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
  readonly file: string | undefined;
  readonly place: string;
  readonly instance: Instance;
  readonly clock: Clock;
  readonly keys: Keys | undefined;
  readonly watch: Watch | undefined;
}

function assemble({ db, file, place, instance, clock, keys, watch }: Parts): SqliteDatabase {
  const { incarnation, transactions } = readCounter(db);
  const cells = new Vault(db, keys, place);
  const rows = new Rows(db, cells);
  const feed = new Feed(db, rows, watch);
  // The first mark takes the space that all later ones need, while there is some.
  instance.mark(incarnation, transactions);
  const commands = new GroupCommit(db, place, {
    begun() {
      // A transaction that came to nothing may have left some, and nobody may hear of it.
      rows.takeWritten();
      // Another process may have introduced a key, which this one may not have.
      cells.refresh();
    },
    seal: counting(db),
    committed(transaction) {
      if (transaction !== undefined) {
        instance.mark(incarnation, transaction);
        crashPoint('commit: marked');
        shrinking.expect();
      }
      feed.deliver(rows.takeWritten());
    },
  });
  const shrinking = new Shrinking({ db, commands, file, place });
  const queue = new SqliteQueue({ db, commands, feed, instance, clock, file: place });
  const survey = sqliteQueries({ db, file, cells, clock, place });
  let rekeying: Promise<RekeyReport> | undefined;
  let isClosing = false;
  let closed = false;
  const close = async () => {
    isClosing = true;
    await survey.close();
    await shrinking.stop();
    await commands.close();
    await rekeying?.catch(() => {});
    closed = true;
    queue.close();
    feed.close();
    const allInFile = !file || checkpoint(db);
    crashPoint('close: checkpointed');
    db.close();
    if (allInFile) instance.finishMaking();
    instance.leave({ keepMark: !allInFile });
  };
  const tables = sqliteTables(db, commands, cells, place);
  const store = sqliteStore({ rows, tables, commands, feed, queue, clock, file: place, close });
  shrinking.expect();
  return {
    store,
    queue,
    secrets: storedSecrets(tables),
    sessions: storedSessions(tables),
    calls: storedCalls(tables, requestSql),
    audit: storedAudit(tables),
    queries: survey,
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

/** Inside a transaction: another process may have changed it since we last looked. */
function introduceKey(db: Connection, keys: Keys, place: string): void {
  const vault = new Vault(db, keys, place);
  vault.change((record) => introduced(record, keys, isUnused(db)));
  vault.keepLookupSecret();
}

/** True of a file that has never held a value. */
function isUnused(db: Connection): boolean {
  const { transactions, newestCommit } = readCounter(db);
  if (transactions + newestCommit > 0) return false;
  const tables = ['tasks', 'commits', 'secrets', 'sessions', 'audit'];
  return tables.every((table) => db.prepare(`select 1 from ${table} limit 1`).get() === undefined);
}

function prepareFolder(file: string): void {
  const folder = dirname(file);
  try {
    makePrivateFolder(folder);
  } catch (error) {
    throw new StoreError(
      'STORE_NOT_OPENED',
      file,
      `its folder cannot be made (${(error as Error).message})`,
      'Choose a place where this user may write.',
      error,
    );
  }
  const network = networkFileSystemOf(folder);
  if (network) {
    throw new StoreError(
      'STORE_NOT_OPENED',
      file,
      `it lies on a network file system (${network}), where SQLite cannot keep several processes apart`,
      'Put the file on a local disk, or use Postgres to share tasks between machines.',
    );
  }
}

/** SQLite takes an empty file for a new database; one that nobody is making has lost all it held. */
function expectDatabase(file: string, instance: Instance): void {
  const size = () => statSync(file, { throwIfNoEntry: false })?.size;
  if (size() === undefined) {
    instance.startMaking();
    makePrivateFile(file);
  }
  // SQLite counts a single byte for none. Twice, because somebody may have finished making it in between.
  const isEmpty = () => size() === 0 || size() === 1;
  if (isEmpty() && !instance.isBeingMade() && isEmpty()) {
    throw new StoreError(
      'STORE_CORRUPT',
      file,
      'the file is empty: it was truncated, or another program made it',
      'Restore a back-up, or delete the file to begin anew.',
    );
  }
}

/** An acknowledged commit that is no longer there, or a damaged page, must be said, not passed over. */
function checkNothingIsMissing({ db, file, instance }: Parts & { readonly file: string }): void {
  const { incarnation } = readCounter(db);
  const alone = readCounterOfFileAlone(file);
  if (alone && alone.incarnation !== incarnation) {
    throw new StoreError(
      'STORE_CORRUPT',
      file,
      `its write-ahead log (${file}-wal) belongs to another database`,
      `Delete ${file}-wal and ${file}-instances to use the file as it is, or put back the one that the log belongs to.`,
    );
  }
  // The marks first: the other way round, a commit of another process in between would look like a loss.
  const acknowledged = instance.highestMark(incarnation);
  const { transactions, newestCommit } = readCounter(db);
  if (acknowledged > transactions) {
    // A log older than the file would undo what the file holds.
    const leftovers = `${alone && alone.transactions > transactions ? `${file}-wal and ` : ''}${file}-instances`;
    throw new StoreError(
      'STORE_CORRUPT',
      file,
      `acknowledged work is missing: transaction ${acknowledged} was acknowledged, but the last one found is ${transactions}; the file is an older copy, or its write-ahead log (${file}-wal) was truncated, damaged or removed`,
      `Restore the file together with its -wal, or a back-up. To go on with what is left, stop every process that uses it and delete ${leftovers}.`,
    );
  }
  const { seq } = db.prepare('select coalesce(max(seq), 0) as seq from commits').get() as { seq: number };
  if (newestCommit > seq) throw corrupt(file, `its last commit is ${seq}, and should be ${newestCommit}`);
  if (statSync(file).size <= checkedWholeBytes) {
    const found = db.prepare('pragma integrity_check(1)').get() as { integrity_check: string };
    if (found.integrity_check !== 'ok') throw corrupt(file, found.integrity_check);
  }
  // Who dies from here on may have acknowledged what the checkpoint leaves in the log.
  const dead = instance.dead();
  if (checkpoint(db)) {
    instance.buryDead(dead);
    instance.finishMaking();
  }
}

/** True if everything committed so far is in the database file itself. A full disk, say, puts that off, no more. */
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
 * The last connection to close makes a checkpoint, and a damaged write-ahead log would spoil a sound file. A file
 * that is refused stays as it was found: a connection that may only read closes last.
 */
function closeAsFound(db: Connection, file: string | undefined): void {
  let last: Connection | undefined;
  try {
    last = file === undefined ? undefined : connect(file, { readOnly: true });
    last?.prepare('select 1 from sqlite_schema').get();
  } catch {
    // Then there is nothing to be spoilt.
  }
  db.close();
  last?.close();
}

async function backUp(source: string | Connection, target: string): Promise<void> {
  if (typeof source === 'string' && isSameFile(source, target)) {
    throw new StoreError(
      'STORE_NOT_OPENED',
      target,
      'it is the database itself',
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
    throw worded(error, target);
  }
}

function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((file) => statSync(file, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}

/** A new name in a folder outlives the loss of power only once the folder itself is on the disk. */
function flushFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** Other processes may be opening the same file. */
function whenFree<T>(act: () => T): Promise<T> {
  return retried(act, isBusy, busyRetryMs);
}
