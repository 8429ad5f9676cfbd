/** The tasks of revision 2025-11-25 as a dialect: what the client asks for, it gets; the outcome comes apart. */
import type { InputKind } from '../../../model/input.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../model/json.ts';
import type { Tree } from '../../collapse.ts';
import type { Dialect } from '../../dialect.ts';
import { CallFailed, NotOffered } from '../../errors.ts';
import { commonFault } from '../../faults.ts';
import { tasksExtension } from '../2026-07-28/dialect.ts';
// A question looks the same in both revisions, and so do the capabilities to answer it.
import { answerable } from '../2026-07-28/input.ts';
import { revision } from './names.ts';
import { relatedTo, toTask } from './task.ts';

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
  created: (tree, now) => ({ task: toTask(tree, now) as unknown as JsonObject }),
  shown: (tree, now) => toTask(tree, now) as unknown as JsonObject,
  listed: (tree, now) => toTask(tree, now) as unknown as JsonObject,
  related: relatedTo,
  news: (tree, now) => ({
    method: 'notifications/tasks/status',
    params: toTask(tree, now) as unknown as JsonObject,
  }),
  acknowledged: (tree, now) => toTask(tree, now) as unknown as JsonObject,
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
