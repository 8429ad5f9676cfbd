/** The dashboard as it is in this checkout: built anew if any of its sources is newer than what was built last. */
import { mkdirSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { build } from 'vite';

const root = join(import.meta.dirname, '../..');
const lock = join(root, 'dashboard/dist.lock');
const staleLockMs = 60_000;

/** Several test files may want it at the same time: one builds, the others wait. */
export async function builtDashboard(): Promise<void> {
  while (!isFresh()) {
    if (!locked()) {
      await pause(100);
      continue;
    }
    try {
      if (!isFresh()) await build({ root: join(root, 'dashboard'), logLevel: 'error' });
    } finally {
      rmdirSync(lock);
    }
  }
}

function locked(): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    // Whoever made it may have been killed.
    if (Date.now() - (modified(lock) ?? Date.now()) > staleLockMs) rmdirSync(lock);
    return false;
  }
}

function isFresh(): boolean {
  const built = modified(join(root, 'dashboard/dist/index.html'));
  if (built === undefined) return false;
  const sources = readdirSync(join(root, 'dashboard/src'), { recursive: true, encoding: 'utf8' }).map(
    (file) => join('src', file),
  );
  return ['index.html', 'vite.config.ts', ...sources].every(
    (file) => (modified(join(root, 'dashboard', file)) ?? 0) <= built,
  );
}

function modified(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}
