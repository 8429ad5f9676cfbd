/** Child processes, with what they write and how they end. Each is killed by its own pid, with this process at the latest. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const running = new Set<Program>();

// A test that fails half-way must not leave its processes at work.
process.on('exit', () => {
  for (const program of running) program.signal('SIGKILL');
});

export class Program {
  readonly child: ChildProcess;
  /** Resolves when the process has ended and everything it wrote has been read. */
  readonly exit: Promise<Exit>;
  readonly lines: Interface;
  /** Everything it wrote to standard output, and to standard error. */
  output = '';
  complaints = '';
  readonly #leadsGroup: boolean;

  constructor(command: readonly string[], options: SpawnOptions = {}) {
    this.child = spawn(command[0]!, command.slice(1), { stdio: ['pipe', 'pipe', 'pipe'], ...options });
    this.#leadsGroup = options.detached ?? false;
    running.add(this);
    this.child.stdin?.on('error', () => {}); // It may be dead already.
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.complaints += text;
    });
    this.lines = createInterface({ input: this.child.stdout! });
    const read = once(this.lines, 'close');
    this.exit = once(this.child, 'close').then(async ([code, signal]) => {
      running.delete(this);
      await read;
      return { code, signal };
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** The next line that it prints. Throws if it ends first. */
  async line(): Promise<string> {
    const ended = this.exit.then(() => {
      throw new Error(`The process ended before it was ready: ${this.complaints}`);
    });
    const [line] = (await Promise.race([once(this.lines, 'line'), ended])) as [string];
    return line;
  }

  /** The URL in its line `ready URL`. */
  async readyUrl(): Promise<string> {
    const line = await this.line();
    const url = /^ready (\S+)/.exec(line)?.[1];
    if (url === undefined) throw new Error(`The process is not ready: ${line}`);
    return url;
  }

  /** Writes a line of JSON to its standard input. */
  tell(message: unknown): void {
    this.child.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  /** Also reaches what it started, if it leads a group of its own (`detached`). */
  signal(name: NodeJS.Signals): void {
    if (!this.#leadsGroup) return void this.child.kill(name);
    try {
      process.kill(-this.pid, name);
    } catch {
      // It is gone already.
    }
  }

  stop(): void {
    this.signal('SIGSTOP');
  }

  go(): void {
    this.signal('SIGCONT');
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit> {
    this.signal(signal);
    return this.exit;
  }
}

/** The command that runs a program of this repository from its sources. */
export function sources(...args: readonly string[]): string[] {
  return [process.execPath, '--conditions=holdfast-source', ...args];
}
