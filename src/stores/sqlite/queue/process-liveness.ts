/**
 * Which processes have this database open, and which of them are dead. Each open store is an instance with two small
 * files in `<file>-instances/`, next to the database:
 *
 *   <name>.lock   an SQLite file that is locked by an exclusive transaction. The kernel releases the lock when the
 *                 process ends, so others can detect its death at once. A suspended process counts as alive.
 *   <name>.mark   the number of the last transaction that this instance acknowledged, after the database's incarnation.
 *                 It is written after each durable commit, so it is never ahead of the database, and without waiting
 *                 for the disk. If the database has a lower number, acknowledged changes are missing and opening must
 *                 fail.
 *
 * A file `creating` in the same folder exists while the database is created.
 *
 * Never open the database or a lock file with `fs`: closing any descriptor of a file drops all POSIX locks that the
 * process has on it, including SQLite's.
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
import { folderMode, makePrivateFile, modeOf } from '../file/private-files.ts';

export interface Instance {
  /** Random. It is also the name of this instance's worker. */
  readonly name: string;
  /** True if the instance with this name is alive. This instance itself always is. */
  isAlive(name: string): boolean;
  /** The names of all other instances with a lock file, dead or alive; empty if the folder is unreadable. */
  others(): string[];
  /** Records the number of the last acknowledged transaction. Errors are ignored. */
  mark(incarnation: string, transaction: number): void;
  /** The highest transaction number that other instances recorded for this incarnation; 0 if there is none. */
  highestMark(incarnation: string): number;
  /** The names of dead instances that left files. */
  dead(): string[];
  /** Deletes the files of dead instances. Call it only after a checkpoint moved all their transactions to the file. */
  removeDead(dead?: readonly string[]): void;
  /** Announces that the file is being created. Until `finishCreating`, an empty file does not mean lost data. */
  startCreating(): void;
  /** True if this or another instance announced that it creates the file, and has not finished. */
  isBeingCreated(): boolean;
  finishCreating(): void;
  /** Deletes this instance's files. Set `keepMark` if some of its transactions are not in the database file yet. */
  leave(options?: { readonly keepMark?: boolean }): void;
}

/** How often `enter` tries to create the files. */
const maxTries = 40;

/** The instance of a database in memory, which is private to its process: there are no others, and no files. */
export function soleInstance(): Instance {
  return {
    name: newId(),
    isAlive: () => true,
    others: () => [],
    mark: () => {},
    highestMark: () => 0,
    dead: () => [],
    removeDead: () => {},
    startCreating: () => {},
    isBeingCreated: () => true,
    finishCreating: () => {},
    leave: () => {},
  };
}

/** Creates the files of a new instance next to the database. It counts as alive until it leaves or its process ends. */
export function joinInstances(file: string): Instance {
  const folder = `${file}-instances`;
  const mode = modeOf(file);
  const lockFile = (instance: string) => join(folder, `${instance}.lock`);
  const markFile = (instance: string) => join(folder, `${instance}.mark`);
  const creatingFile = join(folder, 'creating');
  const { name, lock, mark } = enter({ folder, lockFile, markFile, mode });
  crashPoint('open: instance locked');

  /** The names of the other instances that have a file with this suffix. */
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
        // Bytes, because passing a string costs several times as much and this runs after every commit.
        const bytes = Buffer.from(markText(incarnation, transaction), 'latin1');
        writeSync(mark, bytes, 0, bytes.length, 0);
      } catch {
        // The transaction is committed anyway. Without the mark, only a later loss of it might not be noticed.
      }
    },
    highestMark: (incarnation) =>
      Math.max(0, ...named('.mark').map((instance) => readMark(markFile(instance), incarnation))),
    dead,
    removeDead(names = dead()) {
      for (const instance of names) {
        if (isAlive(instance)) continue; // It was starting when it was listed, and had not locked its file yet.
        tryUnlink(markFile(instance));
        unlinkIfFree(lockFile(instance));
      }
    },
    startCreating: () => closeSync(openSync(creatingFile, 'w', mode)),
    isBeingCreated: () => existsSync(creatingFile),
    finishCreating: () => tryUnlink(creatingFile),
    leave({ keepMark = false } = {}) {
      closeSync(mark);
      if (!keepMark) tryUnlink(markFile(name));
      tryUnlink(lockFile(name));
      lock.close();
      // Fails if the folder contains files of other instances.
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
 * Creates the lock file and the mark file, and returns both open. Before the lock file is locked, another instance may
 * remove it or the empty folder. A lock on a removed file is invisible to others, so this retries with a new name. When
 * many processes start and stop, such removals are frequent: so there are many tries, and the pauses (0 to 4 ms) vary
 * so that the processes do not collide again.
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
      if (tries === maxTries) throw error;
      tryUnlink(lockFile(name));
      pauseFor(tries % 5);
    }
  }
}

/** Opens a lock file for writing, but never creates it, so a removed lock file stays removed. */
function connectToExisting(lockFile: string, options?: { timeout: number }): Connection {
  return connect(`${pathToFileURL(lockFile)}?mode=rw`, options);
}

/** Blocks the thread, which is acceptable while the database opens. */
function pauseFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * True if the process of a lock file is alive: then its exclusive transaction makes a read fail as busy. If the file
 * exists but cannot be opened (for example without free descriptors), the process counts as alive, too, because nothing
 * proves that it is dead.
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

/** Deletes a lock file that no process has locked. Locks it first, so that no process can lock it in between. */
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

/** Of fixed length, so that a mark completely overwrites the one before. */
function markText(incarnation: string, transaction: number): string {
  return `${incarnation} ${String(transaction).padStart(16, '0')}\n`;
}

/** The number in a mark file; 0 if it belongs to another incarnation or cannot be read. */
function readMark(file: string, incarnation: string): number {
  try {
    const [owner, transaction] = readFileSync(file, 'utf8').trim().split(' ');
    return owner === incarnation ? Number(transaction) : 0;
  } catch {
    return 0; // The instance has just left.
  }
}

/** Without `recursive`, which reports a read-only file system as a missing folder. */
function makeFolder(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Ignores errors: another process may have deleted the file first. */
function tryUnlink(file: string): void {
  attempt(() => unlinkSync(file));
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // Best effort: the callers do not depend on success.
  }
}
