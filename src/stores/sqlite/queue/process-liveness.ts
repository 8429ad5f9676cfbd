/**
 * Who has this database open, and who is dead. Each open store is an instance with two small files beside the
 * database, in `<file>-instances/`:
 *
 *   <name>.lock   an SQLite file held in an exclusive transaction. The kernel drops that lock with the process, so
 *                 a dead holder is recognised within milliseconds, while a stopped one still counts as alive.
 *   <name>.mark   the number of the last transaction this instance acknowledged. It is written after each commit
 *                 without waiting for the disk, so it never runs ahead of the database; when the database is
 *                 found to be behind it, acknowledged work is missing and opening must fail.
 *
 * A third file, `making`, is there while the database is made for the first time.
 *
 * Never open the database or a lock file with `fs`: closing any descriptor of a file drops all POSIX locks that the
 * process holds on it, SQLite's included.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { newId } from '../../../model/id.ts';
import { crashPoint } from '../../../ports/crash-point.ts';
import { type Connection, connect, sqliteCode } from '../driver.ts';
import { folderMode, makePrivateFile, modeBeside } from '../file/private-files.ts';

export interface Instance {
  readonly name: string;
  /** Whether another instance still lives. */
  isAlive(name: string): boolean;
  /** The names of all other instances that left a lock file behind, dead or alive; none if we cannot look. */
  others(): string[];
  /** Remembers the last acknowledged transaction. */
  mark(incarnation: string, transaction: number): void;
  /** The highest transaction that any instance acknowledged to a caller of this database. */
  highestMark(incarnation: string): number;
  /** The names of instances that left something behind and live no more. */
  dead(): string[];
  /** Forgets what dead instances left behind. Only when all they acknowledged is safe in the database file. */
  buryDead(dead?: readonly string[]): void;
  /** Says that the file is about to be made: until `finishMaking`, that it is empty is no sign of a loss. */
  startMaking(): void;
  isBeingMade(): boolean;
  finishMaking(): void;
  /** The mark stays where what it stands for is not yet in the database file. */
  leave(options?: { readonly keepMark?: boolean }): void;
}

const mostTries = 40;

/** A database in memory has exactly one instance, and nothing survives it. */
export function soleInstance(): Instance {
  return {
    name: newId(),
    isAlive: () => true,
    others: () => [],
    mark: () => {},
    highestMark: () => 0,
    dead: () => [],
    buryDead: () => {},
    startMaking: () => {},
    isBeingMade: () => true,
    finishMaking: () => {},
    leave: () => {},
  };
}

export function joinInstances(file: string): Instance {
  const folder = `${file}-instances`;
  const mode = modeBeside(file);
  const lockFile = (instance: string) => join(folder, `${instance}.lock`);
  const markFile = (instance: string) => join(folder, `${instance}.mark`);
  const makingFile = join(folder, 'making');
  const { name, lock, mark } = enter({ folder, lockFile, markFile, mode });
  crashPoint('open: instance locked');

  const named = (suffix: string) => {
    const files = readdirSync(folder).filter((entry) => entry.endsWith(suffix));
    return files.map((entry) => entry.slice(0, -suffix.length)).filter((instance) => instance !== name);
  };
  const isAlive = (instance: string) => instance === name || isLocked(lockFile(instance));
  const dead = () =>
    [...new Set([...named('.mark'), ...named('.lock')])].filter((instance) => !isAlive(instance));

  return {
    name,
    isAlive,
    others() {
      try {
        return named('.lock');
      } catch {
        return [];
      }
    },
    mark(incarnation, transaction) {
      try {
        // As bytes: handing over a string costs several times as much, and this is done after every commit.
        const bytes = Buffer.from(markText(incarnation, transaction), 'latin1');
        writeSync(mark, bytes, 0, bytes.length, 0);
      } catch {
        // The commit stands, marked or not; without its mark a loss might not be noticed, and that is all.
      }
    },
    highestMark: (incarnation) =>
      Math.max(0, ...named('.mark').map((instance) => readMark(markFile(instance), incarnation))),
    dead,
    buryDead(names = dead()) {
      for (const instance of names) {
        if (isAlive(instance)) continue; // It was only about to take its lock.
        tryUnlink(markFile(instance));
        unlinkIfFree(lockFile(instance));
      }
    },
    startMaking: () => closeSync(openSync(makingFile, 'w', mode)),
    isBeingMade: () => existsSync(makingFile),
    finishMaking: () => tryUnlink(makingFile),
    leave({ keepMark = false } = {}) {
      closeSync(mark);
      if (!keepMark) tryUnlink(markFile(name));
      tryUnlink(lockFile(name));
      lock.close();
      // Unless others are still there.
      attempt(() => rmdirSync(folder));
    },
  };
}

