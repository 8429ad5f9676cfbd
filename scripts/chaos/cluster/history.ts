/**
 * The history of a run on several processes: what clients asked and were told, what steps wrote outside the store, and
 * what befell the processes and the database. One line of JSON each; whoever judges a run is given nothing else.
 *
 * Moments are milliseconds on the clock that all processes of the machine share and that nobody sets: what ended
 * before something else began did so in truth.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskId } from '../../../src/index.ts';

export type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** What a client is shown of a task. */
export interface Seen {
  readonly status: Status;
  readonly updatedAt: string;
  readonly progress: number;
  /** The keys of the questions that are open. */
  readonly questions: readonly string[];
  /** As it came, if the task has ended. */
  readonly result?: string;
}

/** A request: when it was sent, when its answer was there (null if none came), and who answered. */
interface Request {
  readonly from: number;
  readonly at: number | null;
  readonly server: string;
}

export type Ordered = { readonly what: 'ordered'; readonly key: string; readonly at: number };
export type Created = Request & { readonly what: 'created'; readonly key: string; readonly task: TaskId };
/** `seen` is null if the server said that there is no such task. */
export type Looked = Request & {
  readonly what: 'looked';
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

/** A subscription to one task begins, speaks, and ends: by our own hand, or broken. */
export type Opened = {
  readonly what: 'opened';
  readonly stream: number;
  readonly task: TaskId;
  readonly server: string;
  readonly at: number;
};
export type Told = {
  readonly what: 'told';
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

/** A step begins, and has done what it does. Both lines of one attempt bear the same nonce. */
export type Attempt = Began | Did;
export type Began = AttemptLine & { readonly what: 'began' };
export type Did = AttemptLine & { readonly what: 'did' };
interface AttemptLine {
  readonly task: TaskId;
  /** The task that somebody ordered: this one, or the one whose subtask this is. */
  readonly root: TaskId;
  readonly step: string;
  readonly attempt: number;
  readonly pass: number;
  readonly process: string;
  readonly at: number;
  readonly nonce: string;
  /** Which attempt of each earlier step the handler had been given: only what was committed is given to it. */
  readonly knows: Readonly<Record<string, string>>;
  /** The answer that the handler had heard before it came here. */
  readonly heard?: string;
  /** By how much the timer before it was late, in milliseconds by the clock on the wall. */
  readonly lateMs?: number;
}

export type Fate = {
  readonly what: 'fate';
  readonly process: string;
  readonly role: 'server' | 'worker';
  /** A process that was stopped, or whose event loop is blocked, is `continued` later, unless it is killed first. */
  readonly fate: 'ready' | 'killed' | 'stopped' | 'blocked' | 'continued' | 'ended';
  readonly at: number;
};
/** The wall clock of a process was set to the true time plus so much. */
export type Clock = {
  readonly what: 'clock';
  readonly process: string;
  readonly offsetMs: number;
  readonly at: number;
};
/** The database was away from `from` until `at`, or so many connections to it were cut. */
export type Trouble = {
  readonly what: 'restarted' | 'cut';
  readonly from: number;
  readonly at: number;
  readonly connections?: number;
};

/** A cross-check through the port of the store: a commit that a subscriber heard of, and a task as it was in the end. */
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
  /** The calls that the entries of its journal settle. */
  readonly settled: readonly number[];
};

export type Entry =
  | Ordered
  | Created
  | Looked
  | Answered
  | Cancelled
  | Opened
  | Told
  | Closed
  | Began
  | Did
  | Fate
  | Clock
  | Trouble
  | Commit
  | Stored;

export type History = readonly Entry[];

/** Now, on the clock that all processes of this machine share. */
export function moment(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** Writes lines into a file of its own in the folder, each of them whole and at once: a kill takes nothing back. */
export class HistoryFile {
  readonly #path: string;

  constructor(folder: string, name: string) {
    this.#path = join(folder, `${name}.jsonl`);
  }

  add(entry: Entry): void {
    appendFileSync(this.#path, `${JSON.stringify(entry)}\n`);
  }
}

/** Everything that was written into the folder, in the order of time. */
export function readHistory(folder: string): History {
  const entries = readdirSync(folder)
    .filter((file) => file.endsWith('.jsonl'))
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n').flatMap(entryIn));
  return entries.toSorted((a, b) => whenOf(a) - whenOf(b));
}

/** Whether a process is in a step right now, by the last lines that it wrote. */
export function isInStep(folder: string, process: string): boolean {
  const path = join(folder, `${process}.jsonl`);
  if (!existsSync(path)) return false;
  const lines = readFileSync(path, 'utf8').split('\n').slice(-30).flatMap(entryIn) as Attempt[];
  const done = new Set(lines.flatMap(({ what, nonce }) => (what === 'did' ? [nonce] : [])));
  return lines.some(({ what, nonce }) => what === 'began' && !done.has(nonce));
}

/** Of a process that was killed while it wrote, half a line may be left: what it told of did not come about. */
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
