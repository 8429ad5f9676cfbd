/** Starting, stopping and killing child processes that run the sources as they are. Each is ended by its own pid. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  /** How many files it may have open. */
  readonly maxFiles?: number;
  /** URLs of modules that are loaded before the program. */
  readonly imports?: readonly string[];
}

const running = new Set<ChildProcess>();

// A test that fails half-way must not leave its children at work.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A child process, and the lines that it printed before it ended, however it ended. */
export class Child<Line> {
  /** Resolves when the process is gone and all it ever printed has been read. */
  readonly exit: Promise<Exit>;
  readonly #process: ChildProcess;
  #complaints = '';

  constructor(
    program: string,
    argument: unknown,
    hear: (line: Line) => void,
    { maxFiles, imports = [] }: ChildOptions = {},
  ) {
    const path = fileURLToPath(new URL(program, import.meta.url));
    const preloads = imports.flatMap((url) => ['--import', url]);
    const command = [process.execPath, ...preloads, path, JSON.stringify(argument)];
    // The shell becomes the program, so that the pid is the program's.
    if (maxFiles !== undefined) command.unshift('sh', '-c', `ulimit -n ${maxFiles}; exec "$@"`, 'sh');
    this.#process = spawn(command[0]!, command.slice(1), { stdio: ['pipe', 'pipe', 'pipe'] });
    running.add(this.#process);
    this.#process.once('exit', () => running.delete(this.#process));
    this.#process.stdin!.on('error', () => {}); // It may be dead already.
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#complaints += text;
    });
    const lines = createInterface({ input: this.#process.stdout! });
    let torn: string | undefined;
    lines.on('line', (text) => {
      if (torn !== undefined) throw new Error(`A child went on after half a line: ${torn}`);
      const line = whole<Line>(text);
      if (line) hear(line);
      else torn = text;
    });
    const gone = once(this.#process, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    const read = once(lines, 'close');
    this.exit = Promise.all([gone, read]).then(([[code, signal]]) => ({ code, signal }));
  }

  get complaints(): string {
    return this.#complaints;
  }

  get pid(): number {
    return this.#process.pid!;
  }

  tell(line: unknown): void {
    this.#process.stdin!.write(`${JSON.stringify(line)}\n`);
  }

  stop(): void {
    this.#process.kill('SIGSTOP');
  }

  go(): void {
    this.#process.kill('SIGCONT');
  }

  async kill(): Promise<Exit> {
    this.#process.kill('SIGKILL');
    return this.exit;
  }
}

/** A process that dies while it writes leaves half a line behind, which acknowledges nothing. */
function whole<Line>(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}
