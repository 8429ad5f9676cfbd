/** The only module that uses `node:sqlite`: opens files with the right settings and converts errors to `StoreError`. */
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { HoldfastError, type StoreErrorCode } from '../../model/errors.ts';
import { StoreError, storeClosed, TaskCorrupt } from '../../ports/store-errors.ts';
import { Corrupt, CorruptRecord } from '../shared/corrupt.ts';

export type Connection = DatabaseSync;

// A static import of node:sqlite would fail on an old Node without a helpful message.
const { DatabaseSync: Sqlite, backup } = process.getBuiltinModule('node:sqlite');

/** In milliseconds. SQLite's busy handler blocks the event loop, so it may wait only briefly. Callers retry later. */
const busyTimeoutMs = 5;

/** Also accepts SQLite's own `:memory:`, which would otherwise be a file name. */
export function isInMemory(location: string): boolean {
  return location === 'memory:' || location === ':memory:';
}

/** Opens a connection. `timeout` is how long it blocks while the file is locked, in milliseconds. */
export function connect(file: string, options: { readOnly?: boolean; timeout?: number } = {}): Connection {
  return new Sqlite(file, { timeout: busyTimeoutMs, ...options });
}

/** Opens the file read-only and ignores its write-ahead log. May see incomplete writes of another process. */
export function connectWithoutLog(file: string): Connection {
  return connect(`${pathToFileURL(file)}?immutable=1`, { readOnly: true });
}

/**
 * Lets `incremental_vacuum` shrink the file. Takes effect in an empty file, or with the next `VACUUM` on the
 * connection.
 */
export const incrementalVacuum = 'pragma auto_vacuum = incremental';
/**
 * When the write-ahead log restarts after a checkpoint, a longer one is truncated to this size. It is twice the usual
 * size, so this happens only after the log grew exceptionally.
 */
export const maxLogBytes = 8 * 2 ** 20;

/** Sets up a connection, so that an acknowledged commit survives a power failure. The cache has 16 MiB. */
export function configure(db: Connection): void {
  // Only in an empty file: elsewhere this would overwrite the first page, whatever it contains.
  const { page_count } = db.prepare('pragma page_count').get() as { page_count: number };
  if (page_count === 0) db.exec(incrementalVacuum);
  db.exec(`
    pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -16384;
    pragma journal_size_limit = ${maxLogBytes}`);
}

/** Runs `act` in a transaction that has the write lock from its beginning. */
export function inTransaction(db: Connection, act: () => void): void {
  db.exec('begin immediate');
  try {
    act();
    db.exec('commit');
  } catch (error) {
    if (db.isTransaction) db.exec('rollback');
    throw error;
  }
}

/** True if `incremental_vacuum` can remove free pages from the end of the file. */
export function hasIncrementalVacuum(db: Connection): boolean {
  return (db.prepare('pragma auto_vacuum').get() as { auto_vacuum: number }).auto_vacuum === 2;
}

/**
 * Makes SQLite overwrite deleted data with zeros: `fast` only where that needs no additional writes, `on` everywhere.
 */
export function setSecureDelete(db: Connection, how: 'fast' | 'on'): void {
  db.exec(`pragma secure_delete = ${how}`);
}

/**
 * Copies a database in one step; with smaller steps, writers could restart the copy endlessly. A file is read through a
 * separate connection, so that the copy does not block commits.
 */
export async function copyDatabase(from: string | Connection, to: string): Promise<void> {
  const source = typeof from === 'string' ? connect(from, { readOnly: true }) : from;
  try {
    // `rate` is the number of pages in each step.
    await backup(source, to, { rate: 2 ** 31 - 1 });
  } finally {
    if (source !== from) source.close();
  }
}

/** SQLite's primary result codes, which are the lowest byte of its extended ones. */
const primary = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
};
/**
 * `SQLITE_IOERR_SHMSIZE`: the shared-memory file could not grow, because the disk is full. SQLite calls it an I/O
 * error.
 */
const sharedMemorySize = 4_874;

/** SQLite's primary result code; undefined if the error did not come from SQLite. */
export function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  if (code === sharedMemorySize) return primary.full;
  return typeof code === 'number' ? code & 0xff : undefined;
}

/** The code of an error of the file system, such as `ENOSPC`; undefined for other errors. */
function fileSystemCode(error: unknown): string | undefined {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return syscall === undefined ? undefined : code;
}

/** True for Node's error about a closed database or statement. */
function isOfClosed(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'ERR_INVALID_STATE';
}

/** True if another connection has the lock. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === primary.busy || code === primary.locked;
}

/** Returns the result of `act`. Converts its errors with `toStoreError`. */
export async function withStoreErrors<T>(file: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw toStoreError(error, file);
  }
}

/**
 * Converts errors of SQLite, of the file system and about corrupt data to a `StoreError` with the file and a remedy.
 * Returns any other error unchanged.
 */
export function toStoreError(error: unknown, file: string): unknown {
  if (error instanceof HoldfastError) return error;
  if (isOfClosed(error)) return storeClosed(file);
  const message = (error as Error)?.message;
  const code = sqliteCode(error) ?? fileSystemCode(error);
  const as = (kind: StoreErrorCode, problem: string, remedy: string) =>
    new StoreError(kind, file, problem, remedy, error);
  switch (code) {
    case undefined:
      if (error instanceof CorruptRecord) return new TaskCorrupt(file, error.taskId, message, error);
      if (error instanceof Corrupt) return corrupt(file, message, error);
      return error instanceof SyntaxError ? corrupt(file, 'a stored value is not readable', error) : error;
    case primary.full:
    case 'ENOSPC':
    case 'EDQUOT':
      return as(
        'STORE_FULL',
        'the disk is full; this change was not written',
        'Free some space and try again. All acknowledged changes are kept.',
      );
    case primary.readOnly:
    case 'EROFS':
      return as(
        'STORE_READ_ONLY',
        'the database is read-only',
        'Make the file and its folder writable for this user, or choose another place for it.',
      );
    case primary.corrupt:
      return corrupt(file, message, error);
    case primary.notADatabase:
      return as(
        'STORE_CORRUPT',
        'this file is not a SQLite database, or its first page is damaged',
        'Choose another file, or restore this one from a back-up.',
      );
    case primary.busy:
    case primary.locked:
      return as(
        'STORE_BUSY',
        'another program has locked the database',
        'Close that program (perhaps a database browser or a running copy) and try again.',
      );
    case primary.io:
      return as(
        'STORE_FAILED',
        `the disk reported an error (${message})`,
        'Check the disk. All acknowledged changes are kept if the disk can still be read.',
      );
    default:
      if (typeof code === 'number' && code !== primary.cannotOpen)
        return as('STORE_FAILED', `SQLite reported: ${message}`, 'This change was not written.');
      return as(
        'STORE_NOT_OPENED',
        `the database cannot be opened (${message})`,
        'Check that its folder exists and that this user can read and write there.',
      );
  }
}

/** An error for a damaged database. */
export function corrupt(file: string, problem: string, cause?: unknown): StoreError {
  return new StoreError(
    'STORE_CORRUPT',
    file,
    `the database is damaged (${problem})`,
    "Stop every process that uses it and restore a back-up, or save the readable rows with SQLite's `.recover`.",
    cause,
  );
}
