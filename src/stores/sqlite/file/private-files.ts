/** New files and folders of a store are accessible only to the user who creates them. Existing ones keep their mode. */
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';

const ownerOnly = 0o600;

/** Also creates missing parent folders. */
export function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: folderMode(ownerOnly) });
}

/**
 * Creates the file unless it exists. SQLite itself would create it with the mode that the umask allows; it then gives
 * the write-ahead log and its index (`-shm`) the mode of the database. This only ever opens a new file: closing an
 * existing one would drop the POSIX locks that SQLite has on it.
 */
export function makePrivateFile(file: string, mode = ownerOnly): void {
  try {
    closeSync(openSync(file, 'wx', mode));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** The mode for files next to a database: the database's own, because its users share them. Owner-only if it is new. */
export function modeOf(database: string): number {
  const found = statSync(database, { throwIfNoEntry: false });
  return found ? found.mode & 0o666 : ownerOnly;
}

/** The mode of a folder whose files have `fileMode`: users who may read it may also enter it. */
export function folderMode(fileMode: number): number {
  return fileMode | ((fileMode & 0o444) >> 2);
}
