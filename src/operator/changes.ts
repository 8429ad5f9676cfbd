/**
 * News of all trees for everybody who looks. One listener on the store's feed notes which roots changed, and which
 * subtasks have a question more or less, numbered, the last ten thousand notes and never more; each viewer only holds
 * the number up to which it was told. What it is told is read at that moment, and only when it asks for more: a viewer
 * that takes nothing costs nothing, and one that stayed behind further than the notes go is told to look at everything
 * anew.
 */

import type { Tasks } from '../engine/tasks.ts';
import { newId } from '../model/id.ts';
import type { TaskId } from '../model/task.ts';
import type { ChangeMessage, TaskSummary, Viewer } from './api.ts';
import { damagedIn, redactedSummary } from './summary.ts';

/** Notes that are kept. */
export const mostNotes = 10_000;
/** Tasks in one message. */
export const mostTold = 200;
const betweenMessagesMs = 250;
/** Looking at everything anew costs both sides more than news does. */
const betweenResetsMs = 1_000;
/** … and is not worth much if only something was removed that may have been another's. */
const betweenGuessesMs = 5_000;

/** After these a task may have begun to wait for an answer, or have ceased to. */
const questioning: ReadonlySet<string> = new Set(['asked', 'answered', 'withdrawn']);

interface Note {
  readonly rootId: TaskId;
  readonly what: 'made' | 'changed' | 'gone';
  /** A subtask that asked, or was answered, or whose question was taken back. */
  readonly asking?: TaskId;
}

/** What happened to a tree since a viewer was last told. */
interface Pending {
  readonly rootId: TaskId;
  /** The number of the last note about it. */
  number: number;
  isMade: boolean;
  isGone: boolean;
  readonly asking: Set<TaskId>;
}

type News = Extract<ChangeMessage, { readonly type: 'changes' }>;

export class Changes {
  readonly #tasks: Tasks;
  readonly #seen: ReturnType<typeof seenTasks>;
  /** Numbers mean something only in the process, and to the object, that gave them. */
  readonly #incarnation = newId().slice(0, 12);
  readonly #notes: Note[] = [];
  /** The number of the last note. */
  #last = 0;
  readonly #waiting = new Set<() => void>();
  #listening: Promise<() => void> | undefined;
  #isClosed = false;

  constructor(tasks: Tasks) {
    this.#tasks = tasks;
    this.#seen = seenTasks(tasks);
  }

  /** How many notes are kept, for tests that they are bounded. */
  get size(): number {
    return this.#notes.length;
  }

