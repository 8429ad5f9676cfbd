/** Servers, and gateways, as processes that can be killed and started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { toyWith } from './stage.ts';

const program = join(import.meta.dirname, '../../bin/holdfast.js');

type Starts = (port: string) => { readonly command: string; readonly args: readonly string[] };

/** A process that says where it is once it is ready. */
export class ServerProcess implements AsyncDisposable {
  readonly #command: Starts;
  #child: ChildProcess | undefined;
  url = new URL('http://127.0.0.1:0/mcp');
  /** What it has written on stderr. */
  complaints = '';

  constructor(command: Starts) {
    this.#command = command;
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  /** On the port that it had before, if it had one. */
  async start(): Promise<this> {
    const { command, args } = this.#command(this.url.port);
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.complaints = '';
    child.stderr!.on('data', (chunk) => {
      this.complaints += chunk;
    });
    const [line] = (await Promise.race([
      once(createInterface({ input: child.stdout! }), 'line'),
      once(child, 'close').then(() => [this.complaints]),
    ])) as [string];
    const address = /^ready (\S+)$/.exec(line)?.[1];
    if (address === undefined) throw new Error(`It is not ready: ${line}`);
    if (address !== 'worker') this.url = new URL(address);
    return this;
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const closed = once(child, 'exit');
    child.kill(signal);
    const [code] = await closed;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill('SIGTERM');
  }
}

export function toyProcess(...args: string[]): ServerProcess {
  return new ServerProcess((port) => toyWith('--port', port || '0', ...args));
}

/** `holdfast serve` with this config, its file and its tasks in a folder. */
export function gatewayProcess(config: object, folder: string): ServerProcess {
  const options = optionsIn(folder, config);
  return holdfastProcess((port) => ['serve', '--port', port || '0', ...options]);
}

/** `holdfast worker` with that of a gateway. */
export function workerProcess(config: object, folder: string): ServerProcess {
  const options = optionsIn(folder, config);
  return holdfastProcess(() => ['worker', ...options]);
}

function optionsIn(folder: string, config: object): readonly string[] {
  const file = join(folder, 'holdfast.json');
  writeFileSync(file, JSON.stringify(config, null, 2));
  return ['--config', file, '--store', `sqlite:${join(folder, 'tasks.db')}`];
}

function holdfastProcess(words: (port: string) => readonly string[]): ServerProcess {
  return new ServerProcess((port) => ({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', program, ...words(port)],
  }));
}