interface Entry {
  readonly folder: string;
  readonly lockFile: (name: string) => string;
  readonly markFile: (name: string) => string;
  readonly mode: number;
}

/**
 * Makes the two files. Another instance may remove the empty folder, or bury our lock file before it is locked,
 * under our feet: a lock that has lost its name tells nobody that we live, so we try again, under another name, because
 * somebody may be about to remove this one once more. Whoever tidies up does so without a pause when many come and go;
 * we must not be in step with it, and not give up soon.
 */
function enter({ folder, lockFile, markFile, mode }: Entry) {
  for (let tries = 1; ; tries++) {
    const name = newId();
    makeFolder(folder, folderMode(mode));
    let lock: Connection | undefined;
    try {
      makePrivateFile(lockFile(name), mode);
      lock = connectToExisting(lockFile(name));
      lock.exec('pragma journal_mode = memory; begin exclusive');
      if (!existsSync(lockFile(name))) throw new Error(`${lockFile(name)} was removed by another process.`);
      return { name, lock, mark: openSync(markFile(name), 'w', mode) };
    } catch (error) {
      lock?.close();
      if (tries === mostTries) throw error;
      tryUnlink(lockFile(name));
      pauseFor(tries % 5);
    }
  }
}

/** Never makes the file, so that a name once lost stays lost. */
function connectToExisting(lockFile: string, options?: { timeout: number }): Connection {
  return connect(`${pathToFileURL(lockFile)}?mode=rw`, options);
}

/** Nothing else can be done before the database is open, so the whole thread may rest. */
function pauseFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * A read that is refused as busy means that the exclusive transaction, and so its process, still lives. Where we
 * cannot even look (no descriptor left, perhaps) we know nothing, and who is not known to be dead counts as alive.
 */
function isLocked(lockFile: string): boolean {
  let probe: Connection | undefined;
  try {
    probe = connect(lockFile, { readOnly: true, timeout: 0 });
    probe.prepare('select 1 from sqlite_schema').get();
    return false;
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error;
    return existsSync(lockFile);
  } finally {
    probe?.close();
  }
}

/** Deletes a lock file only while holding its lock, so that nobody's living lock loses its name. */
function unlinkIfFree(lockFile: string): void {
  let lock: Connection | undefined;
  try {
    lock = connectToExisting(lockFile, { timeout: 0 });
    lock.exec('pragma journal_mode = memory; begin exclusive');
    tryUnlink(lockFile);
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error;
  } finally {
    lock?.close();
  }
}

function markText(incarnation: string, transaction: number): string {
  return `${incarnation} ${String(transaction).padStart(16, '0')}\n`;
}

function readMark(file: string, incarnation: string): number {
  try {
    const [owner, transaction] = readFileSync(file, 'utf8').trim().split(' ');
    return owner === incarnation ? Number(transaction) : 0;
  } catch {
    return 0; // The instance has just left.
  }
}

/** Not with `recursive`, which calls a read-only file system a missing folder. */
function makeFolder(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Another process may have been faster. */
function tryUnlink(file: string): void {
  attempt(() => unlinkSync(file));
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // Then it is as it is.
  }
}
