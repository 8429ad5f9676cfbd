/**
 * Who has this database open, and who is dead. Each open store is an instance with two small files beside the
 * database, in `<file>-instances/`:
 *
 *   <name>.lock   an SQLite file held in an exclusive transaction. The kernel drops that lock with the process, so
 *                 a dead holder is recognised within milliseconds, while a stopped one still counts as alive.
 *   <name>.mark   the number of the last commit this instance acknowledged. It is written after each commit
 *                 without waiting for the disk, so it never runs ahead of the database; when the database is
 *                 found to be behind it, acknowledged commits are missing and opening must fail.
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
import { crashPoint } from '../../engine/crash-point.ts';
import { newId } from '../../model/id.ts';
import { type Connection, connect, sqliteCode } from './driver.ts';

export interface Instance {
  readonly name: string;
  /** Whether another instance still lives. */
  isAlive(name: string): boolean;
  /** The names of all other instances that left a lock file behind, dead or alive; none if we cannot look. */
  others(): string[];
  /** Remembers the last acknowledged commit. */
  mark(incarnation: string, commit: number): void;
  /** The highest commit that any instance acknowledged to a caller of this database. */
  highestMark(incarnation: string): number;
  /** Forgets what dead instances left behind. Only when all they acknowledged is safe in the database file. */
  buryDead(): void;
  leave(): void;
}

/** A database in memory has exactly one instance, and nothing survives it. */
export function soleInstance(): Instance {
  return {
    name: newId(),
    isAlive: () => true,
    others: () => [],
    mark: () => {},
    highestMark: () => 0,
    buryDead: () => {},
    leave: () => {},
  };
}

export function joinInstances(file: string): Instance {
  const folder = `${file}-instances`;
  const name = newId();
  const lockFile = (instance: string) => join(folder, `${instance}.lock`);
  const markFile = (instance: string) => join(folder, `${instance}.mark`);
  const { lock, mark } = enter(folder, lockFile(name), markFile(name));
  crashPoint('open: instance locked');

  const named = (suffix: string) => {
    const files = readdirSync(folder).filter((entry) => entry.endsWith(suffix));
    return files.map((entry) => entry.slice(0, -suffix.length)).filter((instance) => instance !== name);
  };
  const isAlive = (instance: string) => instance === name || isLocked(lockFile(instance));

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
    mark: (incarnation, commit) => writeSync(mark, markText(incarnation, commit), 0),
    highestMark: (incarnation) =>
      Math.max(0, ...named('.mark').map((instance) => readMark(markFile(instance), incarnation))),
    buryDead() {
      for (const instance of named('.mark')) if (!isAlive(instance)) tryUnlink(markFile(instance));
      for (const instance of named('.lock')) unlinkIfFree(lockFile(instance));
    },
    leave() {
      closeSync(mark);
      tryUnlink(markFile(name));
      tryUnlink(lockFile(name));
      lock.close();
      tryRmdir(folder);
    },
  };
}

/**
 * Makes the two files. Another instance may remove the empty folder, or bury our lock file before it is locked,
 * under our feet: a lock that has lost its name tells nobody that we live, so we try again.
 */
function enter(folder: string, lockFile: string, markFile: string): { lock: Connection; mark: number } {
  for (let tries = 1; ; tries++) {
    mkdirSync(folder, { recursive: true });
    let lock: Connection | undefined;
    try {
      lock = connect(lockFile);
      lock.exec('pragma journal_mode = memory; begin exclusive');
      if (!existsSync(lockFile)) throw new Error(`${lockFile} was removed by another process.`);
      return { lock, mark: openSync(markFile, 'w') };
    } catch (error) {
      lock?.close();
      if (tries === 5) throw error;
    }
  }
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

/**
 * Deletes a lock file only while holding its lock, so that nobody's living lock loses its name, and never makes
 * one, so that a name once lost stays lost.
 */
function unlinkIfFree(lockFile: string): void {
  let lock: Connection | undefined;
  try {
    lock = connect(`${pathToFileURL(lockFile)}?mode=rw`, { timeout: 0 });
    lock.exec('pragma journal_mode = memory; begin exclusive');
    tryUnlink(lockFile);
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error;
  } finally {
    lock?.close();
  }
}

function markText(incarnation: string, commit: number): string {
  return `${incarnation} ${String(commit).padStart(16, '0')}\n`;
}

function readMark(file: string, incarnation: string): number {
  try {
    const [owner, commit] = readFileSync(file, 'utf8').trim().split(' ');
    return owner === incarnation ? Number(commit) : 0;
  } catch {
    return 0; // The instance has just left.
  }
}

function tryUnlink(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // Somebody else was faster.
  }
}

function tryRmdir(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Others are still there.
  }
}
