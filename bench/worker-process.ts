/** Worker processes for suites that measure across processes, on either store. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Database } from '../src/ports/queue.ts';
import { openPostgres } from '../src/postgres.ts';
import { openSqlite } from '../src/sqlite.ts';

/** A store that can give each measurement an empty database. */
export interface Store {
  readonly name: string;
  createDatabase(): Promise<string>;
}

/** The start of a handler or of one of its steps. */
export interface Began {
  readonly taskId: string;
  readonly step: number;
  /** On the clock that all processes of the machine share. */
  readonly atMs: number;
}

export function openDatabase(location: string): Promise<Database> {
  return location.startsWith('postgres:') ? openPostgres(location) : openSqlite(location);
}

export class WorkerProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Resolves when the worker is ready for tasks. */
  static async start(location: string, concurrency?: number): Promise<WorkerProcess> {
    const args = concurrency === undefined ? [location] : [location, String(concurrency)];
    const child = fork(join(import.meta.dirname, 'worker.ts'), args);
    await new Promise<void>((resolve, reject) => {
      child.once('message', () => resolve());
      child.once('exit', (code) =>
        reject(new Error(`bench/worker.ts ended with ${code} before it was ready.`)),
      );
    });
    return new WorkerProcess(child);
  }

  onBegan(listener: (began: Began) => void): void {
    this.#child.on('message', listener);
  }

  async kill(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    if (!this.#child.connected) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}
