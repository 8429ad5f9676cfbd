/** The tasks of revision 2025-11-25: clients ask for a task, and fetch its result with `tasks/result`. */

import type { TaskV1 } from '@modelcontextprotocol/ext-tasks/core/v1';
import type { InputKind } from '../../model/input.ts';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import { pollHintMs, type Task } from '../../model/task.ts';
import { reasonOf, tasksExtension } from '../2026-07-28/dialect.ts';
// Questions and the capabilities to answer them are the same in both revisions.
import { answerable } from '../2026-07-28/input.ts';
import { linksOf, parentOf, questionsOf, type Tree, ttlOf, type WireLinks } from '../collapse.ts';
import type { Dialect } from '../dialect.ts';
import { CallFailed, commonFault, NotOffered } from '../errors.ts';
import { relatedTaskKey, revision } from './names.ts';

export const tasksOf2025: Dialect = {
  revision,
  methods: ['tasks/get', 'tasks/cancel', 'tasks/result', 'tasks/list'],
  refusesLateCancel: true,
  callerNamesTasks: false,
  pushesQuestions: true,
  sender: (capabilities) => {
    const declared = isJsonObject(capabilities) ? capabilities : {};
    return { takesTasks: false, answers: answerable(declared), makesTasksOf: taskKinds(declared.tasks) };
  },
  admits: () => true,
  tasksRequired: (what) =>
    new NotOffered(`${what} must be called as a task: add "task": {} to the params of the call.`),
  created: (tree, now) => ({ task: shown(tree, now) }),
  shown,
  listed: shown,
  related: relatedTo,
  notification: (tree, now) => ({ method: 'notifications/tasks/status', params: shown(tree, now) }),
  acknowledged: shown,
  // The SDK sends these questions to the client on the stream of the call, and then calls our handler with the answers.
  inputRequired: tasksExtension.inputRequired,
  fault: commonFault,
};

/** The kinds of questions for which the client declares that it can create tasks. */
function taskKinds(tasks: Json | undefined): InputKind[] {
  const requests = isJsonObject(tasks) && isJsonObject(tasks.requests) ? tasks.requests : {};
  const has = (category: string, request: string) =>
    isJsonObject(requests[category]) && isJsonObject((requests[category] as JsonObject)[request]);
  return [
    ...(has('elicitation', 'create') ? (['form', 'url'] as const) : []),
    ...(has('sampling', 'createMessage') ? (['sampling'] as const) : []),
  ];
}

/**
 * The response to `tasks/result`: what a plain call would have returned. Undefined while the task is live. Throws
 * `CallFailed` if the task ended without a result.
 */
export function payloadOf(tree: Tree, related: Dialect['related']): JsonObject | undefined {
  const { root } = tree;
  if (root.phase !== 'done') return undefined;
  const { outcome } = root;
  if (outcome.kind !== 'result') throw new CallFailed(outcome);
  const { _meta, ...value } = outcome.value as JsonObject;
  return { ...value, _meta: related(tree, isJsonObject(_meta) ? _meta : undefined) };
}

// --- Task → wire: the flat task in every response of this revision ------------------------------------------

export type WireTask = TaskV1 & WireLinks;

export function toTask(tree: Tree, now: number): WireTask {
  const { root } = tree;
  const statusMessage = messageOf(root);
  return {
    taskId: root.id,
    status: statusOf(tree),
    createdAt: new Date(root.createdAt).toISOString(),
    lastUpdatedAt: new Date(root.updatedAt).toISOString(),
    ttl: ttlOf(tree, now),
    pollInterval: pollHintMs(root, now),
    ...(statusMessage !== undefined && { statusMessage }),
    ...linksOf(tree),
  };
}

function shown(tree: Tree, now: number): JsonObject {
  return toTask(tree, now) as unknown as JsonObject;
}

/** Adds the id of the task to the `_meta` of a message that does not contain it otherwise. */
function relatedTo(tree: Tree, meta?: JsonObject): JsonObject {
  return { ...meta, [relatedTaskKey]: { taskId: tree.root.id, ...parentOf(tree) } };
}

function statusOf(tree: Tree): WireTask['status'] {
  const { root } = tree;
  if (root.phase !== 'done') return questionsOf(tree).length > 0 ? 'input_required' : 'working';
  const { outcome } = root;
  if (outcome.kind === 'cancelled') return 'cancelled';
  // An error result means `failed` in this revision, although `tasks/result` returns it like any other result.
  return outcome.kind === 'result' && !outcome.isError ? 'completed' : 'failed';
}

function messageOf(task: Task): string | undefined {
  if (task.phase !== 'done') return task.statusMessage;
  const { outcome } = task;
  if (outcome.kind === 'result' && outcome.isError) return firstText(outcome.value as JsonObject);
  const fallback = outcome.kind === 'cancelled' ? 'The task was cancelled.' : undefined;
  return reasonOf(outcome) ?? task.statusMessage ?? fallback;
}

/** The first 500 characters of the error text in the result, for clients that only read the status. */
function firstText({ content }: JsonObject): string {
  const texts = (Array.isArray(content) ? content : []).map((block) => (block as JsonObject).text);
  const text = texts.find((one) => typeof one === 'string');
  return typeof text === 'string' && text !== '' ? text.slice(0, 500) : 'The tool reported an error.';
}
