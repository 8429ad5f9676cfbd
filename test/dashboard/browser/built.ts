/** Builds the dashboard from the current sources, so that tests of pages do not run against an old build. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../../..');
const dist = join(root, 'dashboard/dist');
const parts = ['index.html', 'vite.config.ts', 'public', 'src'].map((name) => `dashboard/${name}`);
const sources = [...parts, 'src'];

/** Builds the dashboard if any source is newer than the last build. */
export async function builtDashboard(): Promise<void> {
  const builtAt = await changedAt(join(dist, 'index.html')).catch(() => 0);
  const times = await Promise.all(sources.map((source) => changedAt(join(root, source))));
  if (Math.max(...times) <= builtAt) return;
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-dashboard-'));
  const { NODE_ENV: _, ...env } = process.env;
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  const args = ['build', join(root, 'dashboard'), '--outDir', folder, '--emptyOutDir', '--logLevel', 'warn'];
  await promisify(execFile)(process.execPath, [vite, ...args], { env });
  // Asset names contain a hash and the page is copied last, so that a server or a concurrent build never sees a partial
  // build.
  await cp(join(folder, 'assets'), join(dist, 'assets'), { recursive: true });
  await cp(folder, dist, { recursive: true });
  await rm(folder, { recursive: true });
}

/** The modification time of the file, or of the newest file in the folder. */
async function changedAt(path: string): Promise<number> {
  const here = await stat(path);
  if (!here.isDirectory()) return here.mtimeMs;
  const names = await readdir(path);
  const times = await Promise.all(names.map((name) => changedAt(join(path, name))));
  return Math.max(0, ...times);
}
