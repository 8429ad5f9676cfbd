/** A call as its host holds it: whatever became of it, it is waited for, listened to and cancelled in the same way. */
import type { JsonObject } from '../model/json.ts';
import { type RemoteOutcome, resultOf } from '../remote-tasks/remote-outcome.ts';
import type { PolledTask, TaskPoller, TaskUpdate } from '../remote-tasks/task-poller.ts';

export interface TaskHandle<Result = JsonObject> {
  /** What a host writes down to come back: `tasks.resume(id)`. */
  readonly id: string;
  /** The server's name for it; undefined if it was answered at once. */
  readonly taskId: string | undefined;
  /** Is the outcome here already? */
  readonly isDone: boolean;
  /** The result of the call. Rejects with TaskFailed, TaskCancelled, TaskExpired, TaskLost or what else went wrong. */
  result(): Promise<Result>;
  /** What happens from here on, to the end. */
  updates(): AsyncIterableIterator<TaskUpdate>;
  /** Asks the server to end it. What came of that is the result. */
  cancel(): Promise<void>;
  /** Removes it from the server, where that is possible, and from here. */
  delete(): Promise<void>;
  /** The task with its subtasks, as far as they are known, each with its outcome once it is there. */
  tree(): PolledTask | undefined;
  /** The results of all subtasks in the order of their creation, each below its parent's, and then its own. */
  results(): Promise<JsonObject[]>;
  /** Waits no longer. The task goes on, and so does the right to come back. */
  detach(): void;
}

/** What a handle does to the world. */
export interface HandleActions extends Pick<TaskHandle, 'cancel' | 'delete'> {
  /** To be durable when it returns: the host has its outcome. */
  deliver(ending: RemoteOutcome): void;
}

export class CallHandle implements TaskHandle {
  readonly id: string;
  taskId: string | undefined;
  isDone = false;
  /** Aborted when nobody waits any more. */
  readonly detached: AbortController;
  readonly #acts: HandleActions;
  readonly #ended = Promise.withResolvers<RemoteOutcome>();
  readonly #queues = new Set<UpdateQueue>();
  #pursuit: TaskPoller | undefined;

  constructor(id: string, taskId: string | undefined, over: AbortController, acts: HandleActions) {
    this.id = id;
    this.taskId = taskId;
    this.detached = over;
    this.#acts = acts;
    this.#ended.promise.catch(() => {});
  }

  async result(): Promise<JsonObject> {
    const ending = await this.#ended.promise;
    this.#acts.deliver(ending);
    return resultOf(this.taskId ?? this.id, ending);
  }

  updates(): AsyncIterableIterator<TaskUpdate> {
    const queue = new UpdateQueue(() => this.#queues.delete(queue));
    this.#queues.add(queue);
    this.#ended.promise.then(
      () => queue.finish({}),
      (error) => queue.finish({ error }),
    );
    return queue;
  }

  cancel(): Promise<void> {
    return this.#acts.cancel();
  }

  delete(): Promise<void> {
    return this.#acts.delete();
  }

  tree(): PolledTask | undefined {
    return this.#pursuit?.tree();
  }

  async results(): Promise<JsonObject[]> {
    const own = await this.result();
    const below = this.tree()?.children ?? [];
    return [...below.flatMap(inOrder), own];
  }

  detach(): void {
    this.detached.abort();
  }

  // --- From within ----------------------------------------------------------------------------------------

  emit(update: TaskUpdate): void {
    for (const queue of this.#queues) queue.push(update);
  }

  setPoller(taskId: string, pursuit: TaskPoller): void {
    this.taskId = taskId;
    this.#pursuit = pursuit;
  }

  end(ending: RemoteOutcome): this {
    this.isDone = true;
    this.#ended.resolve(ending);
    return this;
  }

  fail(error: unknown): void {
    this.#ended.reject(error);
  }
}

/** Children before their parents. What did not end with a result has none to show. */
function inOrder({ ending, children }: PolledTask): JsonObject[] {
  return [...children.flatMap(inOrder), ...(ending?.kind === 'result' ? [ending.result] : [])];
}

// --- Updates on their way to a reader -----------------------------------------------------------------------

/** However slowly a host reads, it is told everything but progress that has been overtaken; and that has an end. */
const mostHeld = 1_000;

/** Updates on their way to one reader. */
class UpdateQueue implements AsyncIterableIterator<TaskUpdate> {
  readonly #held: TaskUpdate[] = [];
  readonly #onReturn: () => void;
  #news = Promise.withResolvers<void>();
  #end: { readonly error?: unknown } | undefined;

  constructor(onReturn: () => void) {
    this.#onReturn = onReturn;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<TaskUpdate>> {
    while (this.#held.length === 0 && !this.#end) await this.#news.promise;
    const value = this.#held.shift();
    if (value) return { value, done: false };
    this.#onReturn();
    if (this.#end && 'error' in this.#end) throw this.#end.error;
    return { value: undefined, done: true };
  }

  async return(): Promise<IteratorResult<TaskUpdate>> {
    this.finish({});
    this.#onReturn();
    return { value: undefined, done: true };
  }

  push(update: TaskUpdate): void {
    if (this.#end) return;
    const last = this.#held.at(-1);
    if (update.type === 'progress' && last?.type === 'progress' && last.taskId === update.taskId)
      this.#held.pop();
    this.#held.push(update);
    if (this.#held.length > mostHeld) this.#held.shift();
    this.#wake();
  }

  /** An end with an error is a failure. */
  finish(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    this.#wake();
  }

  #wake(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

// --- Calls that run here ------------------------------------------------------------------------------------

export interface LiveCall {
  readonly handle: CallHandle;
  /** Resolves when nothing of it is under way any more. */
  readonly settled: Promise<unknown>;
}

/** Ends with the signal of a caller, and leaves nothing on it. */
export function controllerFor(signal: AbortSignal | undefined): AbortController {
  const over = new AbortController();
  if (signal?.aborted) over.abort(signal.reason);
  signal?.addEventListener('abort', () => over.abort(signal.reason), { once: true, signal: over.signal });
  return over;
}
