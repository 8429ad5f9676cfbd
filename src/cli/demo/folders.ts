/** Which files the demo may look at: those in the folder that it was started in, and its own sample. */
import { readdir, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { TerminalError } from '../../engine/recorded-error.ts';

const mostFiles = 500;

/** The place that a name stands for, links followed. Whatever lies elsewhere is refused. */
export async function placeOf(name: string, here: string, sample: string): Promise<string> {
  const refused = new TerminalError(
    `"${name}" is outside ${here}: this demo looks only at what is in the folder that it was started in.`,
  );
  const allowed = [here, sample];
  const meant = resolve(here, name);
  if (!allowed.some((folder) => contains(folder, meant))) throw refused;
  const place = await realpath(meant).catch(() => {
    throw new TerminalError(`There is no "${name}" in ${here}.`);
  });
  const real = await Promise.all(allowed.map((folder) => realpath(folder)));
  if (!real.some((folder) => contains(folder, place))) throw refused;
  return place;
}

function contains(folder: string, place: string): boolean {
  const way = relative(folder, place);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Files below a folder in a lasting order, without links, hidden ones and installed packages. */
export async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  const look = async (place: string): Promise<void> => {
    const entries = await readdir(place, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      throw new TerminalError(
        error.code === 'ENOTDIR'
          ? `"${place}" is no folder.`
          : `"${place}" cannot be read (${error.message}).`,
      );
    });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      if (entry.isDirectory()) await look(join(place, entry.name));
      else if (entry.isFile()) found.push(join(place, entry.name));
      if (found.length > mostFiles)
        throw new TerminalError(
          `There are more than ${mostFiles} files in "${folder}": choose a smaller one.`,
        );
    }
  };
  await look(folder);
  return found;
}
