/** Waits for a task on behalf of an open request. */
import { requestLeaseMs } from '../engine/rules/publication.ts';
import type { TaskService } from '../engine/task-service.ts';
import { Unavailable } from '../model/errors.ts';
import type { InputRequest } from '../model/input.ts';
import { openInputs, type Progress, type Task, type TaskId } from '../model/task.ts';
import type { CommittedChange } from '../ports/store.ts';
import type { StoreError } from '../ports/store-errors.ts';
import { runtime } from '../runtime/runtime.ts';

/** What ends a wait, apart from the end of the task and questions. */
export interface WaitOptions {
  /** Aborted when the request is cancelled or its connection closes. Ends the wait. */
  readonly signal: AbortSignal;
  /** The maximum length of the wait. Undefined for no maximum. */
  readonly windowMs?: number;
  /** If true, the start of a subtask ends the wait, too. */
  readonly untilStart?: boolean;
  /** Returns true for a question that does not end the wait, because it reaches the client in another way. */
  readonly ignores?: (request: InputRequest) => boolean;
  /** Called when the task itself, not a subtask, reports progress. */
  readonly onProgress?: (progress: Progress) => void;
}

/** The task did some work, but the store could not record the result, so the request fails. */
export class ResultNotRecorded extends Unavailable {
  readonly #error: StoreError;

  constructor(error: StoreError) {
    super('RESULT_NOT_RECORDED', error.message, { cause: error });
    this.#error = error;
  }

  get forCallers(): string {
    const [problem] = this.#error.forCallers.split('. ', 1);
    return `${problem}. Some of the work was done but could not be recorded: check it before you repeat the call.`;
  }
}

/**
 * Why a wait ended:
 * - `done`: the task finished or was removed
 * - `asked`: a task of the tree has an open question
 * - `started`: the task started a subtask (only with `untilStart`)
 * - `elapsed`: `windowMs` passed
 * - `aborted`: the signal fired
 */
export type Waited = 'done' | 'asked' | 'started' | 'elapsed' | 'aborted';

/**
 * Waits for a root task and resolves with the first event that ends the wait. During the wait it renews the time for
 * which the task is kept for its request. Rejects with `ResultNotRecorded`.
 */
export async function waitFor(requests: TaskService, id: TaskId, options: WaitOptions): Promise<Waited> {
  const { signal, windowMs, untilStart = false, ignores, onProgress } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Waited>();
  // The promise may reject before it is awaited.
  promise.catch(() => {});
  const onAbort = () => resolve('aborted');
  // The event does not contain the question that `ignores` needs, so read the tasks.
  const checkAgain = async () => {
    const found = await check(requests, id, options).catch(() => undefined);
    if (found) resolve(found);
  };
  const onChange = ({ taskId, events }: CommittedChange) => {
    for (const event of events) {
      if (event.type === 'asked' && ignores) void checkAgain();
      else if (event.type === 'asked') resolve('asked');
      else if (event.type === 'childStarted' && untilStart) resolve('started');
      else if (taskId !== id) continue;
      else if (event.type === 'finished' || event.type === 'removed') resolve('done');
      else if (event.type === 'reported' && event.progress) onProgress?.(event.progress);
    }
  };
  const unwatch = requests.watch(id, onChange);
  const unlisten = requests.onUnrecorded(id, (error) => reject(new ResultNotRecorded(error)));
  const closeWindow =
    windowMs === undefined ? undefined : requests.schedule(windowMs, () => resolve('elapsed'));
  const lease = runtime.setInterval(() => void requests.keep(id).catch(() => {}), requestLeaseMs / 3);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) return 'aborted';
    const already = await check(requests, id, options);
    return already ?? (await promise);
  } finally {
    unlisten();
    unwatch();
    closeWindow?.();
    runtime.clearInterval(lease);
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Resolves when the task, which may be a subtask, is done or removed, or when the signal fires. Unlike `waitFor`, it
 * does not renew the time for which the task is kept for a request.
 */
export async function untilDone(
  requests: TaskService,
  { id, rootId }: Pick<Task, 'id' | 'rootId'>,
  { signal, onProgress }: Pick<WaitOptions, 'signal' | 'onProgress'>,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  promise.catch(() => {});
  const unwatch = requests.watch(rootId, ({ taskId, events }) => {
    if (taskId !== id) return;
    for (const event of events)
      if (event.type === 'finished' || event.type === 'removed') resolve();
      else if (event.type === 'reported' && event.progress) onProgress?.(event.progress);
  });
  const unlisten = requests.onUnrecorded(rootId, (error) => reject(new ResultNotRecorded(error)));
  const onAbort = () => resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const task = await requests.task(id);
    if (signal.aborted || !task || task.phase === 'done') return;
    await promise;
  } finally {
    unlisten();
    unwatch();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Finds an event from before the watch started by reading the tree. Undefined if nothing ends the wait yet. */
async function check(
  requests: TaskService,
  id: TaskId,
  { untilStart, ignores = () => false }: WaitOptions,
): Promise<Waited | undefined> {
  const tree = await requests.tree(id);
  if (!tree || tree.root.phase === 'done') return 'done';
  const open = [tree.root, ...tree.descendants].flatMap(openInputs);
  if (open.some(({ request }) => !ignores(request))) return 'asked';
  return untilStart && tree.root.childCount > 0 ? 'started' : undefined;
}
