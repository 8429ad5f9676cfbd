/** Files and folders of a store are for the user alone who made them. What is there already keeps its mode. */
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';

const forUserAlone = 0o600;

/** With every folder above it that is missing. */
export function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: folderMode(forUserAlone) });
}

/**
 * Makes the file unless it is there. SQLite would make it for everybody, as far as the umask lets it; but it gives the
 * log and its index the mode of the database. Only a new file is opened here, so no lock can be lost by closing it.
 */
export function makePrivateFile(file: string, mode = forUserAlone): void {
  try {
    closeSync(openSync(file, 'wx', mode));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Of what is put next to a database: users who share the one must be able to share the other. */
export function modeBeside(database: string): number {
  const found = statSync(database, { throwIfNoEntry: false });
  return found ? found.mode & 0o666 : forUserAlone;
}

/** A folder is entered by those who may read it. */
export function folderMode(fileMode: number): number {
  return fileMode | ((fileMode & 0o444) >> 2);
}
