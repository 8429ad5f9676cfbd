/** The server of these tests as a process that can be killed and started again, on the same port and store. */
import { join } from 'node:path';
import { Program } from '../kit/process.ts';
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
  readonly folder = temporaryFolder();
  #program: Program | undefined;
  url = '';

  async start(...more: string[]): Promise<this> {
    const port = this.url === '' ? '0' : new URL(this.url).port;
    const command = [process.execPath, ...serverArgs(this.folder), '--port', port, ...more];
    const env = { ...process.env, ...compileCache() };
    this.#program = new Program(command, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.url = await this.#program.readyUrl();
    return this;
  }

  /** Where its tasks are. */
  get store(): string {
    return `sqlite:${join(this.folder, 'tasks.db')}`;
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#program!.child.kill(name);
  }

  async kill(): Promise<void> {
    await this.#program?.kill();
  }
}
