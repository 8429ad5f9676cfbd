/**
 * The `Survey` on SQLite: of a file in a thread, which is started by the first look and ends when nobody has looked for
 * a while; in memory, where there is no second connection, and where no thread can be started, in turns.
 */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { StoreClosed, StoreNotUnlocked } from '../../engine/store-errors.ts';
import type { DamagedTask, HistoryCommit, Survey } from '../../engine/survey.ts';
import type { Clock } from '../../model/clock.ts';
import { runtime, type Timer } from '../../model/runtime.ts';
import type { Task } from '../../model/task.ts';
import { Damaged, DamagedRecord } from '../values/damaged.ts';
import { InvalidCursor } from '../values/invalid-cursor.ts';
import type { Keys } from '../values/keys.ts';
import { Surveyor } from '../values/surveyor.ts';
import type { Cells } from './cells.ts';
import { type Connection, worded } from './driver.ts';
import { inTurns, SqliteSurveySource } from './survey-source.ts';
import type { Answer, Asking, Failure, ThreadData } from './survey-thread.ts';

/** How long a thread waits for another look. */
const idleMs = 30_000;
/** How much JSON is parsed before others have their turn. */
const parsedAtOnce = 128 * 1024;

export interface SqliteSurvey extends Survey {
  close(): Promise<void>;
}

interface Parts {
  readonly db: Connection;
  /** None in memory. */
  readonly file: string | undefined;
  readonly cells: Cells;
  readonly keys: Keys | undefined;
  readonly clock: Clock;
  readonly place: string;
}

export function sqliteSurvey(parts: Parts): SqliteSurvey {
  const { db, file, cells, keys, clock, place } = parts;
  const thread = file === undefined ? undefined : new SurveyThread({ file, keys }, clock);
  const here = new Surveyor(new SqliteSurveySource(db, cells, inTurns), { clock });
  let isClosed = false;
  const look = async <T>(read: (survey: Survey) => Promise<T>): Promise<T> => {
    try {
      if (isClosed) throw new StoreClosed(place);
      if (!thread?.isUsable) return await read(here);
      return await read(thread).catch((error: unknown) => {
        if (isClosed) throw new StoreClosed(place);
        if (error instanceof ThreadNotStarted) return read(here);
        throw error;
      });
    } catch (error) {
      throw worded(error, place);
    }
  };
  return {
    list: (query) => look((survey) => survey.list(query)),
    count: (filter, upTo) => look((survey) => survey.count(filter, upTo)),
    overview: (query) => look((survey) => survey.overview(query)),
    history: (id, query) => look((survey) => survey.history(id, query)),
    async close() {
      isClosed = true;
      await thread?.end();
    },
  };
}

/** A bundle without the thread's file, or a place where none may be started: surveys then take turns. */
class ThreadNotStarted extends Error {}

interface Pending {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** A worker that is there while it is needed. */
class SurveyThread implements Survey {
  /** False once one could not be started. */
  isUsable = true;
  readonly #data: ThreadData;
  readonly #clock: Clock;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #idle: Timer | undefined;
  #asked = 0;
  #isEnded = false;

  constructor(data: ThreadData, clock: Clock) {
    this.#data = data;
    this.#clock = clock;
  }

  async list(...args: Parameters<Survey['list']>) {
    const { value, parts } = await this.#ask({ method: 'list', args });
    return { ...(value as object), tasks: await parsed<Task | DamagedTask>(parts!) };
  }

  async count(...args: Parameters<Survey['count']>) {
    return (await this.#ask({ method: 'count', args })).value as Awaited<ReturnType<Survey['count']>>;
  }

  async overview(...args: Parameters<Survey['overview']>) {
    return (await this.#ask({ method: 'overview', args })).value as Awaited<ReturnType<Survey['overview']>>;
  }

  async history(...args: Parameters<Survey['history']>) {
    const { value, parts } = await this.#ask({ method: 'history', args });
    return parts && { ...(value as object), commits: await parsed<HistoryCommit>(parts) };
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    runtime.clearTimeout(this.#idle);
    await this.#worker?.terminate();
  }

  #ask(
    asking: { [M in keyof Survey]: { method: M; args: Parameters<Survey[M]> } }[keyof Survey],
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#worker ??= this.#start();
      // Whoever waits for an answer keeps the process alive, the thread alone does not.
      this.#worker.ref();
      runtime.clearTimeout(this.#idle);
      const id = ++this.#asked;
      this.#pending.set(id, { resolve, reject });
      this.#worker.postMessage({ ...asking, id, now: this.#clock.now() } satisfies Asking);
    });
  }

  #start(): Worker {
    const file = new URL(`./survey-thread${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(file, { workerData: this.#data, execArgv: [], name: 'holdfast survey' });
    let hasAnswered = false;
    worker.on('message', (answer: Answer) => {
      hasAnswered = true;
      this.#settle(answer);
    });
    const gone = (error: unknown) => {
      // One that was ended because nobody asked has left nothing behind.
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      if (!hasAnswered) this.#doWithout(error);
      const reason = hasAnswered ? error : new ThreadNotStarted();
      for (const [id, { reject }] of this.#pending) {
        this.#pending.delete(id);
        reject(reason);
      }
    };
    worker.on('error', gone);
    worker.on('exit', () => gone(new Error('The thread of surveys ended before it had answered.')));
    return worker;
  }

  #doWithout(error: unknown): void {
    this.isUsable = false;
    if (this.#isEnded) return;
    const { message } = error as Error;
    process.emitWarning(
      `Operators who look at ${this.#data.file} now take turns with everybody else: their thread cannot be started (${message}).`,
    );
  }

  #settle(answer: Answer): void {
    const { resolve, reject } = this.#pending.get(answer.id)!;
    this.#pending.delete(answer.id);
    if (answer.failure) reject(errorOf(answer.failure, this.#data.file));
    else resolve(answer);
    if (this.#pending.size > 0) return;
    this.#worker?.unref();
    this.#idle = runtime
      .setTimeout(() => {
        const idle = this.#worker;
        this.#worker = undefined;
        void idle?.terminate();
      }, idleMs)
      .unref();
  }
}

/** The error as it would have been here. */
function errorOf({ kind, message, errcode, taskId }: Failure, file: string): unknown {
  switch (kind) {
    case 'cursor':
      return new InvalidCursor();
    case 'damaged':
      return taskId === undefined ? new Damaged(message) : new DamagedRecord(taskId, message);
    case 'unreadable':
      return new SyntaxError(message);
    case 'locked': {
      const [, problem = message, remedy = ''] =
        /^(.*?)\. (.*)$/s.exec(message.slice(`${file}: `.length)) ?? [];
      return new StoreNotUnlocked(file, problem, remedy);
    }
    default:
      return Object.assign(new Error(message), errcode !== undefined && { errcode });
  }
}

async function parsed<T>(parts: readonly string[]): Promise<T[]> {
  const values: T[] = [];
  let length = 0;
  for (const part of parts) {
    values.push(JSON.parse(part) as T);
    length += part.length;
    if (length < parsedAtOnce) continue;
    length = 0;
    await new Promise((resolve) => runtime.setImmediate(resolve));
  }
  return values;
}
