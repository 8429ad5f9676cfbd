import { mkdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { crashPoint } from '../../engine/crash-point.ts';
import type { Database } from '../../engine/queue.ts';
import { StoreClosed, StoreCorrupt, StoreNotOpened } from '../../engine/store-errors.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import { type Connection, configure, connect, copyDatabase, corrupt, isBusy, worded } from './driver.ts';
import { Feed } from './feed.ts';
import { networkFileSystem } from './file-system.ts';
import { GroupCommit } from './group-commit.ts';
import { type Instance, joinInstances, soleInstance } from './instances.ts';
import { SqliteQueue } from './queue.ts';
import { Rows } from './rows.ts';
import { incarnationOf, migrate, renewIncarnation } from './schema.ts';
import { SqliteStore } from './store.ts';

export interface SqliteDatabase extends Database {
  /** Copies the database to a new file while work goes on. The copy is complete or not there at all. */
  backup(file: string): Promise<void>;
}

/** Databases up to this size are checked whole when they are opened; damage in larger ones shows on access. */
const checkedWholeBytes = 16 * 2 ** 20;
const busyRetryMs = 5;
const busyGiveUpMs = 30_000;

/**
 * Opens a database of tasks, `memory:` or a file, which is made if it is not there. Several processes may open the
 * same file; each must be able to write to its folder.
 */
export async function openSqlite(
  location: string,
  options: { readonly clock?: Clock } = {},
): Promise<SqliteDatabase> {
  const clock = options.clock ?? systemClock;
  const file = location === 'memory:' ? undefined : resolve(location);
  const place = file ?? location;
  let instance: Instance | undefined;
  let db: Connection | undefined;
  try {
    if (file) prepareFolder(file);
    instance = file ? joinInstances(file) : soleInstance();
    db = connect(file ?? ':memory:');
    await whenFree(() => configure(db!));
    await whenFree(() => inTransaction(db!, () => migrate(db!, place)));
    if (file) checkNothingIsMissing(db, file, instance);
    return assemble({ db, file, place, instance, clock });
  } catch (error) {
    db?.close();
    instance?.leave();
    throw worded(error, place);
  }
}

function assemble({
  db,
  file,
  place,
  instance,
  clock,
}: {
  db: Connection;
  file: string | undefined;
  place: string;
  instance: Instance;
  clock: Clock;
}): SqliteDatabase {
  const incarnation = incarnationOf(db);
  const rows = new Rows(db);
  const feed = new Feed(db, rows, file && `${file}-wal`);
  let marked = 0;
  const commands = new GroupCommit(db, place, () => {
    // Asked of the database, not counted: what was rolled back must never look acknowledged.
    const newest = rows.newestCommit();
    if (newest > marked) {
      marked = newest;
      instance.mark(incarnation, marked);
      crashPoint('commit: marked');
    }
    feed.deliver();
  });
  const queue = new SqliteQueue({ db, rows, commands, feed, instance, clock, file: place });
  let closed = false;
  const close = async () => {
    await commands.close();
    closed = true;
    queue.close();
    feed.close();
    if (file) checkpoint(db);
    crashPoint('close: checkpointed');
    db.close();
    instance.leave();
  };
  const store = new SqliteStore({ rows, commands, feed, clock, file: place, close });
  return {
    store,
    queue,
    close: () => store.close(),
    backup: async (target) => {
      if (closed) throw new StoreClosed(place);
      await backUp(file ?? db, resolve(target));
    },
  };
}

function prepareFolder(file: string): void {
  const folder = dirname(file);
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new StoreNotOpened(
      file,
      `its folder cannot be made (${(error as Error).message})`,
      'Choose a place where this user may write.',
      error,
    );
  }
  const network = networkFileSystem(statfsSync(folder).type);
  if (network) {
    throw new StoreNotOpened(
      file,
      `it lies on a network file system (${network}), where SQLite cannot keep several processes apart`,
      'Put the file on a local disk, or use Postgres to share tasks between machines.',
    );
  }
}

/** An acknowledged commit that is no longer there, or a damaged page, must be said, not passed over. */
function checkNothingIsMissing(db: Connection, file: string, instance: Instance): void {
  // The marks first: the other way round, a commit of another process in between would look like a loss.
  const acknowledged = instance.highestMark(incarnationOf(db));
  const { seq } = db.prepare('select coalesce(max(seq), 0) as seq from commits').get() as { seq: number };
  if (acknowledged > seq) {
    throw new StoreCorrupt(
      file,
      `acknowledged work is missing: commit ${acknowledged} was acknowledged, but the last one found is ${seq}; its write-ahead log (${file}-wal) was truncated, damaged or removed`,
      `Restore the file together with its -wal, or a back-up. To go on with what is left, delete ${file}-instances.`,
    );
  }
  if (statSync(file).size <= checkedWholeBytes) {
    const found = db.prepare('pragma quick_check(1)').get() as { quick_check: string };
    if (found.quick_check !== 'ok') throw corrupt(file, found.quick_check);
  }
  if (checkpoint(db)) instance.buryDead();
}

/** True if everything committed so far is in the database file itself. */
function checkpoint(db: Connection): boolean {
  try {
    const done = db.prepare('pragma wal_checkpoint(passive)').get() as {
      busy: number;
      log: number;
      checkpointed: number;
    };
    return done.busy === 0 && done.log === done.checkpointed;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

async function backUp(source: string | Connection, target: string): Promise<void> {
  const unfinished = `${target}.unfinished`;
  try {
    rmSync(unfinished, { force: true });
    await copyDatabase(source, unfinished);
    const copy = connect(unfinished);
    try {
      copy.exec('pragma journal_mode = delete');
      inTransaction(copy, () => renewIncarnation(copy));
    } finally {
      copy.close();
    }
    crashPoint('backup: copied');
    renameSync(unfinished, target);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw worded(error, target);
  }
}

function inTransaction(db: Connection, act: () => void): void {
  db.exec('begin immediate');
  try {
    act();
    db.exec('commit');
  } catch (error) {
    if (db.isTransaction) db.exec('rollback');
    throw error;
  }
}

/** Other processes may be opening the same file. */
async function whenFree(act: () => void): Promise<void> {
  for (const started = performance.now(); ; ) {
    try {
      return act();
    } catch (error) {
      if (!isBusy(error) || performance.now() - started > busyGiveUpMs) throw error;
      await pause(busyRetryMs);
    }
  }
}
