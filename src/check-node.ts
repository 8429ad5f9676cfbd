/**
 * The oldest supported Node, and a check of it. Every public entry and the launcher of the `holdfast` command import
 * this file first, so a Node that is too old throws one clear sentence before anything uses a missing feature. All
 * imports of an entry are parsed before this check runs, so an old Node must still be able to parse them.
 */
export const oldestNode = '22.18';

if (isOlder(process.versions.node, oldestNode)) {
  // A plain Error, because our error classes cannot be imported here.
  throw new Error(
    `Holdfast needs Node ${oldestNode} or later and this is Node ${process.versions.node}: install a newer one from https://nodejs.org and try again.`,
  );
}

/** True if `version` is older than `than`. Only the major and minor numbers are compared. */
export function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = than.split('.').map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}
