/** Commands as somebody types them, in a folder of their own, and what they print. */
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '../..');

const folders: string[] = [];
const terminals: Terminal[] = [];

/** To be called after all tests: they run beside each other, and some share a server. */
export async function tidyUp(): Promise<void> {
  for (const terminal of terminals) terminal.signal('SIGKILL');
  await Promise.all(terminals.map(({ ended }) => ended));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-demo-')));
  folders.push(folder);
  return folder;
}

/** This repository as a checkout elsewhere, so that its commands leave nothing here. */
export function checkout(): string {
  const folder = temporaryFolder();
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  for (const name of ['bin', 'src', 'node_modules']) symlinkSync(join(root, name), join(folder, name));
  return folder;
}

export interface Place {
  readonly cwd: string;
  readonly port?: number;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class Terminal {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #stdout = '';
  #stderr = '';

  constructor(command: string, { cwd, port = 0 }: Place) {
    // A group of its own: npm and its shell must go with what they started.
    this.#child = spawn(command, {
      cwd,
      shell: true,
      detached: true,
      env: { ...ownEnvironment(), PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
    });
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    this.ended = new Promise((resolve) =>
      this.#child.on('close', (code) => resolve({ code, stdout: this.#stdout, stderr: this.#stderr })),
    );
    terminals.push(this);
  }

  /** Waits until it has printed something; tells what the pattern found. */
  says(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(this.#stdout);
        if (found) resolve(found);
      };
      look();
      this.#child.stdout!.on('data', look);
      void this.ended.then(({ stderr }) =>
        reject(new Error(`It ended and never said ${pattern}: ${this.#stdout}${stderr}`)),
      );
    });
  }

  signal(name: NodeJS.Signals): void {
    try {
      process.kill(-this.#child.pid!, name);
    } catch {
      // It is gone already.
    }
  }
}

/** Without what npm told the tests: commands here word their advice by it. */
function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
}

/** The `holdfast` command of this repository; `env` stands before it as in a shell, such as `NAME=value`. */
export function holdfast(args: string, place: Place, env = ''): Terminal {
  return new Terminal(`${env} exec "${process.execPath}" "${join(root, 'bin/holdfast.js')}" ${args}`, place);
}

/** A demo that accepts work. */
export async function servedDemo(
  cwd = temporaryFolder(),
): Promise<{ cwd: string; port: number; url: string }> {
  const [, port] = await holdfast('demo', { cwd }).says(/127\.0\.0\.1:(\d+)\/mcp[\s\S]*second terminal/);
  return { cwd, port: Number(port), url: `http://127.0.0.1:${port}` };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
