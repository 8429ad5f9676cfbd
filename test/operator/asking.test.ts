/** A question that a subtask asks is found by those who look for questions, and leads to where it is answered. */
import { describe, expect, test } from 'vitest';
import type { OverviewReport, TaskSummary } from '../../src/operator/api.ts';
import { kinds } from '../stores/kinds.ts';
import {
  ada,
  adasToken,
  askedBelow,
  bobsToken,
  delegate,
  type Listener,
  listen,
  stage,
  tools,
} from './stage.ts';

const withDelegate = { tools: [...tools, delegate] };

/** What was last told of each subtask. */
function subtasks({ messages }: Listener): Map<string, TaskSummary> {
  return new Map(
    messages.flatMap((one) =>
      one.type === 'changes' ? one.subtasks.map((task) => [task.id, task] as const) : [],
    ),
  );
}

describe.each(kinds)('on $name', ({ place }) => {
  test('it is in the list and the counts of what waits, until it is answered there', async () => {
    const { tasks, ask, list, act } = await stage({ ...withDelegate, place: await place() });
    const { id } = await tasks.create('delegate');
    const child = await askedBelow(tasks, id);
    const overview = async () => (await ask<OverviewReport>('/overview?window=3600000')).body;

    expect((await list('?status=waiting')).tasks).toMatchObject([
      { id: child, tool: 'approve', parentId: id, rootId: id, status: 'waiting', openQuestions: 1 },
    ]);
    expect((await ask('/count?status=waiting')).body).toEqual({ count: 1, isMore: false });
    const { live, waiting, tools: byTool } = await overview();
    expect(live).toEqual({ queued: 0, running: 1, waiting: 1 });
    expect(waiting).toMatchObject([{ id: child }]);
    expect(byTool.find(({ tool }) => tool === 'approve')).toMatchObject({ running: 0, waiting: 1 });
    // Elsewhere its root speaks for it.
    expect((await list()).tasks).toMatchObject([{ id, status: 'running' }]);

    const response = { action: 'accept', content: { go: true } };
    expect((await act(child, 'answer', { key: 'approval', response })).status).toBe(200);
    await tasks.outcome(id);
    expect((await list('?status=waiting')).tasks).toEqual([]);
    expect((await overview()).live.waiting).toBe(0);
  });

  test('those who follow changes are told when a subtask begins and ceases to ask', async () => {
    const { tasks, api, act } = await stage({ ...withDelegate, place: await place() });
    const listener = await listen(api);
    const { id } = await tasks.create('delegate');
    const child = await askedBelow(tasks, id);
    await listener.until(() => subtasks(listener).get(child)?.status === 'waiting');
    await act(id, 'cancel');
    await listener.until(() => subtasks(listener).get(child)?.status === 'cancelled');
    expect([...listener.tasks.keys()]).toEqual([id]);
  });
});

test('nobody is told of the questions of others', async () => {
  const { tasks, api, list } = await stage(withDelegate);
  const [adas, bobs] = [await listen(api, adasToken), await listen(api, bobsToken)];
  const { id } = await tasks.create('delegate', {}, { owner: ada });
  const child = await askedBelow(tasks, id);
  await adas.until(() => subtasks(adas).has(child));
  expect((await list('?status=waiting', adasToken)).tasks).toMatchObject([{ id: child }]);
  expect((await list('?status=waiting', bobsToken)).tasks).toEqual([]);
  // The next news of Bob comes after whatever he might have been told of hers.
  const own = await tasks.create('greet', { name: 'Bob' }, { owner: 'token:["","","bob"]' });
  await bobs.until(() => bobs.tasks.has(own.id));
  expect(subtasks(bobs).size).toBe(0);
});

test('subtasks that do not ask are no news of their own, however many they are', async () => {
  const { tasks, api } = await stage();
  const listener = await listen(api);
  const { id } = await tasks.create('family');
  await listener.until(() => listener.tasks.get(id)?.status === 'completed');
  expect(subtasks(listener).size).toBe(0);
});

test('what is asked below a plain call is told as of any other task', async () => {
  const { tasks, api } = await stage(withDelegate);
  const listener = await listen(api);
  const { id } = await tasks.create('delegate', {}, { unpublished: true });
  const child = await askedBelow(tasks, id);
  await listener.until(() => subtasks(listener).has(child));
  expect(listener.tasks.get(id)).toMatchObject({ plainCall: true });
});
