/**
 * `tasks/get`, `tasks/update` and `tasks/cancel`, and what a subscription sees: the same functions wherever a request
 * came in. Each asks who the caller is first; a task of another owner, one that was never published and one that does
 * not exist look the same.
 */
import type { Requests, TaskTree } from '../engine/requests.ts';
import { BadAnswer, TaskNotFound } from '../model/errors.ts';
import type { InputResponse } from '../model/input.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { TaskId } from '../model/task.ts';
import { questionsOf } from '../protocol/collapse.ts';
import { tasksRequired } from '../protocol/dialects/2026-07-28/dialect.ts';
import { InvalidParams } from '../protocol/errors.ts';
import type { Caller } from './caller.ts';

/** The params of a task method, as they came over the wire. */
export interface TaskParams {
  readonly taskId?: unknown;
  readonly inputResponses?: unknown;
}

export type TaskMethod = (requests: Requests, caller: Caller, params: TaskParams) => Promise<JsonObject>;

export const taskMethods: Readonly<Record<string, TaskMethod>> = {
  async 'tasks/get'(requests, caller, params) {
    const tree = await known(requests, caller, params, 'tasks/get');
    return caller.dialect.shown(tree, requests.now);
  },

  async 'tasks/update'(requests, caller, params) {
    const tree = await known(requests, caller, params, 'tasks/update');
    const { inputResponses } = params;
    if (!isJsonObject(inputResponses))
      throw new InvalidParams('tasks/update needs "inputResponses": an object with an answer for each key.');
    await answerQuestions(requests, tree, inputResponses);
    return caller.dialect.acknowledged();
  },

  async 'tasks/cancel'(requests, caller, params) {
    const { root } = await known(requests, caller, params, 'tasks/cancel');
    await requests.cancel(root.id, 'The client cancelled it.');
    return caller.dialect.acknowledged();
  },
};

/** The tree of a published task, if this caller may see it. */
export async function visible(requests: Requests, caller: Caller, id: TaskId): Promise<TaskTree | undefined> {
  const tree = await requests.tree(id);
  return tree && tree.root.owner === caller.owner && !tree.root.unpublished ? tree : undefined;
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

async function known(
  requests: Requests,
  caller: Caller,
  { taskId }: TaskParams,
  method: string,
): Promise<TaskTree> {
  if (!caller.sender.takesTasks) throw tasksRequired(method);
  if (typeof taskId !== 'string') throw new InvalidParams(`${method} needs "taskId": a string.`);
  const tree = await visible(requests, caller, taskId);
  if (!tree) throw new TaskNotFound(taskId);
  return tree;
}
