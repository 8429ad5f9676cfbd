/**
 * SEP-1686, the original proposal of tasks: the caller chooses the id of the task. A notification announces that the
 * task was created. The request itself is answered with its result, as if there were no task.
 */
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import { keepUntil } from '../../model/retention.ts';
import { pollHintMs, type Task } from '../../model/task.ts';
import { payloadOf, tasksOf2025, type WireTask } from '../2025-11-25/dialect.ts';
import { questionsOf, type Tree } from '../collapse.ts';
import type { Dialect } from '../dialect.ts';
import { InvalidParams, NotOffered } from '../errors.ts';
import { createdNotification, relatedTaskKey, revision, taskKey } from './names.ts';

export const originalTasks: Dialect = {
  ...tasksOf2025,
  revision,
  methods: ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/delete'],
  refusesLateCancel: false,
  callerNamesTasks: true,
  tasksRequired: (what) =>
    new NotOffered(
      `${what} must be called as a task: add "${taskKey}": {"taskId": "…"} to the _meta of the call.`,
    ),
  // These are the params of the notification. There is no response with a task: the request waits for its result.
  created: (tree) => createdMessage(tree).params,
  shown: (tree, now) => ({ ...toTask(tree, now), _meta: relatedTo(tree) }),
  listed: toTask,
  acknowledged: (tree) => ({ _meta: relatedTo(tree) }),
  notification: () => undefined,
  related: relatedTo,
};

export function createdMessage(tree: Tree): { readonly method: string; readonly params: JsonObject } {
  return { method: createdNotification, params: { _meta: relatedTo(tree) } };
}

/** The response to `tasks/result`. It does not wait: throws `InvalidParams` if the task is not completed. */
export function resultOf(tree: Tree): JsonObject {
  const status = statusOf(tree);
  const payload = status === 'completed' ? payloadOf(tree, relatedTo) : undefined;
  if (payload) return payload;
  throw new InvalidParams(`Cannot retrieve result: Task status is '${status}', not 'completed'.`);
}

/** The task that a request asks for in its `_meta`. */
export interface RequestedTask {
  readonly taskId: string;
  /** How long the task is kept after its end, in milliseconds. */
  readonly keepAlive?: number | null;
}

/** In characters. */
const maxTaskIdLength = 512;

/** Reads and checks the task that a request asks for. Its `_meta` must contain `taskKey`. */
export function requestedTaskOf(meta: JsonObject, params: JsonObject): RequestedTask {
  if (params.task !== undefined)
    throw new InvalidParams(
      `A request can ask for a task with "task" in its params or with "${taskKey}" in its _meta, but not with both.`,
    );
  const requested = meta[taskKey];
  const { taskId, keepAlive } = isJsonObject(requested) ? requested : {};
  if (typeof taskId !== 'string' || taskId === '' || taskId.length > maxTaskIdLength)
    throw new InvalidParams(
      `_meta["${taskKey}"] needs "taskId": a string of 1 to ${maxTaskIdLength} characters that you have not used before.`,
    );
  if (keepAlive === undefined) return { taskId };
  if (keepAlive !== null && (typeof keepAlive !== 'number' || !(keepAlive >= 0)))
    throw new InvalidParams(
      `_meta["${taskKey}"].keepAlive must be a number of milliseconds, or null for as long as possible.`,
    );
  // All other times are whole milliseconds, and other revisions report them as such.
  return { taskId, keepAlive: keepAlive === null ? null : Math.ceil(keepAlive) };
}

/** The id, chosen by the caller, of the task that a message belongs to. Undefined if it belongs to none. */
export function nameIn(meta: unknown): string | undefined {
  const related = isJsonObject(meta) ? meta[relatedTaskKey] : undefined;
  const taskId = isJsonObject(related) ? related.taskId : undefined;
  return typeof taskId === 'string' ? taskId : undefined;
}

/** True if a request asks for a task of SEP-1686 or refers to one. */
export function isMarked(method: string, meta: unknown): boolean {
  if (method === 'tasks/delete') return true;
  if (!isJsonObject(meta)) return false;
  return method.startsWith('tasks/') ? meta[relatedTaskKey] !== undefined : meta[taskKey] !== undefined;
}

// --- Task → wire: a flat task without times, under the id that its caller chose -----------------------------

/** `unknown`: the outcome can no longer be determined. */
type Status = WireTask['status'] | 'submitted' | 'unknown';

function toTask(tree: Tree, now: number): JsonObject {
  const { root } = tree;
  const error = errorOf(root);
  return {
    taskId: nameOf(root),
    status: statusOf(tree),
    // How long the task is kept after its end, in milliseconds; null without limit.
    keepAlive: keepAliveOf(root),
    pollFrequency: pollHintMs(root, now),
    ...(error !== undefined && { error }),
  };
}

/** The id that the caller chose. A task that was created through another dialect has only our id. */
function nameOf({ id, origin }: Task): string {
  return origin.named?.taskId ?? id;
}

function relatedTo({ root }: Tree, meta?: JsonObject): JsonObject {
  return { ...meta, ...relatedToName(nameOf(root)) };
}

export function relatedToName(taskId: string): JsonObject {
  return { [relatedTaskKey]: { taskId } };
}

function statusOf(tree: Tree): Status {
  const { root } = tree;
  if (root.phase === 'done') return endStatus[root.outcome.kind];
  if (questionsOf(tree).length > 0) return 'input_required';
  return root.phase === 'queued' ? 'submitted' : 'working';
}

/** A task with an error result is `completed`: `failed` means that there is no result. */
const endStatus: Record<Outcome['kind'], Status> = {
  result: 'completed',
  failure: 'failed',
  cancelled: 'cancelled',
  lost: 'unknown',
};

function errorOf(task: Task): string | undefined {
  if (task.phase !== 'done') return undefined;
  const { outcome } = task;
  return outcome.kind === 'failure' || outcome.kind === 'lost' ? outcome.message : undefined;
}

/**
 * How long the task is kept after its end. Tasks of other dialects have a ttl that is counted from creation: for them
 * this is the part of it after their end, and the guaranteed minimum while they are live.
 */
function keepAliveOf(task: Task): number | null {
  const { retention, createdAt } = task;
  if (retention.ms === null || retention.from === 'finish') return retention.ms;
  if (task.phase !== 'done') return retention.floorMs;
  return keepUntil(retention, createdAt, task.finishedAt)! - task.finishedAt;
}
