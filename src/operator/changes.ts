/**
 * Streams changes of all trees to all viewers. One listener on the store's feed keeps a numbered ring buffer of notes:
 * which roots changed, and which subtasks were asked or answered. A viewer only holds the number of the last note that
 * it received. Tasks are read when the viewer takes its next message, so a viewer that takes nothing costs nothing. A
 * viewer that falls back further than the buffer receives `reset`.
 */

import type { Tasks } from '../engine/tasks.ts';
import { newId } from '../model/id.ts';
import type { TaskId } from '../model/task.ts';
import type { ChangeMessage, TaskSummary, Viewer } from './api.ts';
import { corruptTaskOf, redactedSummary } from './summary.ts';

/** The size of the ring buffer. */
export const maxNotes = 10_000;
/** Tasks in one message. */
export const maxTasksPerMessage = 200;
/** The minimum time between two messages to the same viewer. */
const betweenMessagesMs = 250;
/** The same after a reset. Longer, because a reset costs both sides more than changes do. */
const betweenResetsMs = 1_000;
/** Even longer for a reset that may be unnecessary: a removed tree may belong to another owner. */
const betweenUnsureResetsMs = 5_000;

/** Events that may change whether a task waits for an answer. */
const questionEvents: ReadonlySet<string> = new Set(['asked', 'answered', 'withdrawn']);

interface Note {
  readonly rootId: TaskId;
  readonly what: 'created' | 'changed' | 'removed';
  /** A subtask whose question was asked, answered or withdrawn. */
  readonly asking?: TaskId;
}

/** The changes of a tree since the last message to a viewer. */
interface Pending {
  readonly rootId: TaskId;
  /** The number of the last note about it. */
  number: number;
  isCreated: boolean;
  isRemoved: boolean;
  readonly asking: Set<TaskId>;
}

type ChangesMessage = Extract<ChangeMessage, { readonly type: 'changes' }>;

export class Changes {
  readonly #tasks: Tasks;
  readonly #cache: ReturnType<typeof taskCache>;
  /** Part of message ids, because numbers are only valid for this object. */
  readonly #instanceId = newId().slice(0, 12);
  readonly #notes: Note[] = [];
  /** The number of the last note. */
  #last = 0;
  /** Wakes each stream that waits for a note. */
  readonly #waiting = new Set<() => void>();
  #listening: Promise<() => void> | undefined;
  #isClosed = false;

  constructor(tasks: Tasks) {
    this.#tasks = tasks;
    this.#cache = taskCache(tasks);
  }

  /** The number of notes, for tests of the bound. */
  get size(): number {
    return this.#notes.length;
  }

