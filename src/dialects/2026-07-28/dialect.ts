/** The Tasks extension of 2026-07-28 (SEP-2663) as a dialect. */

import type { DetailedTaskV2Schema, TaskV2Schema } from '@modelcontextprotocol/ext-tasks/core/v2';
import type { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import { pollHintMs, type Task } from '../../model/task.ts';
import { linksOf, questionsOf, subtasksExtension, type Tree, ttlOf, type WireLinks } from '../collapse.ts';
import { type Dialect, type Sender, type WireFault, wireProgress } from '../dialect.ts';
import {
  CallFailed,
  capabilityFor,
  commonFault,
  MissingCapability,
  OverLimit,
  overLimit,
} from '../errors.ts';
import { internalError } from '../json-rpc.ts';
import { answerable, toInputRequest } from './input.ts';
import { extension, limitExceeded, missingCapability, progressKey, revision } from './names.ts';

export const tasksExtension: Dialect = {
  revision,
  methods: ['tasks/get', 'tasks/cancel', 'tasks/update'],
  refusesLateCancel: false,
  callerNamesTasks: false,
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

  /** The task with its status, but without the questions, result or error that `tasks/get` adds. */
  created(tree, now) {
    const { status } = detailed(tree, now);
    return { resultType: 'task', ...(base(tree, now) as unknown as JsonObject), status };
  },
  shown,
  listed: shown,
  related: (_tree, meta = {}) => meta,
  notification: (tree, now) => ({ method: 'notifications/tasks', params: taskParams(tree, now) }),
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

// --- Task → wire: `tasks/get`, `notifications/tasks` and the response that creates a task -------------------

/** The response to `tasks/get`. */
function shown(tree: Tree, now: number): JsonObject {
  return { resultType: 'complete', ...taskParams(tree, now) };
}

/** The params of `notifications/tasks`, with the same members as `tasks/get`. */
function taskParams(tree: Tree, now: number): JsonObject {
  const { progress } = tree.root;
  return {
    ...(detailed(tree, now) as unknown as JsonObject),
    // This revision has no progress notification for tasks, so the progress is in the `_meta`.
    ...(progress && { _meta: { [progressKey]: wireProgress(progress) } }),
  };
}

function detailed(tree: Tree, now: number): z.infer<typeof DetailedTaskV2Schema> {
  const task = base(tree, now);
  const { root } = tree;
  if (root.phase !== 'done') {
    const questions = questionsOf(tree);
    if (questions.length === 0) return { ...task, status: 'working' };
    const inputRequests = Object.fromEntries(
      questions.map(({ key, request }) => [key, toInputRequest(request)]),
    );
    return { ...task, status: 'input_required', inputRequests };
  }
  const { outcome } = root;
  switch (outcome.kind) {
    case 'result':
      // The official client rejects an inlined result without its own `resultType`.
      return {
        ...task,
        status: 'completed',
        result: { resultType: 'complete', ...(outcome.value as JsonObject) },
      };
    case 'failure':
      return { ...task, status: 'failed', error: errorOf(outcome) };
    case 'lost':
      return { ...task, status: 'failed', error: { code: internalError, message: outcome.message } };
    case 'cancelled':
      return { ...task, status: 'cancelled' };
  }
}

function base(tree: Tree, now: number): Omit<z.infer<typeof TaskV2Schema>, 'status'> & WireLinks {
  const { root } = tree;
  const statusMessage = messageOf(root);
  return {
    taskId: root.id,
    createdAt: new Date(root.createdAt).toISOString(),
    lastUpdatedAt: new Date(root.updatedAt).toISOString(),
    ttlMs: ttlOf(tree, now),
    pollIntervalMs: pollHintMs(root, now),
    ...(statusMessage !== undefined && { statusMessage }),
    ...linksOf(tree),
  };
}

function messageOf(task: Task): string | undefined {
  return (task.phase === 'done' ? reasonOf(task.outcome) : undefined) ?? task.statusMessage;
}

/** Why a task ended without a result. Undefined if it has a result, or if no reason was given. */
export function reasonOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'result') return undefined;
  return outcome.kind === 'cancelled' ? outcome.reason : outcome.message;
}

/** `unaskable`: the task failed because the client did not declare that it can answer this kind of question. */
function errorOf({ code, message, data, unaskable }: Extract<Outcome, { kind: 'failure' }>) {
  if (unaskable !== undefined)
    return { code: missingCapability, message, data: { requiredCapabilities: capabilityFor[unaskable] } };
  return { code: code ?? internalError, message, ...(data !== undefined && { data }) };
}
