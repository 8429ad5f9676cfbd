/** The caller's side of each dialect: the requests for tasks, and how to read the responses. */

import { revision as revision2025 } from '../dialects/2025-11-25/names.ts';
import { revision as revision2026 } from '../dialects/2026-07-28/names.ts';
import { relatedTaskKey, revision as revision1686 } from '../dialects/sep-1686/names.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { MalformedAnswer } from './errors.ts';
import { type Message, type RemoteTask, readQuestions, readTask } from './remote-task.ts';

/** The response to a poll: the task, or only its open questions (SEP-2339). */
export type PollResult = RemoteTask | { readonly questions: Readonly<Record<string, Message>> };

export interface RemoteDialect {
  readonly name: string;
  /** Reads a task. */
  get(taskId: string): Message;
  /** Reads a task while following it. Absent if that is the same as `get`. */
  poll?(taskId: string): Message;
  read(answer: JsonObject): PollResult;
  /** Sends answers. Absent if the peer's questions are requests, so that answers are responses. */
  answer?(taskId: string, responses: JsonObject): Message;
  /** Asks for the outcome. Absent if the task contains it. */
  result?(taskId: string): Message;
  /** The `result` request waits for the outcome, and its stream carries questions in the meantime. */
  readonly resultWaits?: true;
  cancel?(taskId: string): Message;
  delete?(taskId: string): Message;
  /** Lists a page of tasks. */
  list?(params: JsonObject): Message;
}

function about(method: string, taskId: string): Message {
  return { method, params: { taskId } };
}

function listed(params: JsonObject): Message {
  return { method: 'tasks/list', params };
}

const common = {
  get: (taskId: string) => about('tasks/get', taskId),
  read: readTask,
  cancel: (taskId: string) => about('tasks/cancel', taskId),
};

export const tasksExtension: RemoteDialect = {
  ...common,
  name: revision2026,
  answer: (taskId, inputResponses) => ({ method: 'tasks/update', params: { taskId, inputResponses } }),
};

export const tasksOf2025: RemoteDialect = {
  ...common,
  name: revision2025,
  result: (taskId) => about('tasks/result', taskId),
  resultWaits: true,
  list: listed,
};

/** 2025-11-25 with SEP-2339: `tasks/continue` for polls, questions and answers. */
export const tasksContinued: RemoteDialect = {
  ...common,
  name: `${revision2025} sep-2339`,
  poll: (taskId) => about('tasks/continue', taskId),
  // The draft returns only the questions; its reviewers wanted the task with its questions. Both are accepted.
  read: (answer) => ('taskId' in answer ? readTask(answer) : { questions: bareQuestions(answer) }),
  answer: (taskId, inputResponses) => ({ method: 'tasks/continue', params: { taskId, inputResponses } }),
  list: listed,
};

function bareQuestions({ inputRequests }: JsonObject) {
  if (!isJsonObject(inputRequests))
    throw new MalformedAnswer('it answered tasks/continue with neither a task nor questions');
  return readQuestions(inputRequests);
}

function related(method: string, taskId: string): Message {
  return { method, params: { taskId, _meta: { [relatedTaskKey]: { taskId } } } };
}

/**
 * SEP-1686. There is no request that cancels a task: the caller cancels the pending request that created it instead.
 */
export const originalTasks: RemoteDialect = {
  name: revision1686,
  get: (taskId) => related('tasks/get', taskId),
  read: readTask,
  result: (taskId) => related('tasks/result', taskId),
  delete: (taskId) => related('tasks/delete', taskId),
  // Nothing else in the request identifies the dialect.
  list: (params) => listed({ ...params, _meta: { [relatedTaskKey]: {} } }),
};

const all = [tasksExtension, tasksOf2025, tasksContinued, originalTasks];

export function remoteDialect(name: string): RemoteDialect | undefined {
  return all.find((dialect) => dialect.name === name);
}