  async *follow(
    viewer: Viewer,
    { signal, lastId }: { readonly signal: AbortSignal; readonly lastId?: string },
  ): AsyncGenerator<ChangeMessage, void> {
    const { clock } = this.#tasks;
    this.#listening ??= this.#listen();
    await this.#listening.catch((error) => {
      this.#listening = undefined;
      throw error;
    });
    const known = this.#positionAfter(lastId);
    let position = known ?? this.#last;
    // The first message says that from here on nothing is missed, and from where to go on.
    yield known === undefined ? this.#reset(position) : this.#message(position);
    let nextAt = clock.now() + betweenMessagesMs;
    let mayGuessAt = clock.now();
    let isUnsure = false;
    for (;;) {
      if (position === this.#last) await this.#wait(signal, isUnsure ? mayGuessAt : undefined, 'news');
      await this.#wait(signal, nextAt, 'time');
      if (signal.aborted || this.#isClosed) return;
      const upTo = this.#last;
      const pending = this.#since(position);
      position = upTo;
      const told = pending && (await this.#tell(viewer, pending));
      isUnsure ||= told?.isUnsure === true;
      nextAt = clock.now() + betweenMessagesMs;
      if (!told || (isUnsure && clock.now() >= mayGuessAt)) {
        yield this.#reset(upTo);
        nextAt = clock.now() + betweenResetsMs;
        mayGuessAt = clock.now() + betweenGuessesMs;
        isUnsure = false;
      } else if (told.tasks.length + told.subtasks.length + told.removed.length > 0)
        yield this.#message(upTo, told);
    }
  }

  /** Ends what is told to everybody. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake();
    (await this.#listening?.catch(() => undefined))?.();
  }

  async #listen(): Promise<() => void> {
    return this.#tasks.subscribe(({ rootId, taskId, events }) => {
      const isOfRoot = taskId === rootId;
      const isGone = isOfRoot && events.some(({ type }) => type === 'removed');
      const isMade = isOfRoot && events.some(({ type }) => type === 'created');
      const isAsking = !isOfRoot && events.some(({ type }) => questioning.has(type));
      this.#last++;
      this.#notes[this.#last % mostNotes] = {
        rootId,
        what: isGone ? 'gone' : isMade ? 'made' : 'changed',
        ...(isAsking && { asking: taskId }),
      };
      this.#wake();
    });
  }

  #wake(): void {
    for (const waiting of [...this.#waiting]) waiting();
  }

  /** Undefined if it cannot be known what happened since. */
  #positionAfter(lastId: string | undefined): number | undefined {
    if (lastId === undefined) return this.#last;
    const [incarnation, number = ''] = lastId.split('.');
    if (incarnation !== this.#incarnation || !/^\d{1,15}$/.test(number)) return undefined;
    const position = Number(number);
    return position <= this.#last && this.#last - position <= mostNotes ? position : undefined;
  }

  /** Which trees changed; undefined if that is more than is known, or than is told at once. */
  #since(position: number): Pending[] | undefined {
    if (this.#last - position > mostNotes) return undefined;
    const pending = new Map<TaskId, Pending>();
    for (let number = position + 1; number <= this.#last; number++) {
      const { rootId, what, asking } = this.#notes[number % mostNotes]!;
      const one = pending.get(rootId) ?? { rootId, number, isMade: false, isGone: false, asking: new Set() };
      one.number = number;
      one.isMade ||= what === 'made';
      one.isGone ||= what === 'gone';
      if (asking !== undefined) one.asking.add(asking);
      pending.set(rootId, one);
    }
    // Calls that were answered directly come and go between two messages.
    const heardOf = [...pending.values()].filter(({ isMade, isGone }) => !(isMade && isGone));
    const count = heardOf.reduce((sum, { asking }) => sum + 1 + asking.size, 0);
    return count > mostTold ? undefined : heardOf;
  }

  /** Undefined if that is more than is told at once. */
  async #tell({ owner }: Viewer, pending: readonly Pending[]) {
    const tasks: TaskSummary[] = [];
    const subtasks: TaskSummary[] = [];
    const removed: TaskId[] = [];
    /** Something was removed, and nobody knows whose it was. */
    let isUnsure = false;
    const mayTell = (root: TaskSummary) => owner === undefined || root.owner === owner;
    const roots = await Promise.all(
      pending.map(({ rootId, number, isGone }) =>
        isGone ? this.#seen.last(rootId) : this.#seen.at(rootId, number),
      ),
    );
    for (const [n, { rootId, number, isGone, asking }] of pending.entries()) {
      const root = roots[n];
      if (isGone) {
        if (root ? mayTell(root) : owner === undefined) removed.push(rootId);
        else if (!root) isUnsure = true;
      } else if (root && mayTell(root)) {
        tasks.push(root);
        const seen = await Promise.all([...asking].map((id) => this.#seen.at(id, number)));
        subtasks.push(...seen.filter((subtask) => subtask !== undefined));
      }
    }
    return tasks.length + subtasks.length > mostTold ? undefined : { tasks, subtasks, removed, isUnsure };
  }

  #message(number: number, { tasks = [], subtasks = [], removed = [] }: Partial<News> = {}): ChangeMessage {
    return { type: 'changes', id: `${this.#incarnation}.${number}`, tasks, subtasks, removed };
  }

  #reset(number: number): ChangeMessage {
    return { type: 'reset', id: `${this.#incarnation}.${number}` };
  }

  /** Until that moment has come, or something was noted if that is waited for, or it is over. */
  async #wait(signal: AbortSignal, at: number | undefined, what: 'news' | 'time'): Promise<void> {
    const { clock } = this.#tasks;
    if (signal.aborted || this.#isClosed || (at !== undefined && clock.now() >= at)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = () => resolve();
    if (what === 'news') this.#waiting.add(done);
    const forget = at === undefined ? undefined : clock.schedule(at, done);
    signal.addEventListener('abort', done);
    await promise;
    signal.removeEventListener('abort', done);
    this.#waiting.delete(done);
    forget?.();
  }
}

// --- Tasks as they were last read ---------------------------------------------------------------------------

/** Rows without results: a few megabytes. */
const mostKept = 5_000;

interface Look {
  /** It was begun after the note of this number was heard. */
  readonly number: number;
  readonly task: Promise<TaskSummary | undefined>;
}

/** Many viewers of the same changes read each task once. */
function seenTasks(tasks: Tasks) {
  const looks = new Map<TaskId, Look>();
  const read = async (id: TaskId): Promise<TaskSummary | undefined> => {
    const task = await tasks.get(id).catch(async (error: unknown) => damagedIn(await tasks.opened(), error));
    return task && redactedSummary(task, tasks);
  };
  return {
    /** As it is now, or as it was at some moment after the note of that number. */
    at(id: TaskId, number: number): Promise<TaskSummary | undefined> {
      const known = looks.get(id);
      if (known && known.number >= number) return known.task;
      const task = read(id);
      task.catch(() => looks.delete(id));
      looks.delete(id);
      looks.set(id, { number, task });
      if (looks.size > mostKept) looks.delete(looks.keys().next().value!);
      return task;
    },

    /** As it was when it was last read; undefined if nobody remembers it. */
    last: async (id: TaskId): Promise<TaskSummary | undefined> => looks.get(id)?.task,
  };
}
