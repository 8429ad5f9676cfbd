/** The command as somebody runs it: at a pseudo-terminal, or in a pipe. Each has a home of its own. */
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

// Tests run side by side: what they wrote goes when all of the file are over.
const base = folderOfFile();

export function temporaryFolder(): string {
  return mkdtempSync(join(base, 'x-'));
}

/** Without what npm and the tests were told: commands word their advice by it. */
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

/** A group of its own: shells must go with what they started. It ends with the file, because tests may share it. */
abstract class InOwnGroup extends Program {
  abstract readonly ended: Promise<unknown>;

  constructor(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv, stdio: SpawnOptions['stdio']) {
    super(command, { cwd, env: { ...environment, ...env }, detached: true, stdio });
    atEndOfFile(() => this.kill());
  }

  /** What the pattern finds in a text that changes with what is written. Rejects if the process ends first. */
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

/** Nothing writes it but us: what came before it has been shown. */
const mark = '\x05';
/** In which a command that hears of a new width draws for it. */
const drawnMs = 1_000;

/** A real pseudo-terminal, which `script` of util-linux opens, and a screen that shows what is written to it. */
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

  /** The first line is the name of the device, and not of the command. */
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

  /**
   * What is drawn for one width spoils a screen of a narrower one. So a screen grows before the terminal does, and
   * shrinks after it, once all that was drawn until then has been shown.
   */
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
