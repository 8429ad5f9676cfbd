/** The one place that touches `node:sqlite`: opening a file with the right settings, and wording its errors. */
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { HoldfastError, type StoreErrorCode } from '../../model/errors.ts';
import { StoreError, storeClosed, TaskCorrupt } from '../../ports/store-errors.ts';
import { Corrupt, CorruptRecord } from '../shared/corrupt.ts';

export type Connection = DatabaseSync;

// A static import of node:sqlite would fail on an old Node before anyone could say why.
const { DatabaseSync: Sqlite, backup } = process.getBuiltinModule('node:sqlite');

/**
 * SQLite's own busy handler blocks the event loop: it may do so for a moment only, and callers try again later.
 */
const busyTimeoutMs = 5;

/** In the words of SQLite too, which would otherwise be the name of a file. */
export function isInMemory(location: string): boolean {
  return location === 'memory:' || location === ':memory:';
}

export function connect(file: string, options: { readOnly?: boolean; timeout?: number } = {}): Connection {
  return new Sqlite(file, { timeout: busyTimeoutMs, ...options });
}

/** Reads the file as it is, past its write-ahead log. What another process writes meanwhile may be seen half done. */
export function connectToFileAlone(file: string): Connection {
  return connect(`${pathToFileURL(file)}?immutable=1`, { readOnly: true });
}

/** Takes effect in a file without any page, and with the next `VACUUM` of the same connection. */
export const vacuumInSteps = 'pragma auto_vacuum = incremental';
/** The log is cut back to this size when it begins anew. Twice what it holds between two checkpoints as a rule. */
export const largestLogBytes = 8 * 2 ** 20;

/** Durable settings: a commit that was acknowledged survives the loss of power. */
export function configure(db: Connection): void {
  // Of a file that has pages this would write the first one, whatever is in it.
  const { page_count } = db.prepare('pragma page_count').get() as { page_count: number };
  if (page_count === 0) db.exec(vacuumInSteps);
  db.exec(`
    pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -16384;
    pragma journal_size_limit = ${largestLogBytes}`);
}

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

/** Whether free pages can be cut off the end of the file. */
export function canVacuumInSteps(db: Connection): boolean {
  return (db.prepare('pragma auto_vacuum').get() as { auto_vacuum: number }).auto_vacuum === 2;
}

/** Overwrites what is deleted: `fast` where that costs no more writing, `on` everywhere. */
export function forgetThoroughly(db: Connection, how: 'fast' | 'on'): void {
  db.exec(`pragma secure_delete = ${how}`);
}

/**
 * Copies a database in one step; smaller steps may never end while someone writes. A file is read through a
 * connection of its own, so that the copy does not stand in the way of commits.
 */
export async function copyDatabase(from: string | Connection, to: string): Promise<void> {
  const source = typeof from === 'string' ? connect(from, { readOnly: true }) : from;
  try {
    await backup(source, to, { rate: 2 ** 31 - 1 });
  } finally {
    if (source !== from) source.close();
  }
}

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
/** The shared memory beside the database could not grow: a full disk too, though SQLite calls it an I/O error. */
const sharedMemorySize = 4_874;

/** SQLite's primary result code, if the error came from SQLite. */
export function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  if (code === sharedMemorySize) return primary.full;
  return typeof code === 'number' ? code & 0xff : undefined;
}

function fileSystemCode(error: unknown): string | undefined {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return syscall === undefined ? undefined : code;
}

/** What Node says of a database, or of a statement, that is not open any more. */
function isOfClosed(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'ERR_INVALID_STATE';
}

export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === primary.busy || code === primary.locked;
}

/** What `act` returns; its errors in words. */
export async function wording<T>(file: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw worded(error, file);
  }
}

/** SQLite never says which file it speaks of, nor what to do about it; the file system never says the latter. */
export function worded(error: unknown, file: string): unknown {
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
        'the disk is full, nothing of this change was written',
        'Free some space and try again; everything acknowledged before is kept.',
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
        'another program holds the database locked',
        'Close it (a database browser or a copy in progress, perhaps) and try again.',
      );
    case primary.io:
      return as(
        'STORE_FAILED',
        `the disk reported an error (${message})`,
        'Check the disk; everything acknowledged before is kept if it can still be read.',
      );
    default:
      if (typeof code === 'number' && code !== primary.cannotOpen)
        return as('STORE_FAILED', `SQLite reported: ${message}`, 'Nothing of this change was written.');
      return as(
        'STORE_NOT_OPENED',
        `the database cannot be opened (${message})`,
        'Check that its folder exists and that this user may read and write there.',
      );
  }
}

export function corrupt(file: string, problem: string, cause?: unknown): StoreError {
  return new StoreError(
    'STORE_CORRUPT',
    file,
    `the database is damaged (${problem})`,
    "Stop every process that uses it and restore a back-up, or save what is readable with SQLite's own `.recover`.",
    cause,
  );
}
