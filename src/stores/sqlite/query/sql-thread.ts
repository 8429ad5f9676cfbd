/** Runs statements in a thread with its own connection, so that they do not block the event loop. */
import { Worker } from 'node:worker_threads';
import { runtime, type Timer } from '../../../runtime/runtime.ts';

/**
 * The thread's program: plain JavaScript in a string, because the path of a separate file would differ after the build.
 */
const program = `
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const { file, timeout, readOnly } = workerData;
  const db = new DatabaseSync(file, { timeout, readOnly });
  db.exec('pragma cache_size = -16384');
  const statements = new Map();
  const prepared = (text) => {
    if (statements.size > 100) statements.clear();
    if (!statements.has(text)) statements.set(text, db.prepare(text));
    return statements.get(text);
  };
  parentPort.on('message', ({ id, text, values }) => {
    try {
      parentPort.postMessage({ id, rows: prepared(text).all(...values) });
    } catch (error) {
      parentPort.postMessage({ id, failure: { message: error.message, errcode: error.errcode } });
    }
  });
`;

/** A message of the thread: the rows of the statement with this id, or its failure (then `rows` is absent). */
interface Answer {
  readonly id: number;
  readonly rows: unknown[];
  readonly failure?: { readonly message: string; readonly errcode?: number };
}

interface Pending {
  resolve(rows: unknown[]): void;
  reject(error: unknown): void;
}

export interface ThreadOptions {
  /** How long a statement waits for locks, in milliseconds. */
  readonly timeout: number;
  readonly readOnly?: boolean;
  /** The thread ends after this time without statements, and the next statement starts another. Undefined for never. */
  readonly idleMs?: number;
}

/** The thread ended before its first answer, for example because it could not open the file. */
export class ThreadNotStarted extends Error {
  /** SQLite's result code, if the error came from SQLite. */
  readonly errcode: number | undefined;

  constructor({ message, errcode }: Error & { readonly errcode?: number }) {
    super(message);
    this.errcode = errcode;
  }
}

export class SqlThread {
  readonly #file: string;
  readonly #options: ThreadOptions;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #idle: Timer | undefined;
  /** The id of the last statement. */
  #sent = 0;

  constructor(file: string, options: ThreadOptions) {
    this.#file = file;
    this.#options = options;
  }

  /** Runs one statement and returns its rows. Starts the thread if necessary. Statements run one after the other. */
  all(text: string, values: readonly (string | number)[] = []): Promise<unknown[]> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown[]>();
    this.#worker ??= this.#start();
    // A pending statement keeps the process alive; an idle thread must not (see `unref` below).
    this.#worker.ref();
    runtime.clearTimeout(this.#idle);
    const id = ++this.#sent;
    this.#pending.set(id, { resolve, reject });
    this.#worker.postMessage({ id, text, values });
    return promise;
  }

  /** Ends the thread. Pending statements are rejected. */
  async end(): Promise<void> {
    runtime.clearTimeout(this.#idle);
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const { timeout, readOnly = false } = this.#options;
    const workerData = { file: this.#file, timeout, readOnly };
    const worker = new Worker(program, { eval: true, workerData, execArgv: [], name: 'holdfast sqlite' });
    let hasAnswered = false;
    worker.on('message', (answer: Answer) => {
      hasAnswered = true;
      this.#settle(answer);
    });
    const onEnd = (error: Error) => {
      // Ignores a thread that was ended because it was idle, and the `exit` event after an `error`.
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      const reason = hasAnswered ? error : new ThreadNotStarted(error);
      for (const { reject } of this.#pending.values()) reject(reason);
      this.#pending.clear();
    };
    worker.on('error', onEnd);
    worker.on('exit', () => onEnd(new Error('the thread ended early')));
    return worker;
  }

  #settle({ id, rows, failure }: Answer): void {
    const { resolve, reject } = this.#pending.get(id)!;
    this.#pending.delete(id);
    if (failure) reject(Object.assign(new Error(failure.message), { errcode: failure.errcode }));
    else resolve(rows);
    if (this.#pending.size > 0) return;
    this.#worker?.unref();
    const { idleMs } = this.#options;
    if (idleMs !== undefined) this.#idle = runtime.setTimeout(() => this.#endIdle(), idleMs).unref();
  }

  #endIdle(): void {
    const idle = this.#worker;
    this.#worker = undefined;
    void idle?.terminate();
  }
}

/** Runs statements in a temporary thread. Returns the first row of the last one. `timeout` is in milliseconds. */
export async function runInThread(
  file: string,
  timeout: number,
  statements: readonly string[],
): Promise<unknown> {
  const thread = new SqlThread(file, { timeout });
  try {
    let rows: unknown[] = [];
    for (const text of statements) rows = await thread.all(text);
    return rows[0];
  } finally {
    await thread.end();
  }
}
