/**
 * Every public entry and the launcher of the `holdfast` command import this file first. On a Node that is too old it
 * throws one clear sentence before anything uses a missing feature. That Node must still be able to parse every module
 * of an entry, because imports are loaded first.
 */
export const oldestNode = '22.18';

if (isOlder(process.versions.node, oldestNode)) {
  // A plain Error, because our error classes cannot be imported here.
  throw new Error(
    `Holdfast needs Node ${oldestNode} or later and this is Node ${process.versions.node}: install a newer one from https://nodejs.org and try again.`,
  );
}

export function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = than.split('.').map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}
