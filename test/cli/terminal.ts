/** The command as somebody runs it: at a pseudo-terminal, or in a pipe. Each has a home of its own. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Screen } from './screen.ts';

export const root = join(import.meta.dirname, '../..');
const bin = join(root, 'bin/holdfast.js');

const folders: string[] = [];
const children = new Set<ChildProcess>();

export async function tidyUp(): Promise<void> {
  for (const child of children) kill(child, 'SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid!, signal);
  } catch {
    // It is gone already.
  }
}

export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-cli-')));
  folders.push(folder);
  return folder;
}

/** A hundred processes compile the same files: once is enough. */
let compiled: string | undefined;
export function compileCache(): NodeJS.ProcessEnv {
  compiled ??= temporaryFolder();
  return { NODE_COMPILE_CACHE: compiled };
}

/** Somebody with data of their own. */
export class Home {
  readonly folder = temporaryFolder();
  readonly #environment: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv = {}) {
    mkdirSync(join(this.folder, 'data'));
    const kept = Object.entries(process.env).filter(
      ([name]) => !/^(npm_|VITEST|NODE_|NO_COLOR|FORCE_COLOR)/.test(name),
    );
    this.#environment = {
      ...Object.fromEntries(kept),
      ...compileCache(),
      HOME: this.folder,
      XDG_DATA_HOME: join(this.folder, 'data'),
      TERM: 'xterm-256color',
      ...env,
    };
  }

  /** In a pipe. */
  run(...args: string[]): Promise<Ended> {
    return this.start(...args).ended;
  }

  start(...args: string[]): Piped {
    return new Piped([bin, ...args], this.#place());
  }

  /** In a terminal. */
  open(args: readonly string[], { columns = 80, rows = 24, ...env }: TerminalOptions = {}): Terminal {
    return new Terminal([bin, ...args], { columns, rows }, this.#place(env));
  }

  #place(env: NodeJS.ProcessEnv = {}): Place {
    return { cwd: this.folder, env: { ...this.#environment, ...env } };
  }
}

interface Place {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

type TerminalOptions = { readonly columns?: number; readonly rows?: number; readonly NO_COLOR?: string };

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Waits for something that is said. */
class Saying {
  #text = '';
  readonly #waiting = new Set<() => void>();

  add(text: string): void {
    this.#text += text;
    for (const look of this.#waiting) look();
  }

  get text(): string {
    return this.#text;
  }

  async until<T>(
    find: () => T | null | undefined | false,
    what: string,
    ended: Promise<unknown>,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const look = () => {
      const found = find();
      if (found) resolve(found);
    };
    this.#waiting.add(look);
    look();
    const timer = setTimeout(() => reject(new Error(`${what} did not come:\n${this.#text}`)), 60_000);
    void ended.then(() => reject(new Error(`It ended before ${what} came:\n${this.#text}`)));
    return promise.finally(() => {
      this.#waiting.delete(look);
      clearTimeout(timer);
    });
  }
}

export class Piped {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #out = new Saying();
  readonly #err = new Saying();

  constructor(args: readonly string[], { cwd, env }: Place) {
    this.#child = spawn(process.execPath, args, {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.add(this.#child);
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => this.#out.add(text));
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => this.#err.add(text));
    this.ended = new Promise((resolve) =>
      this.#child.on('close', (code) => {
        children.delete(this.#child);
        resolve({ code, stdout: this.#out.text, stderr: this.#err.text });
      }),
    );
  }

  get pid(): number {
    return this.#child.pid!;
  }

  says(pattern: RegExp, where: 'stdout' | 'stderr' = 'stdout'): Promise<RegExpExecArray> {
    const saying = where === 'stdout' ? this.#out : this.#err;
    return saying.until(() => pattern.exec(saying.text), String(pattern), this.ended);
  }

  signal(name: NodeJS.Signals): void {
    kill(this.#child, name);
  }
}

/** A real pseudo-terminal, which `script` of util-linux opens, and a screen that shows what is written to it. */
export class Terminal {
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #saying = new Saying();
  readonly #screen: Screen;
  #device: string | undefined;

  constructor(
    args: readonly string[],
    { columns, rows }: { readonly columns: number; readonly rows: number },
    { cwd, env }: Place,
  ) {
    this.#screen = new Screen(columns, rows);
    const command = [process.execPath, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    const script = `stty cols ${columns} rows ${rows}; tty; exec ${command}`;
    this.#child = spawn('script', ['-qfec', script, '/dev/null'], {
      cwd,
      env: { ...env, SHELL: '/bin/sh' },
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.add(this.#child);
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => this.#shows(text));
    this.ended = new Promise((resolve) =>
      this.#child.on('close', (code) => {
        children.delete(this.#child);
        resolve(code);
      }),
    );
  }

  /** The first line is the name of the device, and not of the command. */
  #shows(text: string): void {
    let shown = text;
    if (this.#device === undefined) {
      const end = text.indexOf('\n');
      this.#device = text.slice(0, end).trim();
      shown = text.slice(end + 1);
    }
    this.#screen.write(shown);
    this.#saying.add(shown);
  }

  /** Waits until it can be seen. */
  shows(pattern: RegExp): Promise<RegExpExecArray> {
    const find = () => pattern.exec(this.#screen.text);
    return this.#saying.until(find, String(pattern), this.ended).catch((error: Error) => {
      throw new Error(`${error.message}\n--- screen:\n${this.#screen.text}`);
    });
  }

  types(keys: string): void {
    this.#child.stdin!.write(keys);
  }

  resize(columns: number): void {
    this.#screen.resize(columns);
    execFileSync('stty', ['-F', this.#device!, 'cols', String(columns)]);
  }

  get screen(): Screen {
    return this.#screen;
  }

  /** All that was ever written, control characters and all. */
  get written(): string {
    return this.#saying.text;
  }
}
