/** Runs typed commands in their own folder. */
import { copyFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Piped, root, temporaryFolder } from '../cli/terminal.ts';

/** A copy of this checkout, so that commands write nothing here. */
export function checkout(): string {
  const folder = temporaryFolder();
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  for (const name of ['bin', 'src', 'node_modules']) symlinkSync(join(root, name), join(folder, name));
  return folder;
}

interface Place {
  readonly cwd: string;
  readonly port?: number;
}

export function typed(command: string, { cwd, port = 0 }: Place): Piped {
  return new Piped(['sh', '-c', command], cwd, { PORT: String(port), XDG_DATA_HOME: join(cwd, 'data') });
}

/** Runs the `holdfast` command of this repository; `env` precedes it as in a shell, such as `NAME=value`. */
export function holdfast(args: string, place: Place, env = ''): Piped {
  return typed(`${env} exec "${process.execPath}" "${join(root, 'bin/holdfast.js')}" ${args}`, place);
}

export async function servedDemo(): Promise<{ cwd: string; port: number }> {
  const cwd = temporaryFolder();
  const [, port] = await holdfast('demo', { cwd }).says(/127\.0\.0\.1:(\d+)\/mcp[\s\S]*second terminal/);
  return { cwd, port: Number(port) };
}
