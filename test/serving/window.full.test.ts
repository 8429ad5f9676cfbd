/** `task: 'auto'`: when a call becomes a task, for a caller that takes tasks. */
import { expect, test } from 'vitest';
import { createTasks } from '../../src/index.ts';
import { sqlite } from '../../src/sqlite.ts';
import { expectWithin } from '../kit/within.ts';
import { Place, standing } from './place.ts';
import { accept } from './raw-client.ts';
import { serve } from './server-process.ts';
import { servingTools } from './tools.ts';

test('a call that ends within the window is answered directly and leaves nothing in the store', async () => {
  const place = new Place();
  const client = (await serve({ file: place.database, window: '1h' })).client();
  const { result } = await client.call('at_once_auto');
  expect(result).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: 'at once' }] });
  expect(result).not.toHaveProperty('taskId');
  await expect.poll(() => place.tasks()).toEqual([]);
});

test('a call that outlives the window becomes a task', async () => {
  const place = new Place();
  const client = (await serve({ file: place.database })).client();
  const { result } = await client.call('work_auto', place.work());
  expect(result).toMatchObject({ resultType: 'task', status: 'working' });
  await using tasks = createTasks({ store: sqlite(place.database), tools: servingTools });
  expect((await tasks.list({ owner: 'anonymous', limit: 10 })).tasks).toMatchObject([{ id: result.taskId }]);
  expect(place.tasks()).toHaveLength(1);
  place.open();
  expect(await client.until(result.taskId, 'completed')).toMatchObject({
    result: { resultType: 'complete', content: [{ text: 'worked' }] },
  });
  expect(place.trace()).toEqual(['first', 'second', 'third']);
});

test('the window is what the server was told: the same call is a task, or is answered directly', async () => {
  const place = new Place();
  const [short, long] = await Promise.all([
    serve({ file: place.database, window: '50ms' }),
    serve({ file: place.database, window: '1h' }),
  ]);
  const call = { ...place.work(), ms: 2_000 };
  expect((await short.client().call('nap', call)).result).toMatchObject({ resultType: 'task' });
  expect((await long.client().call('nap', call)).result).toMatchObject({
    resultType: 'complete',
    content: [{ text: 'woke' }],
  });
});

test('a window longer than any timer is a long one', async () => {
  const place = new Place();
  const client = (await serve({ file: place.database, window: '30d' })).client();
  expect((await client.call('nap', { ...place.work(), ms: 100 })).result).toMatchObject({
    resultType: 'complete',
  });
});

test('unless told otherwise, the window lasts some 200 ms', async () => {
  const place = new Place();
  const client = (await serve({ file: place.database })).client();
  await client.call('at_once_auto');
  const begun = performance.now();
  const { result } = await client.call('work_auto', place.work());
  expect(result.resultType).toBe('task');
  expect(performance.now() - begun).toBeGreaterThan(190);
  expectWithin(5_000, performance.now() - begun);
});

test('a question makes a task at once, however long the window', async () => {
  const place = new Place();
  const client = (await serve({ file: place.database, window: '1h' })).client();
  const { result } = await client.call('ask', place.work());
  expect(result).toMatchObject({ resultType: 'task', status: 'input_required' });
  expect(await client.get(result.taskId)).toMatchObject({ result: { inputRequests: { name: {} } } });
  await client.update(result.taskId, { name: accept({ name: 'Ada' }) });
  expect(await client.until(result.taskId, 'completed')).toMatchObject({
    result: { content: [{ text: 'Hello, Ada!' }] },
  });
});

test('a subtask makes a task at once, however long the window', async () => {
  const place = new Place();
  const client = (await serve({ file: place.database, window: '1h' })).client();
  const { result } = await client.call('parent', place.work());
  expect(result).toMatchObject({ resultType: 'task', status: 'working' });
  place.open();
  await client.until(result.taskId, 'completed');
  expect(place.trace()).toEqual(['first', 'second', 'third', 'collected']);
});

test('a task is durable before its id is sent: its server may die as soon as the reply is out (S2663-25)', async () => {
  const place = new Place();
  const first = await serve({ file: place.database });
  const { result } = await first.client().call('work_auto', place.work());
  await first.kill();

  const client = (await serve({ file: place.database })).client();
  expect((await client.get(result.taskId)).result).toMatchObject({ status: 'working' });
  place.open();
  expect(await client.until(result.taskId, 'completed', 'failed', 'cancelled')).toMatchObject({
    result: { content: [{ text: 'worked' }] },
  });
});

test('a task whose server was killed is finished behind its last step', async () => {
  const place = new Place();
  const first = await serve({ file: place.database });
  const { result } = await first.client().call('work_auto', place.work());
  await expect.poll(() => place.trace()).toEqual(['first', 'second']);
  await first.kill();

  const client = (await serve({ file: place.database })).client();
  place.open();
  await client.until(result.taskId, 'completed');
  // The step that was under way runs again; the one before it does not.
  expect(place.trace()).toEqual(['first', 'second', 'second', 'third']);
});

test('what is still in its window can be neither listed nor read: nobody was told of it', async () => {
  const place = new Place();
  const server = await serve({ file: place.database, window: '1h' });
  const { reply } = server.client().openCall('work_auto', place.work());
  await expect.poll(() => place.trace()).toContain('second');
  const [task] = place.tasks();
  expect((await server.client().get(task!.id)).error).toMatchObject({ code: -32602 });
  await using tasks = createTasks({ store: sqlite(place.database), tools: servingTools });
  expect((await tasks.list({ owner: 'anonymous', limit: 10 })).tasks).toEqual([]);
  place.open();
  expect((await reply).result).toMatchObject({ content: [{ text: 'worked' }] });
  await expect.poll(() => standing(place.tasks())).toEqual([]);
});
