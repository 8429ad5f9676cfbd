/**
 * Imported first by every public entry, and by the launcher of the `holdfast` command: an old Node is told in one
 * sentence, before anything that it lacks is used. It must therefore be able to load every module of an entry.
 */
export const oldestNode = '22.18';

if (isOlder(process.versions.node, oldestNode)) {
  // A plain Error: nobody could import a class of ours to recognise it by.
  throw new Error(
    `Holdfast needs Node ${oldestNode} or later and this is Node ${process.versions.node}: install a newer one from https://nodejs.org and try again.`,
  );
}

export function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = than.split('.').map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}
