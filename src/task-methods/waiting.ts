/** Waiting for a task on behalf of an open request. */
import { requestLeaseMs } from '../engine/rules/publication.ts';
import type { TaskService } from '../engine/task-service.ts';
import { Unavailable } from '../model/errors.ts';
import type { InputRequest } from '../model/input.ts';
import { openInputs, type Progress, type Task, type TaskId } from '../model/task.ts';
import type { CommittedChange } from '../ports/store.ts';
import type { StoreError } from '../ports/store-errors.ts';
import { runtime } from '../runtime/runtime.ts';

/** What a request waits for besides the end of its task. */
export interface Patience {
  /** The request was cancelled, or its connection closed. */
  readonly signal: AbortSignal;
  /** After so long the wait is over, whatever the task does. */
  readonly windowMs?: number;
  /** A subtask that is started ends the wait too. */
  readonly untilStart?: boolean;
  /** Questions that do not end the wait: they reach somebody in another way. */
  readonly passesOver?: (request: InputRequest) => boolean;
  readonly onProgress?: (progress: Progress) => void;
}

/** Work was done for the caller, and the store did not take what came of it. */
export class ResultNotRecorded extends Unavailable {
  readonly #error: StoreError;

  constructor(error: StoreError) {
    super('RESULT_NOT_RECORDED', error.message, { cause: error });
    this.#error = error;
  }

  get forCallers(): string {
    const [problem] = this.#error.forCallers.split('. ', 1);
    return `${problem}. Some of the work was done, and could not be recorded: check before you repeat the call.`;
  }
}

export type Waited = 'done' | 'asked' | 'started' | 'elapsed' | 'aborted';

/** Resolves with the first thing that happens. The task is kept alive as long as the wait lasts. */
export async function waitFor(requests: TaskService, id: TaskId, patience: Patience): Promise<Waited> {
  const { signal, windowMs, untilStart = false, passesOver, onProgress } = patience;
  const { promise, resolve, reject } = Promise.withResolvers<Waited>();
  // It may be thrown while nobody waits for it yet.
  promise.catch(() => {});
  const onAbort = () => resolve('aborted');
  // What was asked is not part of the news.
  const lookAgain = async () => {
    const seen = await look(requests, id, patience).catch(() => undefined);
    if (seen) resolve(seen);
  };
  const hear = ({ taskId, events }: CommittedChange) => {
    for (const event of events) {
      if (event.type === 'asked' && passesOver) void lookAgain();
      else if (event.type === 'asked') resolve('asked');
      else if (event.type === 'childStarted' && untilStart) resolve('started');
      else if (taskId !== id) continue;
      else if (event.type === 'finished' || event.type === 'removed') resolve('done');
      else if (event.type === 'reported' && event.progress) onProgress?.(event.progress);
    }
  };
  const unwatch = requests.watch(id, hear);
  const unlisten = requests.onUnrecorded(id, (error) => reject(new ResultNotRecorded(error)));
  const closeWindow =
    windowMs === undefined ? undefined : requests.schedule(windowMs, () => resolve('elapsed'));
  const lease = runtime.setInterval(() => void requests.keep(id).catch(() => {}), requestLeaseMs / 3);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) return 'aborted';
    const already = await look(requests, id, patience);
    return already ?? (await promise);
  } finally {
    unlisten();
    unwatch();
    closeWindow?.();
    runtime.clearInterval(lease);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Resolves when the task is done, or with the signal. Holds nothing but a listener. */
export async function untilDone(
  requests: TaskService,
  { id, rootId }: Pick<Task, 'id' | 'rootId'>,
  { signal, onProgress }: Pick<Patience, 'signal' | 'onProgress'>,
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

/** What happened before anybody listened. */
async function look(
  requests: TaskService,
  id: TaskId,
  { untilStart, passesOver = () => false }: Patience,
): Promise<Waited | undefined> {
  const tree = await requests.tree(id);
  if (!tree || tree.root.phase === 'done') return 'done';
  const open = [tree.root, ...tree.descendants].flatMap(openInputs);
  if (open.some(({ request }) => !passesOver(request))) return 'asked';
  return untilStart && tree.root.childCount > 0 ? 'started' : undefined;
}