  /** Yields what the viewer may see until the stream ends. */
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
    const resumed = this.#positionAfter(lastId);
    let position = resumed ?? this.#last;
    // The first message confirms the subscription, and its id is the position to resume from.
    yield resumed === undefined ? this.#reset(position) : this.#message(position);
    let nextAt = clock.now() + betweenMessagesMs;
    let unsureResetAt = clock.now();
    // True while a reset is due for a removed tree whose owner is not known.
    let isUnsure = false;
    for (;;) {
      if (position === this.#last) await this.#wait(signal, isUnsure ? unsureResetAt : undefined, 'change');
      await this.#wait(signal, nextAt, 'time');
      if (signal.aborted || this.#isClosed) return;
      const upTo = this.#last;
      const pending = this.#since(position);
      position = upTo;
      const changes = pending && (await this.#visibleChanges(viewer, pending));
      isUnsure ||= changes?.isUnsure === true;
      nextAt = clock.now() + betweenMessagesMs;
      if (!changes || (isUnsure && clock.now() >= unsureResetAt)) {
        yield this.#reset(upTo);
        nextAt = clock.now() + betweenResetsMs;
        unsureResetAt = clock.now() + betweenUnsureResetsMs;
        isUnsure = false;
      } else if (changes.tasks.length + changes.subtasks.length + changes.removed.length > 0)
        yield this.#message(upTo, changes);
    }
  }

  /** Ends the streams of all viewers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake();
    (await this.#listening?.catch(() => undefined))?.();
  }

  async #listen(): Promise<() => void> {
    return this.#tasks.subscribe(({ rootId, taskId, events }) => {
      const isOfRoot = taskId === rootId;
      const isRemoved = isOfRoot && events.some(({ type }) => type === 'removed');
      const isCreated = isOfRoot && events.some(({ type }) => type === 'created');
      const isAsking = !isOfRoot && events.some(({ type }) => questionEvents.has(type));
      this.#last++;
      this.#notes[this.#last % maxNotes] = {
        rootId,
        what: isRemoved ? 'removed' : isCreated ? 'created' : 'changed',
        ...(isAsking && { asking: taskId }),
      };
      this.#wake();
    });
  }

  #wake(): void {
    for (const waiting of [...this.#waiting]) waiting();
  }

  /** Undefined if the changes since then are no longer known. */
  #positionAfter(lastId: string | undefined): number | undefined {
    if (lastId === undefined) return this.#last;
    const [instanceId, number = ''] = lastId.split('.');
    if (instanceId !== this.#instanceId || !/^\d{1,15}$/.test(number)) return undefined;
    const position = Number(number);
    return position <= this.#last && this.#last - position <= maxNotes ? position : undefined;
  }

  /** The changed trees; undefined if the notes do not go back that far, or if there are too many for one message. */
  #since(position: number): Pending[] | undefined {
    if (this.#last - position > maxNotes) return undefined;
    const pending = new Map<TaskId, Pending>();
    for (let number = position + 1; number <= this.#last; number++) {
      const { rootId, what, asking } = this.#notes[number % maxNotes]!;
      const one = pending.get(rootId) ?? {
        rootId,
        number,
        isCreated: false,
        isRemoved: false,
        asking: new Set(),
      };
      one.number = number;
      one.isCreated ||= what === 'created';
      one.isRemoved ||= what === 'removed';
      if (asking !== undefined) one.asking.add(asking);
      pending.set(rootId, one);
    }
    // Omits trees that were created and removed since the last message, such as calls that were answered directly.
    const changed = [...pending.values()].filter(({ isCreated, isRemoved }) => !(isCreated && isRemoved));
    const count = changed.reduce((sum, { asking }) => sum + 1 + asking.size, 0);
    return count > maxTasksPerMessage ? undefined : changed;
  }

  /** The changes that the viewer may see; undefined if there are too many for one message. */
  async #visibleChanges({ owner }: Viewer, pending: readonly Pending[]) {
    const tasks: TaskSummary[] = [];
    const subtasks: TaskSummary[] = [];
    const removed: TaskId[] = [];
    /** True if the owner of a removed tree is not known. */
    let isUnsure = false;
    const isVisible = (root: TaskSummary) => owner === undefined || root.owner === owner;
    const roots = await Promise.all(
      pending.map(({ rootId, number, isRemoved }) =>
        isRemoved ? this.#cache.lastRead(rootId) : this.#cache.readAfter(rootId, number),
      ),
    );
    for (const [n, { rootId, number, isRemoved, asking }] of pending.entries()) {
      const root = roots[n];
      if (isRemoved) {
        if (root ? isVisible(root) : owner === undefined) removed.push(rootId);
        else if (!root) isUnsure = true;
      } else if (root && isVisible(root)) {
        tasks.push(root);
        const found = await Promise.all([...asking].map((id) => this.#cache.readAfter(id, number)));
        subtasks.push(...found.filter((subtask) => subtask !== undefined));
      }
    }
    return tasks.length + subtasks.length > maxTasksPerMessage
      ? undefined
      : { tasks, subtasks, removed, isUnsure };
  }

  #message(
    number: number,
    { tasks = [], subtasks = [], removed = [] }: Partial<ChangesMessage> = {},
  ): ChangeMessage {
    return { type: 'changes', id: `${this.#instanceId}.${number}`, tasks, subtasks, removed };
  }

  #reset(number: number): ChangeMessage {
    return { type: 'reset', id: `${this.#instanceId}.${number}` };
  }

  /** Waits until this time, the end of the stream, or with `change` until the next note. */
  async #wait(signal: AbortSignal, at: number | undefined, what: 'change' | 'time'): Promise<void> {
    const { clock } = this.#tasks;
    if (signal.aborted || this.#isClosed || (at !== undefined && clock.now() >= at)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = () => resolve();
    if (what === 'change') this.#waiting.add(done);
    const forget = at === undefined ? undefined : clock.schedule(at, done);
    signal.addEventListener('abort', done);
    await promise;
    signal.removeEventListener('abort', done);
    this.#waiting.delete(done);
    forget?.();
  }
}

// --- A cache of tasks ---------------------------------------------------------------------------------------

/** Summaries without results take a few megabytes. */
const maxCachedTasks = 5_000;

interface CachedTask {
  /** The read started after this note. */
  readonly number: number;
  readonly task: Promise<TaskSummary | undefined>;
}

/** Lets many viewers of the same changes share one read of each task. */
function taskCache(tasks: Tasks) {
  const cached = new Map<TaskId, CachedTask>();
  const read = async (id: TaskId): Promise<TaskSummary | undefined> => {
    const task = await tasks
      .get(id)
      .catch(async (error: unknown) => corruptTaskOf(await tasks.opened(), error));
    return task && redactedSummary(task, tasks);
  };
  return {
    /** The task as it was read after this note, which may be some time ago. */
    readAfter(id: TaskId, number: number): Promise<TaskSummary | undefined> {
      const known = cached.get(id);
      if (known && known.number >= number) return known.task;
      const task = read(id);
      task.catch(() => cached.delete(id));
      cached.delete(id);
      cached.set(id, { number, task });
      if (cached.size > maxCachedTasks) cached.delete(cached.keys().next().value!);
      return task;
    },

    /** The task as it was last read; undefined if it is not in the cache. */
    lastRead: async (id: TaskId): Promise<TaskSummary | undefined> => cached.get(id)?.task,
  };
}
