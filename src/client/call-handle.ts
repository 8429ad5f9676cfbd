/** The handle of a call. It works in the same way whether or not the call has become a task. */
import type { JsonObject } from '../model/json.ts';
import { type RemoteOutcome, resultOf } from '../remote-tasks/remote-outcome.ts';
import type { PolledTask, TaskPoller, TaskUpdate } from '../remote-tasks/task-poller.ts';

export interface TaskHandle<Result = JsonObject> {
  /** Store this id to resume the call later: `tasks.resume(id)`. */
  readonly id: string;
  /** The server's id of the task; undefined before there is one, or if the call was answered without a task. */
  readonly taskId: string | undefined;
  /** True if the outcome is known. */
  readonly isDone: boolean;
  /** The result of the call. Rejects with TaskFailed, TaskCancelled, TaskExpired, TaskLost or another error. */
  result(): Promise<Result>;
  /**
   * The updates from now until the call ends. A slow reader misses outdated progress, and the oldest updates if too
   * many are queued.
   */
  updates(): AsyncIterableIterator<TaskUpdate>;
  /** Asks the server to cancel the task. `result()` reports whether it was cancelled. */
  cancel(): Promise<void>;
  /** Deletes the record of the call, and the task if the server supports that. */
  delete(): Promise<void>;
  /** The task and its known subtasks, with the outcomes known so far. */
  tree(): PolledTask | undefined;
  /** The results of the whole tree: subtasks in the order of their creation, each before its parent. */
  results(): Promise<JsonObject[]>;
  /** Stops waiting. The task continues and can be resumed. */
  detach(): void;
}

/** The side effects of a handle. */
export interface HandleActions extends Pick<TaskHandle, 'cancel' | 'delete'> {
  /** Records that the host has received the outcome. Durable when it returns. */
  deliver(ending: RemoteOutcome): void;
}

export class CallHandle implements TaskHandle {
  readonly id: string;
  taskId: string | undefined;
  isDone = false;
  /** Aborted when nobody waits any longer. */
  readonly detached: AbortController;
  readonly #actions: HandleActions;
  readonly #ended = Promise.withResolvers<RemoteOutcome>();
  readonly #queues = new Set<UpdateQueue>();
  #poller: TaskPoller | undefined;

  constructor(id: string, taskId: string | undefined, detached: AbortController, actions: HandleActions) {
    this.id = id;
    this.taskId = taskId;
    this.detached = detached;
    this.#actions = actions;
    this.#ended.promise.catch(() => {});
  }

  async result(): Promise<JsonObject> {
    const ending = await this.#ended.promise;
    this.#actions.deliver(ending);
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
    return this.#actions.cancel();
  }

  delete(): Promise<void> {
    return this.#actions.delete();
  }

  tree(): PolledTask | undefined {
    return this.#poller?.tree();
  }

  async results(): Promise<JsonObject[]> {
    const own = await this.result();
    const children = this.tree()?.children ?? [];
    return [...children.flatMap(resultsIn), own];
  }

  detach(): void {
    this.detached.abort();
  }

  // --- For TaskClient -------------------------------------------------------------------------------------

  emit(update: TaskUpdate): void {
    for (const queue of this.#queues) queue.push(update);
  }

  setPoller(taskId: string, poller: TaskPoller): void {
    this.taskId = taskId;
    this.#poller = poller;
  }

  /** Sets the outcome of the call. */
  end(ending: RemoteOutcome): this {
    this.isDone = true;
    this.#ended.resolve(ending);
    return this;
  }

  /** Ends the handle without an outcome: `result()` rejects, and `isDone` remains false. */
  fail(error: unknown): void {
    this.#ended.reject(error);
  }
}

/** The results of a tree, children before their parents. Skips tasks without a result. */
function resultsIn({ ending, children }: PolledTask): JsonObject[] {
  return [...children.flatMap(resultsIn), ...(ending?.kind === 'result' ? [ending.result] : [])];
}

// --- Queue of updates ---------------------------------------------------------------------------------------

/** The maximum number of queued updates for a slow reader. Then the oldest are dropped. */
const maxQueued = 1_000;

/** The updates that one reader has not read yet. */
class UpdateQueue implements AsyncIterableIterator<TaskUpdate> {
  readonly #queued: TaskUpdate[] = [];
  readonly #onReturn: () => void;
  #wakeup = Promise.withResolvers<void>();
  #end: { readonly error?: unknown } | undefined;

  constructor(onReturn: () => void) {
    this.#onReturn = onReturn;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<TaskUpdate>> {
    while (this.#queued.length === 0 && !this.#end) await this.#wakeup.promise;
    const value = this.#queued.shift();
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

  /** Adds an update. Progress replaces queued progress of the same task if nothing was added after it. */
  push(update: TaskUpdate): void {
    if (this.#end) return;
    const last = this.#queued.at(-1);
    if (update.type === 'progress' && last?.type === 'progress' && last.taskId === update.taskId)
      this.#queued.pop();
    this.#queued.push(update);
    if (this.#queued.length > maxQueued) this.#queued.shift();
    this.#wake();
  }

  /** Ends the iteration, with the error if there is one. */
  finish(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    this.#wake();
  }

  #wake(): void {
    this.#wakeup.resolve();
    this.#wakeup = Promise.withResolvers();
  }
}

// --- Live calls ---------------------------------------------------------------------------------------------

export interface LiveCall {
  readonly handle: CallHandle;
  /** Resolves when all work for the call has ended. */
  readonly settled: Promise<unknown>;
}

/** A controller that aborts when this signal aborts. Aborting the controller removes its listener from the signal. */
export function controllerFor(signal: AbortSignal | undefined): AbortController {
  const controller = new AbortController();
  if (signal?.aborted) controller.abort(signal.reason);
  signal?.addEventListener('abort', () => controller.abort(signal.reason), {
    once: true,
    signal: controller.signal,
  });
  return controller;
}
