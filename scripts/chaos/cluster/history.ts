/**
 * The history of a run on several processes: requests of clients and their answers, lines that steps wrote outside the
 * store, and faults of processes and the database. One JSON line each. The checks use nothing else.
 *
 * Times are milliseconds on the machine's monotonic clock, which all processes share, so they are comparable.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskId } from '../../../src/index.ts';

export type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A task as a client saw it. */
export interface Seen {
  readonly status: Status;
  readonly updatedAt: string;
  readonly progress: number;
  /** The keys of open questions. */
  readonly questions: readonly string[];
  /** The raw result, if the task has ended. */
  readonly result?: string;
}

/** A request: when it was sent, when its answer arrived (null if none did), and the server. */
interface Request {
  readonly from: number;
  readonly at: number | null;
  readonly server: string;
}

export type Ordered = { readonly what: 'ordered'; readonly key: string; readonly at: number };
export type Created = Request & { readonly what: 'created'; readonly key: string; readonly task: TaskId };
/** `seen` is null if the server did not find the task. */
export type Polled = Request & {
  readonly what: 'polled';
  readonly task: TaskId;
  readonly at: number;
  readonly seen: Seen | null;
};
export type Answered = Request & {
  readonly what: 'answered';
  readonly task: TaskId;
  readonly question: string;
  readonly words: string;
};
export type Cancelled = Request & { readonly what: 'cancelled'; readonly task: TaskId };

/** A subscription to one task is opened, receives notifications, and is closed by us or cut. */
export type Opened = {
  readonly what: 'opened';
  readonly stream: number;
  readonly task: TaskId;
  readonly server: string;
  readonly at: number;
};
export type Notified = {
  readonly what: 'notified';
  readonly stream: number;
  readonly task: TaskId;
  readonly at: number;
  readonly seen: Seen;
};
export type Closed = {
  readonly what: 'closed';
  readonly stream: number;
  readonly at: number;
  readonly by: 'us' | 'them';
};

/** An attempt of a step starts and is done. Both lines have the same nonce. */
export type Attempt = Began | Did;
export type Began = AttemptLine & { readonly what: 'began' };
export type Did = AttemptLine & { readonly what: 'did' };
interface AttemptLine {
  readonly task: TaskId;
  /** The root: the ordered task. */
  readonly root: TaskId;
  readonly step: string;
  readonly attempt: number;
  readonly pass: number;
  readonly process: string;
  readonly at: number;
  readonly nonce: string;
  /** The nonces of earlier steps that the handler received: these were committed. */
  readonly knows: Readonly<Record<string, string>>;
  /** The answer that the handler received before this step. */
  readonly received?: string;
  /** The lateness of the timer before it, in milliseconds on the wall clock. */
  readonly lateMs?: number;
}

export type Fate = {
  readonly what: 'fate';
  readonly process: string;
  readonly role: 'server' | 'worker';
  /** A stopped or blocked process is `continued` later, unless it is killed first. */
  readonly fate: 'ready' | 'killed' | 'stopped' | 'blocked' | 'continued' | 'ended';
  readonly at: number;
};
/** The wall clock of a process was set to the true time plus an offset. */
export type Clock = {
  readonly what: 'clock';
  readonly process: string;
  readonly offsetMs: number;
  readonly at: number;
};
/** The database was unavailable from `from` until `at`, or some connections to it were cut. */
export type Trouble = {
  readonly what: 'restarted' | 'cut';
  readonly from: number;
  readonly at: number;
  readonly connections?: number;
};

/** For the cross-check with the store: a commit from the change feed, and a task at the end. */
export type Commit = {
  readonly what: 'commit';
  readonly task: TaskId;
  readonly version: number;
  readonly at: number;
};
export type Stored = {
  readonly what: 'stored';
  readonly task: TaskId;
  readonly version: number;
  /** The calls settled by the entries of its journal. */
  readonly settled: readonly number[];
};

export type Entry =
  | Ordered
  | Created
  | Polled
  | Answered
  | Cancelled
  | Opened
  | Notified
  | Closed
  | Began
  | Did
  | Fate
  | Clock
  | Trouble
  | Commit
  | Stored;

export type History = readonly Entry[];

/** The current time on the machine's monotonic clock. */
export function moment(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** Appends lines to its own file in the folder, each with one write, so that a kill loses none. */
export class HistoryFile {
  readonly #path: string;

  constructor(folder: string, name: string) {
    this.#path = join(folder, `${name}.jsonl`);
  }

  add(entry: Entry): void {
    appendFileSync(this.#path, `${JSON.stringify(entry)}\n`);
  }
}

/** All entries of the folder in order of time. */
export function readHistory(folder: string): History {
  const entries = readdirSync(folder)
    .filter((file) => file.endsWith('.jsonl'))
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n').flatMap(entryIn));
  return entries.toSorted((a, b) => whenOf(a) - whenOf(b));
}

/** Whether a process is in a step, according to its last lines. */
export function isInStep(folder: string, process: string): boolean {
  const path = join(folder, `${process}.jsonl`);
  if (!existsSync(path)) return false;
  const lines = readFileSync(path, 'utf8').split('\n').slice(-30).flatMap(entryIn) as Attempt[];
  const done = new Set(lines.flatMap(({ what, nonce }) => (what === 'did' ? [nonce] : [])));
  return lines.some(({ what, nonce }) => what === 'began' && !done.has(nonce));
}

/** A process that was killed during a write may leave half a line, which is ignored. */
function entryIn(text: string): Entry[] {
  try {
    return [JSON.parse(text)];
  } catch {
    return [];
  }
}

function whenOf(entry: Entry): number {
  return 'at' in entry ? (entry.at ?? (entry as Request).from) : Number.POSITIVE_INFINITY;
}
