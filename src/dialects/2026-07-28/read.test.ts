import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CreateTaskResultV2Schema,
  type DetailedTaskV2Schema,
  GetTaskResultV2Schema,
  TaskStatusNotificationParamsV2Schema,
  type TaskV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import type { InputRequest, OpenInput } from '../../model/input.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import type { SamplingRequest } from '../../model/sampling.ts';
import type { Progress, Task } from '../../model/task.ts';
import { questionsOf } from '../collapse.ts';
import { tasksExtension } from './dialect.ts';
import { progressKey, revision, serverInfoKey, subscriptionIdKey } from './names.ts';

/** Recorded messages between the official client and a server. */
const folder = join(import.meta.dirname, 'fixtures');
const messages = readdirSync(folder).map((file) => ({
  name: file.replace(/\.json$/, ''),
  message: JSON.parse(readFileSync(join(folder, file), 'utf8')) as JsonObject,
}));
const named = (part: string) => messages.filter(({ name }) => name.includes(part));

/** The members that the envelope of a message adds to the task. */
function withoutEnvelope({ _meta, ...rest }: JsonObject): JsonObject {
  const { [serverInfoKey]: _info, [subscriptionIdKey]: _id, ...own } = (_meta ?? {}) as JsonObject;
  return Object.keys(own).length > 0 ? { ...rest, _meta: own } : rest;
}

function there(wire: JsonObject): { root: ReturnType<typeof readTask>; now: number } {
  const root = readTask(wire as unknown as ReadableTask);
  return { root, now: root.updatedAt };
}

test.each(named('tasks-get'))('$name is unchanged after a round trip through the model', ({ message }) => {
  const wire = message.result as JsonObject;
  expect(GetTaskResultV2Schema.safeParse(wire).error).toBe(undefined);
  const { root, now } = there(wire);
  expect(tasksExtension.shown({ root, descendants: [] }, now)).toEqual(withoutEnvelope(wire));
});

test.each(named('create-task'))('$name is unchanged after a round trip through the model', ({ message }) => {
  const wire = message.result as JsonObject;
  expect(CreateTaskResultV2Schema.safeParse(wire).error).toBe(undefined);
  const { root, now } = there(wire);
  expect(tasksExtension.created({ root, descendants: [] }, now)).toEqual(withoutEnvelope(wire));
});

test.each(named('notification'))('$name is unchanged after a round trip through the model', ({ message }) => {
  const wire = message.params as JsonObject;
  expect(TaskStatusNotificationParamsV2Schema.safeParse(wire).error).toBe(undefined);
  const { root, now } = there(wire);
  const { method, params } = tasksExtension.notification({ root, descendants: [] }, now)!;
  expect({ method, params }).toEqual({ method: message.method, params: withoutEnvelope(wire) });
});

test('there is a message of every kind and every status', () => {
  const statuses = messages.map(({ message }) => ((message.result ?? message.params) as JsonObject).status);
  expect([...new Set(statuses)].sort()).toEqual([
    'cancelled',
    'completed',
    'failed',
    'input_required',
    'working',
  ]);
  for (const kind of ['tasks-get', 'create-task', 'notification']) expect(named(kind)).not.toEqual([]);
});

test('phase, questions, outcome and progress are read correctly', () => {
  const read = (name: string) =>
    there(messages.find((one) => one.name === name)!.message.result as JsonObject).root;
  const asking = read('tasks-get-input-required-of-subtasks-response');
  expect(asking.phase).toBe('waiting');
  expect(questionsOf({ root: asking, descendants: [] }).map(({ key }) => key)).toEqual([
    '1/confirm',
    '2/confirm',
  ]);
  expect(read('tasks-get-working-with-progress-response').progress).toMatchObject({ total: 20 });
  expect(read('tasks-get-failed-response')).toMatchObject({
    phase: 'done',
    outcome: { kind: 'failure', code: -32603 },
  });
  expect(read('tasks-get-completed-with-error-result-response')).toMatchObject({
    outcome: { kind: 'result', isError: true },
  });
});

