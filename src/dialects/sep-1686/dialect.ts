/**
 * SEP-1686, the original proposal: the requestor makes up the id, a notification says that the task is there, and the
 * request itself is answered as if there were no task.
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
  requestorNamesTasks: true,
  tasksRequired: (what) =>
    new NotOffered(
      `${what} must be called as a task: put {"taskId": "…"} into the metadata of the call, under "${taskKey}".`,
    ),
  // The request is answered with its result; that there is a task is said by a notification.
  created: (tree) => createdMessage(tree).params,
  shown: (tree, now) => ({ ...toTask(tree, now), _meta: relatedTo(tree) }),
  listed: toTask,
  acknowledged: (tree) => ({ _meta: relatedTo(tree) }),
  news: () => undefined,
  related: relatedTo,
};

export function createdMessage(tree: Tree): { readonly method: string; readonly params: JsonObject } {
  return { method: createdNotification, params: { _meta: relatedTo(tree) } };
}

/** What `tasks/result` gives: of tasks that are not completed it gives nothing, and does not wait. */
export function resultOf(tree: Tree): JsonObject {
  const status = statusOf(tree);
  const payload = status === 'completed' ? payloadOf(tree, relatedTo) : undefined;
  if (payload) return payload;
  throw new InvalidParams(`Cannot retrieve result: Task status is '${status}', not 'completed'.`);
}

/** The wish for a task, as a requestor puts it into the metadata of its request. */
export interface RequestedTask {
  readonly taskId: string;
  /** In milliseconds after the end. */
  readonly keepAlive?: number | null;
}

const longestTaskId = 512;

export function requestedTaskOf(meta: JsonObject, params: JsonObject): RequestedTask {
  if (params.task !== undefined)
    throw new InvalidParams(
      `A request asks for a task in one way: with "task" in its params, or with "${taskKey}" in its metadata.`,
    );
  const wish = meta[taskKey];
  const { taskId, keepAlive } = isJsonObject(wish) ? wish : {};
  if (typeof taskId !== 'string' || taskId === '' || taskId.length > longestTaskId)
    throw new InvalidParams(
      `_meta["${taskKey}"] needs "taskId": a string of 1 to ${longestTaskId} characters that you have not used before.`,
    );
  if (keepAlive === undefined) return { taskId };
  if (keepAlive !== null && (typeof keepAlive !== 'number' || !(keepAlive >= 0)))
    throw new InvalidParams(
      `_meta["${taskKey}"].keepAlive must be a number of milliseconds, or null for as long as possible.`,
    );
  // Times are whole milliseconds everywhere else, and other revisions show them so.
  return { taskId, keepAlive: keepAlive === null ? null : Math.ceil(keepAlive) };
}

/** The name of the task that a message says it is about. */
export function nameIn(meta: unknown): string | undefined {
  const related = isJsonObject(meta) ? meta[relatedTaskKey] : undefined;
  const taskId = isJsonObject(related) ? related.taskId : undefined;
  return typeof taskId === 'string' ? taskId : undefined;
}

/** Does a request ask for such a task, or ask about one? */
export function isMarked(method: string, meta: unknown): boolean {
  if (method === 'tasks/delete') return true;
  if (!isJsonObject(meta)) return false;
  return method.startsWith('tasks/') ? meta[relatedTaskKey] !== undefined : meta[taskKey] !== undefined;
}

// --- Task → wire: a flat task without times, under the name that its requestor gave it ----------------------

/** `unknown`: what became of it can no longer be found out. */
type Status = WireTask['status'] | 'submitted' | 'unknown';

function toTask(tree: Tree, now: number): JsonObject {
  const { root } = tree;
  const error = errorOf(root);
  return {
    taskId: nameOf(root),
    status: statusOf(tree),
    // How long it is kept after its end; null without limit.
    keepAlive: keepAliveOf(root),
    pollFrequency: pollHintMs(root, now),
    ...(error !== undefined && { error }),
  };
}

/** Tasks that came another way have no other name than their id. */
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

/** An error result is a result: `failed` is said of the task, not of what the request was about. */
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

/** Other dialects count from creation: of their tasks it is what is left of that after the end. */
function keepAliveOf(task: Task): number | null {
  const { retention, createdAt } = task;
  if (retention.ms === null || retention.from === 'finish') return retention.ms;
  if (task.phase !== 'done') return retention.floorMs;
  return keepUntil(retention, createdAt, task.finishedAt)! - task.finishedAt;
}
