/** The server of these tests as a process that can be killed and started again, on the same port and store. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { compileCache, root, temporaryFolder } from './terminal.ts';

/** How it is started, with its tasks in a folder. */
export function serverArgs(folder: string): string[] {
  return [
    '--conditions=holdfast-source',
    join(root, 'test/cli/server.ts'),
    '--store',
    `sqlite:${join(folder, 'tasks.db')}`,
  ];
}

export class Fixture {
  #folder: string | undefined;
  #child: ChildProcess | undefined;
  url = '';

  async start(...more: string[]): Promise<this> {
    this.#folder ??= temporaryFolder();
    const port = this.url === '' ? '0' : new URL(this.url).port;
    const args = [...serverArgs(this.#folder), '--port', port, ...more];
    const env = { ...process.env, ...compileCache() };
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    const [line] = await once(child.stdout!.setEncoding('utf8'), 'data');
    this.url = /^ready (\S+)/.exec(line)![1]!;
    return this;
  }

  /** Where its tasks are. */
  get store(): string {
    return `sqlite:${join(this.#folder!, 'tasks.db')}`;
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child!.kill(name);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}
