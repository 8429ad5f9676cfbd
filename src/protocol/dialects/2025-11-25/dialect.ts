/** The tasks of revision 2025-11-25 as a dialect: what the client asks for, it gets; the outcome comes apart. */
import { HoldfastError } from '../../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../../model/json.ts';
import type { Task } from '../../../model/task.ts';
import type { Dialect, WireFault } from '../../dialect.ts';
import { CallFailed } from '../../errors.ts';
import { commonFault } from '../../faults.ts';
import { methodNotFound } from '../../json-rpc.ts';
import { tasksExtension } from '../2026-07-28/dialect.ts';
// A question looks the same in both revisions, and so do the capabilities to answer it.
import { answerable } from '../2026-07-28/input.ts';
import { revision } from './names.ts';
import { relatedTo, toTask } from './task.ts';

/** The tool must be called as a task, or must not; or the method is not there for this caller. */
export class NotOffered extends HoldfastError {}

export const tasksOf2025: Dialect = {
  revision,
  refusesLateCancel: true,
  sender: (capabilities) => ({
    takesTasks: false,
    answers: answerable(isJsonObject(capabilities) ? capabilities : {}),
  }),
  admits: () => true,
  tasksRequired: (what) =>
    new NotOffered(`${what} must be called as a task: put "task": {} into the params of the call.`),
  created: (tree, now) => ({ task: toTask(tree, now) as unknown as JsonObject }),
  shown: (tree, now) => toTask(tree, now) as unknown as JsonObject,
  news: (tree, now) => ({
    method: 'notifications/tasks/status',
    params: toTask(tree, now) as unknown as JsonObject,
  }),
  acknowledged: (tree, now) => toTask(tree, now) as unknown as JsonObject,
  // The SDK puts the questions to the client on the stream of the call, and comes back with the answers.
  inputRequired: tasksExtension.inputRequired,
  fault(error): WireFault {
    if (error instanceof NotOffered) return { code: methodNotFound, message: error.message };
    return commonFault(error);
  },
};

/** What `tasks/result` gives of a task that is done: exactly what the plain call would have given. */
export function payloadOf({ id, outcome }: Extract<Task, { phase: 'done' }>): JsonObject {
  if (outcome.kind !== 'result') throw new CallFailed(outcome);
  const { _meta, ...value } = outcome.value as JsonObject;
  return { ...value, _meta: relatedTo(id, isJsonObject(_meta) ? _meta : undefined) };
}
