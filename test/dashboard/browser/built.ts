/** The dashboard as its sources are now: tests of pages must not judge what was built some time ago. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../../..');
const dist = join(root, 'dashboard/dist');
const parts = ['index.html', 'vite.config.ts', 'public', 'src'].map((name) => `dashboard/${name}`);
const sources = [...parts, 'src'];

/** Builds it if anything is newer than what was built. */
export async function builtDashboard(): Promise<void> {
  const builtAt = await changedAt(join(dist, 'index.html')).catch(() => 0);
  const times = await Promise.all(sources.map((source) => changedAt(join(root, source))));
  if (Math.max(...times) <= builtAt) return;
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-dashboard-'));
  const { NODE_ENV: _, ...env } = process.env;
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  const args = ['build', join(root, 'dashboard'), '--outDir', folder, '--emptyOutDir', '--logLevel', 'warn'];
  await promisify(execFile)(process.execPath, [vite, ...args], { env });
  // Names of assets change with what is in them and the page comes last, so that those who are served meanwhile, or
  // build the same at the same time, never see half of it.
  await cp(join(folder, 'assets'), join(dist, 'assets'), { recursive: true });
  await cp(folder, dist, { recursive: true });
  await rm(folder, { recursive: true });
}

/** When the file, or the newest in the folder, was last written. */
async function changedAt(path: string): Promise<number> {
  const here = await stat(path);
  if (!here.isDirectory()) return here.mtimeMs;
  const names = await readdir(path);
  const times = await Promise.all(names.map((name) => changedAt(join(path, name))));
  return Math.max(0, ...times);
}
