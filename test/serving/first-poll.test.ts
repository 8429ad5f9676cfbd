/** Many clients poll right after their call, and then not for a second: short work should be done by then. */

import { openSqlite } from 'holdfast/sqlite';
import { ManualClock } from 'holdfast/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { tasksExtension } from '../../src/dialects/2026-07-28/dialect.ts';
import { durableTool } from '../../src/engine/handlers/tool.ts';
import { Tasks } from '../../src/engine/tasks.ts';
import { local } from '../../src/task-methods/caller.ts';
import { answerTo } from '../../src/task-methods/task-methods.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A task whose handler waits for `end`, while no time passes. */
async function underWay() {
  const clock = new ManualClock();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const tool = durableTool('wait', { task: 'always' }, () => ended.then(() => 'done'));
  const tasks = new Tasks({ store: () => openSqlite('memory:'), tools: [tool], clock });
  await tasks.work();
  const requests = await tasks.requests();
  const { id } = await tasks.create(tool, {}, { owner: local });
  const caller = { owner: local, dialect: tasksExtension, sender: { takesTasks: true, answers: [] } };
  const poll = async () => (await answerTo('tasks/get', requests, caller, { taskId: id })).result.status;
  return { tasks, clock, end, poll };
}

test('a poll right after the call waits for work that ends in a moment', async () => {
  const { tasks, end, poll } = await underWay();
  const polling = poll();
  end();
  expect(await polling).toBe('completed');
  vi.useRealTimers();
  await tasks.close();
});

test('it waits no longer than a moment, and a later poll not at all', async () => {
  const { tasks, clock, end, poll } = await underWay();
  const polling = poll();
  let isWaiting = true;
  void polling.finally(() => {
    isWaiting = false;
  });
  for (; isWaiting; await new Promise(setImmediate)) vi.advanceTimersByTime(20);
  expect(await polling).toBe('working');
  clock.advance(20);
  expect(await poll()).toBe('working');
  end();
  vi.useRealTimers();
  await tasks.close();
});
