/** Servers as processes of their own: one that a raw client talks to, and one that is killed and started again. */
import { once } from 'node:events';
import { RawClient, type RawClientOptions } from '../serving/raw-client.ts';
import { Program, sources } from './process.ts';

/** Runs a program given by its path in `test/`. */
export class HttpProcess extends Program implements AsyncDisposable {
  url = '';

  constructor(program: string, ...args: readonly string[]) {
    super(sources(`${import.meta.dirname}/../${program}`, ...args));
  }

  client(options?: RawClientOptions): RawClient {
    return new RawClient(this.url, options);
  }

  async ready(): Promise<this> {
    this.url = await this.readyUrl();
    return this;
  }

  /** A stopped process is continued first, so that it can end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.go();
    await this.kill('SIGTERM');
  }
}

export class ServerProcess implements AsyncDisposable {
  readonly #command: (port: string) => readonly string[];
  #program: Program | undefined;
  url = new URL('http://127.0.0.1:0/mcp');

  /** Port 0 stands for any. */
  constructor(command: (port: string) => readonly string[]) {
    this.#command = command;
  }

  get pid(): number {
    return this.#program!.pid;
  }

  /** What it has written to standard error since it was last started. */
  get complaints(): string {
    return this.#program!.complaints;
  }

  /** On the port that it had before, if it had one. */
  async start(): Promise<this> {
    const command = this.#command(this.url.port || '0');
    this.#program = new Program(command, { stdio: ['ignore', 'pipe', 'pipe'] });
    const url = await this.#program.readyUrl();
    if (url !== 'worker') this.url = new URL(url);
    return this;
  }

  /** Its exit code. Does not wait for what its own children write. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    const child = this.#program?.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const ended = once(child, 'exit');
    child.kill(signal);
    const [code] = await ended;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill('SIGTERM');
  }
}
