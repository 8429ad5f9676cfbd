import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
  TaskStatusNotificationParamsV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../model/json.ts';
import { questionsOf } from '../../collapse.ts';
import { tasksExtension } from './dialect.ts';
import { serverInfoKey, subscriptionIdKey } from './names.ts';
import { type ReadableTask, readTask } from './read.ts';

/** Messages as they went over the wire between the official client and a server. */
const folder = join(import.meta.dirname, 'fixtures');
const messages = readdirSync(folder).map((file) => ({
  name: file.replace(/\.json$/, ''),
  message: JSON.parse(readFileSync(join(folder, file), 'utf8')) as JsonObject,
}));
const named = (part: string) => messages.filter(({ name }) => name.includes(part));

/** What the envelope of a message adds to what it says of the task. */
function withoutEnvelope({ _meta, ...rest }: JsonObject): JsonObject {
  const { [serverInfoKey]: _info, [subscriptionIdKey]: _id, ...own } = (_meta ?? {}) as JsonObject;
  return Object.keys(own).length > 0 ? { ...rest, _meta: own } : rest;
}

function there(wire: JsonObject): { root: ReturnType<typeof readTask>; now: number } {
  const root = readTask(wire as unknown as ReadableTask);
  return { root, now: root.updatedAt };
}

test.each(named('tasks-get'))('$name comes back as it was from the neutral model', ({ message }) => {
  const wire = message.result as JsonObject;
  expect(GetTaskResultV2Schema.safeParse(wire).error).toBe(undefined);
  const { root, now } = there(wire);
  expect(tasksExtension.shown({ root, descendants: [] }, now)).toEqual(withoutEnvelope(wire));
});

test.each(named('create-task'))('$name comes back as it was from the neutral model', ({ message }) => {
  const wire = message.result as JsonObject;
  expect(CreateTaskResultV2Schema.safeParse(wire).error).toBe(undefined);
  const { root, now } = there(wire);
  expect(tasksExtension.created({ root, descendants: [] }, now)).toEqual(withoutEnvelope(wire));
});

test.each(named('notification'))('$name comes back as it was from the neutral model', ({ message }) => {
  const wire = message.params as JsonObject;
  expect(TaskStatusNotificationParamsV2Schema.safeParse(wire).error).toBe(undefined);
  const { root, now } = there(wire);
  const { method, params } = tasksExtension.news({ root, descendants: [] }, now)!;
  expect({ method, params }).toEqual({ method: message.method, params: withoutEnvelope(wire) });
});

test('there are messages of every status, and of each kind of message', () => {
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

test('what is read means the same: phase, questions, outcome, progress', () => {
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

test('the kinds of questions that no recorded message has', () => {
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
