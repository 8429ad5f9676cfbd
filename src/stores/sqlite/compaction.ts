/**
 * Removes from a file what SQLite has forgotten and not overwritten: freed pages, gaps within pages, and the log.
 * `VACUUM` writes every page anew and lets go of the rest; after it the log is emptied. It holds the write lock for
 * as long as it takes, so it runs in a thread of its own: reads go on, and commands wait as for any other process.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { type Connection, isBusy } from './driver.ts';

/** Plain JavaScript in a string, because a file of its own would have another name once it is built. */
const program = `
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const db = new DatabaseSync(workerData, { timeout: 1000 });
  try {
    db.exec('pragma synchronous = full; vacuum');
    parentPort.postMessage({});
  } catch (error) {
    parentPort.postMessage({ message: error.message, errcode: error.errcode });
  } finally {
    db.close();
  }
`;

const tryAgainMs = 50;

export async function compact(db: Connection, file: string, isStopped: () => boolean): Promise<boolean> {
  while (!isStopped()) {
    if ((await vacuumed(file)) && (await logEmptied(db, isStopped))) return true;
    await pause(tryAgainMs);
  }
  return false;
}

/** False while somebody else writes. */
async function vacuumed(file: string): Promise<boolean> {
  const worker = new Worker(program, { eval: true, workerData: file, execArgv: [] });
  const { promise, resolve, reject } = Promise.withResolvers<{ message?: string; errcode?: number }>();
  worker.once('message', resolve);
  worker.once('error', reject);
  const ended = new Promise((end) => worker.once('exit', end));
  ended.then(() => reject(new Error('the thread that compacts the file ended early')));
  const failure = await promise;
  await ended;
  if (failure.message === undefined) return true;
  if (isBusy(failure)) return false;
  throw Object.assign(new Error(failure.message), { errcode: failure.errcode });
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
