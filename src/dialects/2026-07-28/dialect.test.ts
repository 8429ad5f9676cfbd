import {
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
  TaskStatusNotificationParamsV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { describe, expect, test } from 'vitest';
import type { Failed } from '../../model/outcome.ts';
import type { Task } from '../../model/task.ts';
import {
  asked,
  child,
  claimed,
  created,
  did,
  failure,
  family,
  now,
  result,
  rules,
} from '../../testing/notebook.ts';
import { tasksExtension } from './dialect.ts';
import { answerable } from './input.ts';

const at = 10_000;

function tree(task: Task) {
  return { root: now(task), descendants: family(task).descendants };
}

/** As `tasks/get` shows it, checked against the official schema. */
function shown(task: Task) {
  const wire = tasksExtension.shown(tree(task), at);
  expect(GetTaskResultV2Schema.safeParse(wire).error).toBe(undefined);
  const params = tasksExtension.notification(tree(task), at)!.params;
  expect(TaskStatusNotificationParamsV2Schema.safeParse(params).error).toBe(undefined);
  return wire;
}

function failedWith(outcome: Failed) {
  const { task, claim } = claimed();
  did(rules.fail(family(task), claim, outcome, 5));
  return shown(task);
}

test('S2663-12 S2663-23: the response that creates a task is flat and has the result type of a task', () => {
  const wire = tasksExtension.created(tree(created()), at);
  expect(CreateTaskResultV2Schema.safeParse(wire).error).toBe(undefined);
  expect(wire).toMatchObject({ resultType: 'task', status: 'working' });
  expect(wire).not.toHaveProperty('task');
});

test('S2663-16: a task shows its id, its times, its ttl and its poll interval', () => {
  const task = created({ deadlineMs: 60_000, retention: { from: 'finish', ms: 5_000 } }, 1_000);
  expect(shown(task)).toEqual({
    resultType: 'complete',
    taskId: task.id,
    status: 'working',
    createdAt: '1970-01-01T00:00:01.000Z',
    lastUpdatedAt: '1970-01-01T00:00:01.000Z',
    ttlMs: 65_000,
    pollIntervalMs: 1_000,
  });
});

test('S2663-33 S2663-38: a queued task, a running one and one parked on a timer are working', () => {
  expect(shown(created()).status).toBe('working');
  const { task, claim } = claimed();
  expect(shown(task).status).toBe('working');
  did(rules.park(now(task), claim, { seenVersion: now(task).version, until: 99 }, 5));
  expect(shown(task)).toMatchObject({ status: 'working', resultType: 'complete' });
});

test('S2663-34: a waiting task shows all its open questions', () => {
  const of = claimed();
  asked(of, 'first', 'second');
  did(rules.answer(now(of.task), { first: { action: 'decline' } }, 2));
  asked(of, 'third');
  const wire = shown(of.task);
  expect(Object.keys(wire.inputRequests as object)).toEqual(['second', 'third']);
  expect(wire).toMatchObject({
    inputRequests: {
      second: { method: 'elicitation/create', params: { mode: 'form', message: 'What is your name?' } },
    },
  });
});

test('S2663-35 S2663-84: a completed task shows exactly what the plain call would have returned', () => {
  const { task, claim } = claimed();
  did(
    rules.complete(
      family(task),
      claim,
      { ...result, value: { content: [], structuredContent: { a: 1 } } },
      5,
    ),
  );
  expect(shown(task)).toMatchObject({
    status: 'completed',
    result: { resultType: 'complete', content: [], structuredContent: { a: 1 } },
  });
});

test('S2663-82 S2663-83: an error result completes the task, and never fails it', () => {
  expect(failedWith(failure)).toMatchObject({ status: 'completed', result: { isError: true, content: [] } });
});

test('S2663-37 S2663-79 S2663-80 S2663-81: a protocol error fails the task and is shown as it was', () => {
  const wire = failedWith({
    kind: 'failure',
    code: -32050,
    message: 'Out of ink.',
    data: { colour: 'cyan' },
  });
  expect(wire).toMatchObject({
    status: 'failed',
    statusMessage: 'Out of ink.',
    error: { code: -32050, message: 'Out of ink.', data: { colour: 'cyan' } },
  });
});

test('a failure without a code, and work that was lost, are internal errors', () => {
  expect(failedWith({ kind: 'failure', message: 'It passed its deadline.' })).toMatchObject({
    error: { code: -32603 },
  });
  expect(failedWith({ kind: 'lost', message: 'Nobody knows.' })).toMatchObject({
    status: 'failed',
    error: { code: -32603, message: 'Nobody knows.' },
  });
});

test('S2663-36: a cancelled task is cancelled, with its reason', () => {
  const { task } = claimed();
  did(rules.cancel(family(task), 5, 'No longer needed.'));
  expect(shown(task)).toMatchObject({ status: 'cancelled', statusMessage: 'No longer needed.' });
});

test('progress is part of the task, because no notification may contain it', () => {
  const { task, claim } = claimed();
  did(rules.report(task, claim, { message: 'Drafting', progress: { done: 1, total: 4 } }, 5));
  expect(shown(task)).toMatchObject({
    statusMessage: 'Drafting',
    _meta: { 'dev.holdfast/progress': { progress: 1, total: 4 } },
  });
});

describe('a peer without subtasks', () => {
  test('sees a question of a subtask on the root, under the path of the subtask', () => {
    const root = claimed();
    child(root);
    const second = child(root);
    asked(child(second), 'confirm');
    const wire = shown(root.task);
    expect(Object.keys(wire.inputRequests as object)).toEqual(['2.1/confirm']);
  });

  test('sees nothing else of the tree', () => {
    const root = claimed();
    const one = child(root);
    expect(JSON.stringify(shown(root.task))).not.toContain(one.task.id);
  });
});

test('a client can be asked what its capabilities name, and an empty elicitation means forms', () => {
  expect(answerable({})).toEqual([]);
  expect(answerable({ elicitation: {} })).toEqual(['form']);
  expect(answerable({ elicitation: { form: {} } })).toEqual(['form']);
  expect(answerable({ elicitation: { url: {} } })).toEqual(['url']);
  expect(answerable({ elicitation: { form: {}, url: {} } })).toEqual(['form', 'url']);
  expect(answerable({ elicitation: true, sampling: {}, roots: {} })).toEqual(['sampling', 'roots']);
});
