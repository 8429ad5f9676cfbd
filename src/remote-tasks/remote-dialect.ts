/**
 * How a caller speaks of tasks in each dialect: which messages it sends, and where it finds what. A dialect decides
 * nothing; `pursuit.ts` does.
 */

import { revision as revision2025 } from '../dialects/2025-11-25/names.ts';
import { revision as revision2026 } from '../dialects/2026-07-28/names.ts';
import { relatedTaskKey, revision as revision1686 } from '../dialects/sep-1686/names.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { MalformedAnswer } from './errors.ts';
import { type Message, type RemoteTask, readQuestions, readTask } from './remote-task.ts';

/** What a look at a task shows: the task, or only what it asks (SEP-2339). */
export type Seen = RemoteTask | { readonly questions: Readonly<Record<string, Message>> };

export interface RemoteDialect {
  readonly name: string;
  /** A look without any obligation. */
  get(taskId: string): Message;
  /** A look, on the way to the end, if that is another. */
  poll?(taskId: string): Message;
  read(answer: JsonObject): Seen;
  /** Sends answers, where they are not given to requests of the peer; what comes back may be the task. */
  answer?(taskId: string, responses: JsonObject): Message;
  /** Asks for the outcome, where it does not come with the task. */
  result?(taskId: string): Message;
  /** … and may wait for it, questions on its stream meanwhile. */
  readonly resultWaits?: true;
  cancel?(taskId: string): Message;
  delete?(taskId: string): Message;
  /** Asks for a page of tasks. */
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

/** 2025-11-25 with SEP-2339: one method for the whole conversation. */
export const tasksContinued: RemoteDialect = {
  ...common,
  name: `${revision2025} sep-2339`,
  poll: (taskId) => about('tasks/continue', taskId),
  // The draft shows questions without the task; its reviewers wanted both at once. Either is understood.
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

/** SEP-1686. A task is cancelled by cancelling its request, which its pending request does. */
export const originalTasks: RemoteDialect = {
  name: revision1686,
  get: (taskId) => related('tasks/get', taskId),
  read: readTask,
  result: (taskId) => related('tasks/result', taskId),
  delete: (taskId) => related('tasks/delete', taskId),
  // Nothing else says in which dialect a list is asked for.
  list: (params) => listed({ ...params, _meta: { [relatedTaskKey]: {} } }),
};

const all = [tasksExtension, tasksOf2025, tasksContinued, originalTasks];

export function remoteDialect(name: string): RemoteDialect | undefined {
  return all.find((dialect) => dialect.name === name);
}
