/**
 * Removes from a file what SQLite has forgotten and not overwritten: freed pages, gaps within pages, and the log.
 * `VACUUM` writes every page anew and lets go of the rest; after it the log is emptied. It holds the write lock for
 * as long as it takes, so it runs in a thread of its own: reads go on, and commands wait as for any other process.
 */

import { pause } from '../../model/runtime.ts';
import { type Connection, isBusy, vacuumInSteps } from './driver.ts';
import { runInThread } from './sql-thread.ts';

const busyTimeoutMs = 1_000;
const tryAgainMs = 50;

export async function compact(db: Connection, file: string, isStopped: () => boolean): Promise<boolean> {
  while (!isStopped()) {
    if ((await vacuumed(file)) && (await logEmptied(db, isStopped))) return true;
    await pause(tryAgainMs);
  }
  return false;
}

/** False while somebody else writes. A file that could not shrink in steps can do so afterwards. */
async function vacuumed(file: string): Promise<boolean> {
  try {
    await runInThread(file, busyTimeoutMs, ['pragma synchronous = full', vacuumInSteps, 'vacuum']);
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

/** Readers of the log put it off, for as long as each reads. */
async function logEmptied(db: Connection, isStopped: () => boolean): Promise<boolean> {
  const checkpoint = db.prepare('pragma wal_checkpoint(truncate)');
  while (!isStopped()) {
    if (isEmptied(() => checkpoint.get())) return true;
    await pause(tryAgainMs);
  }
  return false;
}

function isEmptied(act: () => unknown): boolean {
  try {
    return (act() as { busy: number }).busy === 0;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}
