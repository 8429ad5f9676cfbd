/** The tasks of revision 2025-11-25 as a dialect: what the client asks for, it gets; the outcome comes apart. */

import type { TaskV1 } from '@modelcontextprotocol/ext-tasks/core/v1';
import type { InputKind } from '../../model/input.ts';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import { pollHintMs, type Task } from '../../model/task.ts';
import { reasonOf, tasksExtension } from '../2026-07-28/dialect.ts';
// A question looks the same in both revisions, and so do the capabilities to answer it.
import { answerable } from '../2026-07-28/input.ts';
import { linksOf, parentOf, questionsOf, type Tree, ttlOf, type WireLinks } from '../collapse.ts';
import type { Dialect } from '../dialect.ts';
import { CallFailed, commonFault, NotOffered } from '../errors.ts';
import { relatedTaskKey, revision } from './names.ts';

export const tasksOf2025: Dialect = {
  revision,
  methods: ['tasks/get', 'tasks/cancel', 'tasks/result', 'tasks/list'],
  refusesLateCancel: true,
  requestorNamesTasks: false,
  pushesQuestions: true,
  sender: (capabilities) => {
    const declared = isJsonObject(capabilities) ? capabilities : {};
    return { takesTasks: false, answers: answerable(declared), makesTasksOf: hosted(declared.tasks) };
  },
  admits: () => true,
  tasksRequired: (what) =>
    new NotOffered(`${what} must be called as a task: put "task": {} into the params of the call.`),
  created: (tree, now) => ({ task: shown(tree, now) }),
  shown,
  listed: shown,
  related: relatedTo,
  news: (tree, now) => ({ method: 'notifications/tasks/status', params: shown(tree, now) }),
  acknowledged: shown,
  // The SDK puts the questions to the client on the stream of the call, and comes back with the answers.
  inputRequired: tasksExtension.inputRequired,
  fault: commonFault,
};

/** Of which questions a client says that it can make tasks. */
function hosted(tasks: Json | undefined): InputKind[] {
  const requests = isJsonObject(tasks) && isJsonObject(tasks.requests) ? tasks.requests : {};
  const has = (category: string, request: string) =>
    isJsonObject(requests[category]) && isJsonObject((requests[category] as JsonObject)[request]);
  return [
    ...(has('elicitation', 'create') ? (['form', 'url'] as const) : []),
    ...(has('sampling', 'createMessage') ? (['sampling'] as const) : []),
  ];
}

/** What `tasks/result` gives of a task that is done: exactly what the plain call would have given. */
export function payloadOf(tree: Tree, related: Dialect['related']): JsonObject | undefined {
  const { root } = tree;
  if (root.phase !== 'done') return undefined;
  const { outcome } = root;
  if (outcome.kind !== 'result') throw new CallFailed(outcome);
  const { _meta, ...value } = outcome.value as JsonObject;
  return { ...value, _meta: related(tree, isJsonObject(_meta) ? _meta : undefined) };
}

// --- Task → wire: the flat task that every answer of this revision shows ------------------------------------

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

/** Every message about a task that does not name it otherwise names it here; what else is there stays. */
function relatedTo(tree: Tree, meta?: JsonObject): JsonObject {
  return { ...meta, [relatedTaskKey]: { taskId: tree.root.id, ...parentOf(tree) } };
}

function statusOf(tree: Tree): WireTask['status'] {
  const { root } = tree;
  if (root.phase !== 'done') return questionsOf(tree).length > 0 ? 'input_required' : 'working';
  const { outcome } = root;
  if (outcome.kind === 'cancelled') return 'cancelled';
  // An error result is a failure here, though `tasks/result` gives it like any other.
  return outcome.kind === 'result' && !outcome.isError ? 'completed' : 'failed';
}

function messageOf(task: Task): string | undefined {
  if (task.phase !== 'done') return task.statusMessage;
  const { outcome } = task;
  if (outcome.kind === 'result' && outcome.isError) return firstText(outcome.value as JsonObject);
  const untold = outcome.kind === 'cancelled' ? 'The task was cancelled.' : undefined;
  return reasonOf(outcome) ?? task.statusMessage ?? untold;
}

/** What went wrong stands in the result; the status repeats the beginning of it for those that only look. */
function firstText({ content }: JsonObject): string {
  const texts = (Array.isArray(content) ? content : []).map((block) => (block as JsonObject).text);
  const text = texts.find((one) => typeof one === 'string');
  return typeof text === 'string' && text !== '' ? text.slice(0, 500) : 'The tool reported an error.';
}
