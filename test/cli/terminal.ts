/** Runs the command in a pseudo-terminal or a pipe, each with its own home folder. */
import { execFileSync, type SpawnOptions } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { atEndOfFile, temporaryFolder as folderOfFile } from '../kit/lifetime.ts';
import { Program } from '../kit/process.ts';
import { until } from '../kit/until.ts';
import { Screen } from './screen.ts';

export const root = join(import.meta.dirname, '../..');
const bin = join(root, 'bin/holdfast.js');

// Tests run concurrently, so their folders are deleted after the whole file.
const base = folderOfFile();

export function temporaryFolder(): string {
  return mkdtempSync(join(base, 'x-'));
}

/** Without the variables of npm and the tests, which would change the messages of commands. */
const environment: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_|VITEST|NODE_(?!COMPILE_CACHE)|NO_COLOR|FORCE_COLOR)/.test(name),
  ),
);

export class Home {
  readonly folder = temporaryFolder();
  readonly #environment: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv = {}) {
    const data = join(this.folder, 'data');
    mkdirSync(data);
    this.#environment = { HOME: this.folder, XDG_DATA_HOME: data, TERM: 'xterm-256color', ...env };
  }

  /** In a pipe. */
  run(...args: (string | URL)[]): Promise<Ended> {
    return this.start(...args).ended;
  }

  start(...args: (string | URL)[]): Piped {
    return new Piped([process.execPath, bin, ...args.map(String)], this.folder, this.#environment);
  }

  /** In a terminal. */
  open(args: readonly (string | URL)[], { NO_COLOR, ...size }: TerminalOptions = {}): Terminal {
    const env = { ...this.#environment, ...(NO_COLOR !== undefined && { NO_COLOR }) };
    return new Terminal([process.execPath, bin, ...args.map(String)], size, this.folder, env);
  }
}

type Size = { readonly columns?: number; readonly rows?: number };
type TerminalOptions = Size & { readonly NO_COLOR?: string };

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs in its own process group, so that shells end with their children. Ends with the file, because tests may share it. */
abstract class InOwnGroup extends Program {
  abstract readonly ended: Promise<unknown>;

  constructor(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv, stdio: SpawnOptions['stdio']) {
    super(command, { cwd, env: { ...environment, ...env }, detached: true, stdio });
    atEndOfFile(() => this.kill());
  }

  /** Waits until the pattern matches the text. Rejects if the process ends first. */
  protected async find(pattern: RegExp, text: () => string): Promise<RegExpExecArray> {
    let hasEnded = false;
    void this.ended.then(() => {
      hasEnded = true;
    });
    await until(() => pattern.test(text()) || hasEnded).catch(() => {});
    const found = pattern.exec(text());
    if (!found) throw new Error(`${pattern} did not come:\n${text()}\n${this.complaints}`);
    return found;
  }
}

export class Piped extends InOwnGroup {
  override readonly ended: Promise<Ended>;

  constructor(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
    super(command, cwd, env, ['ignore', 'pipe', 'pipe']);
    this.ended = this.exit.then(({ code }) => ({ code, stdout: this.output, stderr: this.complaints }));
  }

  says(pattern: RegExp, where: 'output' | 'complaints' = 'output'): Promise<RegExpExecArray> {
    return this.find(pattern, () => this[where]);
  }
}

/** Only we write it: when it arrives, everything before it has been shown. */
const mark = '\x05';
/** How long a command may take to redraw for a new width. */
const drawnMs = 1_000;

/** A real pseudo-terminal, opened by `script` of util-linux, and a screen that shows its output. */
export class Terminal extends InOwnGroup {
  override readonly ended: Promise<number | null>;
  readonly screen: Screen;
  #device: string | undefined;
  #onMark: (() => void) | undefined;

  constructor(
    command: readonly string[],
    { columns = 80, rows = 24 }: Size,
    cwd: string,
    env: NodeJS.ProcessEnv,
  ) {
    const words = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    const script = `stty cols ${columns} rows ${rows}; tty; exec ${words}`;
    super(['script', '-qfec', script, '/dev/null'], cwd, { ...env, SHELL: '/bin/sh' }, 'pipe');
    this.screen = new Screen(columns, rows);
    this.child.stdout!.on('data', (text: string) => void this.#show(text));
    this.ended = this.exit.then(({ code }) => this.screen.write('').then(() => code));
  }

  /** The first line is the name of the device, not output of the command. */
  async #show(text: string): Promise<void> {
    const shown = text.replaceAll(mark, '');
    const end = this.#device === undefined ? shown.indexOf('\n') : -1;
    this.#device ??= shown.slice(0, end).trim();
    await this.screen.write(shown.slice(end + 1));
    if (text.includes(mark)) this.#onMark?.();
  }

  shows(pattern: RegExp): Promise<RegExpExecArray> {
    return this.find(pattern, () => this.screen.text);
  }

  types(keys: string): void {
    this.child.stdin!.write(keys);
  }

  /** Resizes the screen before the terminal grows, and after it shrinks, because wide lines would wrap on a narrow screen. */
  async resize(columns: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onMark = resolve;
    if (columns > this.screen.columns) this.screen.resize(columns);
    execFileSync('stty', ['-F', this.#device!, 'cols', String(columns)]);
    await pause(drawnMs);
    writeFileSync(this.#device!, mark);
    await promise;
    this.screen.resize(columns);
  }
}