test('kinds of questions without a recorded message are read correctly', () => {
  const requests = {
    page: {
      method: 'elicitation/create',
      params: { mode: 'url', message: 'Sign in', url: 'https://example.org/', elicitationId: 'page' },
    },
    model: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } },
    roots: { method: 'roots/list' },
  };
  const wire = {
    ...(messages.find(({ name }) => name === 'tasks-get-input-required-response')!.message.result as object),
    inputRequests: requests,
  } as unknown as JsonObject;
  const { root, now } = there(wire);
  expect(tasksExtension.shown({ root, descendants: [] }, now).inputRequests).toEqual(requests);
});

// --- Wire → task --------------------------------------------------------------------------------------------

type ReadableTask = (z.infer<typeof DetailedTaskV2Schema> | z.infer<typeof TaskV2Schema>) & {
  readonly _meta?: object | undefined;
};

/** Reads a task. Messages do not contain the owner, the tool and the claims. */
function readTask(wire: ReadableTask): Task {
  const createdAt = Date.parse(wire.createdAt);
  const updatedAt = Date.parse(wire.lastUpdatedAt);
  const progress = progressOf(wire._meta);
  const known = {
    id: wire.taskId,
    owner: '',
    tool: '',
    toolVersion: '',
    origin: { dialect: revision, method: 'tools/call' },
    rootId: wire.taskId,
    ordinal: 0,
    depth: 0,
    childCount: 0,
    liveChildCount: 0,
    createdAt,
    updatedAt,
    deadlineAt: null,
    retention: { from: 'creation' as const, ms: wire.ttlMs, floorMs: 0 },
    version: 1,
    epoch: 0,
    ...(wire.statusMessage !== undefined && { statusMessage: wire.statusMessage }),
    ...(wire.pollIntervalMs !== undefined && { pollMs: wire.pollIntervalMs }),
    ...(progress && { progress }),
  };
  const outcome = outcomeOf(wire);
  if (outcome)
    return {
      ...known,
      phase: 'done',
      inputs: [],
      outcome,
      finishedAt: updatedAt,
      purgeAt: wire.ttlMs === null ? null : createdAt + wire.ttlMs,
    };
  const inputs = 'inputRequests' in wire ? readQuestions(wire.inputRequests, updatedAt) : [];
  return inputs.length > 0
    ? { ...known, phase: 'waiting', inputs, wakeAt: null }
    : { ...known, phase: 'running', inputs: [], wakeAt: null };
}

function outcomeOf(wire: ReadableTask): Outcome | undefined {
  switch (wire.status) {
    case 'completed': {
      const { resultType: _, ...value } = ('result' in wire ? wire.result : {}) as JsonObject;
      return { kind: 'result', isError: value.isError === true, value } as Outcome;
    }
    case 'failed': {
      const { code, message, data } = ('error' in wire ? wire.error : {}) as {
        code?: number;
        message?: string;
        data?: JsonObject;
      };
      return {
        kind: 'failure',
        message: message ?? wire.statusMessage ?? 'The task failed.',
        ...(code !== undefined && { code }),
        ...(data !== undefined && { data }),
      };
    }
    case 'cancelled':
      return { kind: 'cancelled', ...(wire.statusMessage !== undefined && { reason: wire.statusMessage }) };
    default:
      return undefined;
  }
}

function readQuestions(requests: object | undefined, askedAt: number): OpenInput[] {
  return Object.entries(requests ?? {}).map(([key, request]) => ({
    key,
    request: readInputRequest(key, request as JsonObject),
    askedAt,
    state: 'open',
  }));
}

function readInputRequest(key: string, { method, params }: JsonObject): InputRequest {
  const said = isJsonObject(params) ? params : {};
  if (method === 'sampling/createMessage') return { kind: 'sampling', params: said as SamplingRequest };
  if (method === 'roots/list') return { kind: 'roots' };
  const message = String(said.message ?? '');
  if (said.mode === 'url')
    return {
      kind: 'url',
      message,
      url: String(said.url ?? ''),
      elicitationId: String(said.elicitationId ?? key),
    };
  return { kind: 'form', message, schema: isJsonObject(said.requestedSchema) ? said.requestedSchema : {} };
}

function progressOf(meta: object | undefined): Progress | undefined {
  const said = (meta as JsonObject | undefined)?.[progressKey];
  if (!isJsonObject(said) || typeof said.progress !== 'number') return undefined;
  const { progress, total, message } = said;
  return {
    done: progress,
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message }),
  };
}
