/**
 * A client that is a command line. Its connections live in a background process of its own, which has a home of its own
 * here and is ended with it.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { until } from './case.ts';
import { compileCache } from './fixture.ts';

export interface Said {
  readonly code: number;
  /** What it printed, or what it complained of. */
  readonly answer: { readonly [member: string]: unknown };
}

export abstract class CommandLine implements AsyncDisposable {
  readonly #home: string;
  readonly #program: string;
  readonly #words: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  #last: Promise<unknown> = Promise.resolve();

  /** The words come with every command. */
  constructor(home: string, name: string, words: readonly string[], env: NodeJS.ProcessEnv) {
    this.#home = home;
    this.#program = join(import.meta.dirname, '../../../node_modules/.bin', name);
    this.#words = words;
    // It starts its background process as whatever is called node.
    const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
    this.#env = { PATH, HOME: home, ...compileCache, ...env };
  }

  run(...words: string[]): Promise<Said> {
    const { promise, resolve, reject } = Promise.withResolvers<Said>();
    const args = [this.#program, ...words, ...this.#words];
    const child = execFile(process.execPath, args, { env: this.#env }, (error, stdout, stderr) => {
      try {
        resolve({ code: error ? Number(error.code) : 0, answer: JSON.parse(stdout.trim() || stderr) });
      } catch {
        reject(new Error(`${words.join(' ')}: ${stdout} ${stderr}`));
      }
    });
    child.stdin?.end();
    this.#last = promise.catch(() => {});
    return promise;
  }

  /** What it keeps in a file of its home. */
  kept(file: string): string | undefined {
    const path = join(this.#home, file);
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  }

  /** Of the background process. */
  protected abstract pid(): number | undefined;

  /** The background process is there when a command is over. */
  async endBackground(signal: NodeJS.Signals): Promise<void> {
    const pid = this.pid();
    if (pid === undefined || !isAlive(pid)) return;
    process.kill(pid, signal);
    await until(() => !isAlive(pid));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await this.endBackground('SIGTERM');
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
