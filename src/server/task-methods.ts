/**
 * The methods about tasks, and what a subscription sees: the same functions wherever a request came in and whichever
 * dialect it speaks. Each asks who the caller is first; a task of another owner, one that was never published and one
 * that does not exist look the same.
 */
import type { Requests, TaskTree } from '../engine/requests.ts';
import { BadAnswer, TaskNotFound } from '../model/errors.ts';
import type { InputResponse } from '../model/input.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { TaskId } from '../model/task.ts';
import { questionsOf } from '../protocol/collapse.ts';
import { tasksOf2025 } from '../protocol/dialects/2025-11-25/dialect.ts';
import { CallFailed, InvalidParams } from '../protocol/errors.ts';
import type { Caller } from './caller.ts';

/** The params of a task method, as they came over the wire. */
export interface TaskParams {
  readonly taskId?: unknown;
  readonly inputResponses?: unknown;
  readonly cursor?: unknown;
}

export type TaskMethod = (requests: Requests, caller: Caller, params: TaskParams) => Promise<JsonObject>;

/** Those that every dialect has. */
export const taskMethods: Readonly<Record<string, TaskMethod>> = {
  async 'tasks/get'(requests, caller, params) {
    return shown(await lookAt(requests, caller, params), requests, caller);
  },

  async 'tasks/cancel'(requests, caller, params) {
    const { root } = await known(requests, caller, params, 'tasks/cancel');
    const isCancelled = await requests.cancel(root.id, 'The client cancelled it.');
    const tree = (await requests.tree(root.id)) ?? { root, descendants: [] };
    const { dialect } = caller;
    if (!isCancelled && dialect.refusesLateCancel) {
      const { status } = dialect.shown(tree, requests.now);
      throw new InvalidParams(`Task ${root.id} cannot be cancelled: it is already ${status}.`);
    }
    return dialect.acknowledged(tree, requests.now);
  },
};

/** Those that only dialects have which do not push their questions. */
export const updateMethods: Readonly<Record<string, TaskMethod>> = {
  async 'tasks/update'(requests, caller, params) {
    const tree = await known(requests, caller, params, 'tasks/update');
    const { inputResponses } = params;
    if (!isJsonObject(inputResponses))
      throw new InvalidParams('tasks/update needs "inputResponses": an object with an answer for each key.');
    await answerQuestions(requests, tree, inputResponses);
    return caller.dialect.acknowledged(tree, requests.now);
  },
};

/** What `tasks/get` shows. */
export async function lookAt(requests: Requests, caller: Caller, params: TaskParams): Promise<TaskTree> {
  const tree = await known(requests, caller, params, 'tasks/get');
  const begun = tree.root.phase === 'running' ? requests.headStart(tree.root.id) : undefined;
  if (!begun) return tree;
  await begun;
  return known(requests, caller, params, 'tasks/get');
}

/** How it shows it. Of a done task that depends on nothing but the task, and on what its caller knows of tasks. */
export function shown(tree: TaskTree, { now }: Requests, caller: Caller): JsonObject {
  return isOlderCaller(caller) ? olderView(tree, now) : caller.dialect.shown(tree, now);
}

/** The tree of a published task, if this caller may see it. */
export async function visible(requests: Requests, caller: Caller, id: TaskId): Promise<TaskTree | undefined> {
  const tree = await requests.tree(id);
  return tree && isVisible(tree, caller) ? tree : undefined;
}

function isVisible({ root }: TaskTree, { owner }: Caller): boolean {
  return root.owner === owner && !root.unpublished;
}

/** Applies answers by their keys on the root. Those to questions that are not open are passed over. */
export async function answerQuestions(
  requests: Requests,
  tree: TaskTree,
  responses: JsonObject,
): Promise<void> {
  const byTask = new Map<TaskId, Record<string, InputResponse>>();
  for (const { key, taskId, ownKey } of questionsOf(tree)) {
    if (!Object.hasOwn(responses, key)) continue;
    const response = responses[key];
    if (!isJsonObject(response)) throw new BadAnswer(key, 'it must be an object');
    byTask.set(taskId, { ...byTask.get(taskId), [ownKey]: response });
  }
  if (byTask.size > 0) await requests.answer(tree.root.id, byTask);
}

export async function known(
  requests: Requests,
  caller: Caller,
  { taskId }: TaskParams,
  method: string,
): Promise<TaskTree> {
  const { dialect, sender } = caller;
  const isOlder = isOlderCaller(caller) && method !== 'tasks/update';
  if (!dialect.admits(sender) && !isOlder) throw dialect.tasksRequired(method);
  if (typeof taskId !== 'string') throw new InvalidParams(`${method} needs "taskId": a string.`);
  const found = await requests.tree(taskId);
  const tree = found && isVisible(found, caller) ? found : undefined;
  // Whoever knows only the older tasks may still come back to those, and to no others.
  if (isOlder && tree?.root.origin.dialect !== tasksOf2025.revision) throw dialect.tasksRequired(method);
  if (!tree) throw new TaskNotFound(taskId);
  return tree;
}

export function isOlderCaller({ dialect, sender }: Caller): boolean {
  return !dialect.admits(sender) && sender.hasOlderTasks === true;
}

/** With the outcome in it, because a caller of the later revision has no `tasks/result` to ask for it. */
function olderView(tree: TaskTree, now: number): JsonObject {
  const shown = tasksOf2025.shown(tree, now);
  const { root } = tree;
  if (root.phase !== 'done' || root.outcome.kind === 'cancelled') return shown;
  const { outcome } = root;
  if (outcome.kind === 'result') return { ...shown, result: outcome.value };
  return { ...shown, error: tasksOf2025.fault(new CallFailed(outcome)) as unknown as JsonObject };
}
