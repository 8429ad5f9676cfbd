/** The Tasks extension of 2026-07-28 (SEP-2663) as a dialect. */
import { isJsonObject, type Json, type JsonObject } from '../../../model/json.ts';
import type { Dialect, Sender, WireFault } from '../../dialect.ts';
import { CallFailed, MissingCapability, OverLimit } from '../../errors.ts';
import { commonFault, overLimit } from '../../faults.ts';
import { subtasksExtension } from '../../links.ts';
import { answerable, toInputRequest } from './input.ts';
import { extension, limitExceeded, missingCapability, revision } from './names.ts';
import { createResult, detailed, errorOf, getResult, meta } from './task.ts';

export const tasksExtension: Dialect = {
  revision,
  methods: ['tasks/get', 'tasks/cancel', 'tasks/update'],
  refusesLateCancel: false,
  requestorNamesTasks: false,
  pushesQuestions: false,

  sender(capabilities): Sender {
    const declared = isJsonObject(capabilities) ? capabilities : {};
    const extensions = isJsonObject(declared.extensions) ? declared.extensions : {};
    const takesTasks = isJsonObject(extensions[extension]);
    return {
      takesTasks,
      answers: answerable(declared),
      ...(isJsonObject(extensions[subtasksExtension]) && { knowsSubtasks: true }),
      ...(!takesTasks && isJsonObject(declared.tasks) && { hasOlderTasks: true }),
    };
  },

  admits: ({ takesTasks }) => takesTasks,
  tasksRequired: (what) =>
    new MissingCapability(`${what} needs a client with the extension ${extension}.`, {
      extensions: { [extension]: {} },
    }),

  created: (tree, now) => createResult(tree, now) as unknown as JsonObject,
  shown: (tree, now) => getResult(tree, now) as unknown as JsonObject,
  listed: (tree, now) => getResult(tree, now) as unknown as JsonObject,
  related: (_tree, meta = {}) => meta,
  news: (tree, now) => ({
    method: 'notifications/tasks',
    params: { ...detailed(tree, now), ...meta(tree.root) } as unknown as JsonObject,
  }),
  acknowledged: () => ({ resultType: 'complete' }),

  inputRequired(questions, requestState) {
    const wire = [...questions].map(([key, request]) => [key, toInputRequest(request) as unknown as Json]);
    return {
      resultType: 'input_required',
      inputRequests: Object.fromEntries(wire),
      ...(requestState !== undefined && { requestState }),
    };
  },

  fault(error): WireFault {
    if (error instanceof CallFailed && error.outcome.kind === 'failure') return errorOf(error.outcome);
    if (error instanceof OverLimit)
      return { code: limitExceeded, message: error.message, data: overLimit(error) };
    if (!(error instanceof MissingCapability)) return commonFault(error);
    const { message, required } = error;
    return { code: missingCapability, message, data: { requiredCapabilities: required } };
  },
};
