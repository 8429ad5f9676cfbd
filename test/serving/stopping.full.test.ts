/** A server that is told to stop: open requests get their answers, tasks wait in the store for the next process. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { expectWithin } from '../kit/within.ts';
import { Place, standing } from './place.ts';
import { accept } from './raw-client.ts';
import { serve, serveOnStdio } from './server-process.ts';

const clean = { code: 0, signal: null };

describe('SIGTERM', () => {
  test.each([
    ['in its window', { tasks: true }],
    ['that is waited for', { tasks: false }],
  ])('a call %s gets its result if it ends within the grace', async (_, caller) => {
    const place = new Place();
    const server = await serve({ file: place.database, window: '1h', grace: '1h', workerGrace: '1h' });
    const { reply } = server.client(caller).openCall('work_auto', place.work());
    await expect.poll(() => place.trace()).toContain('second');
    const exit = server.kill('SIGTERM');
    await refuses(server);
    place.open();
    expect((await reply).result).toMatchObject({ resultType: 'complete', content: [{ text: 'worked' }] });
    expect(await exit).toEqual(clean);
  });

  test('a call whose window ends meanwhile becomes a task, which the next process finishes', async () => {
    const place = new Place();
    const server = await serve({ file: place.database, window: '1s', workerGrace: '50ms' });
    const { reply } = server.client().openCall('work_auto', place.work());
    await expect.poll(() => place.trace()).toContain('second');
    const exit = server.kill('SIGTERM');
    const { taskId } = (await reply).result;
    expect(await exit).toEqual(clean);
    const client = (await serve({ file: place.database })).client();
    place.open();
    await client.until(taskId, 'completed');
    expect(place.trace()).toEqual(['first', 'second', 'second', 'third']);
  });

  test('a call that outlives the grace ends with its connection, and the next process does not go on', async () => {
    const place = new Place();
    const server = await serve({ file: place.database, grace: '50ms' });
    const { reply } = server.client({ tasks: false }).openCall('work_auto', place.work());
    await expect.poll(() => place.trace()).toContain('second');
    const exit = server.kill('SIGTERM');
    await expect(reply).rejects.toThrow();
    expect(await exit).toEqual(clean);
    expect(standing(place.tasks())).toEqual(['cancelled']);
    await serve({ file: place.database });
    expect(place.trace()).toEqual(['first', 'second', 'stopped']);
  });

  test('a call that sleeps in no worker beyond the grace ends with its connection', async () => {
    const place = new Place();
    const server = await serve({ file: place.database, grace: '50ms' });
    const { reply } = server.client({ tasks: false }).openCall('nap', { ...place.work(), ms: 60_000 });
    await expect.poll(asleep(place)).toEqual([true]);
    const exit = server.kill('SIGTERM');
    await expect(reply).rejects.toThrow();
    expect(await exit).toEqual(clean);
    expect(standing(place.tasks())).toEqual(['cancelled']);
  });

  test('a connection on which nothing was asked is not waited for', async () => {
    const place = new Place();
    const server = await serve({ file: place.database, grace: '1h' });
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    // Once it answers another, it has taken note of the first.
    await server.client().call('work_always', place.work());
    const exit = server.kill('SIGTERM');
    place.open();
    expect(await exit).toEqual(clean);
    socket.destroy();
  });

  test('tasks that run or wait stay in the store, and the next process finishes them', async () => {
    const place = new Place();
    const server = await serve({ file: place.database, workerGrace: '50ms' });
    const [running, waiting] = await Promise.all([
      server.client().call('work_always', place.work()),
      server.client().call('ask', place.work('question')),
    ]);
    await expect.poll(() => place.trace()).toContain('second');
    expect(await server.kill('SIGTERM')).toEqual(clean);
    expect(place.trace()).toEqual(['first', 'second']);

    const client = (await serve({ file: place.database })).client();
    place.open();
    await client.until(running.result.taskId, 'completed');
    expect(place.trace()).toEqual(['first', 'second', 'second', 'third']);
    await client.until(waiting.result.taskId, 'input_required');
    await client.update(waiting.result.taskId, { name: accept({ name: 'Ada' }) });
    await client.until(waiting.result.taskId, 'completed');
    expect(place.trace('question')).toEqual(['before', 'after Ada']);
  });

  test('a step in flight may end within the grace of the worker, and is not repeated', async () => {
    const place = new Place();
    const server = await serve({ file: place.database, workerGrace: '1h' });
    const { taskId } = (await server.client().call('work_always', place.work())).result;
    await expect.poll(() => place.trace()).toContain('second');
    const exit = server.kill('SIGTERM');
    await refuses(server);
    place.open();
    expect(await exit).toEqual(clean);
    const client = (await serve({ file: place.database })).client();
    await client.until(taskId, 'completed');
    expect(place.trace()).toEqual(['first', 'second', 'third']);
  });

  test('a subscription gets its answer, and does not hold the server up', async () => {
    const place = new Place();
    const server = await serve({ file: place.database, workerGrace: '50ms' });
    const { taskId } = (await server.client().call('work_always', place.work())).result;
    const subscription = await server.client().listen([taskId]);
    await subscription.find(({ method }) => method === 'notifications/tasks');
    const exit = server.kill('SIGTERM');
    expect(await subscription.find(({ result }) => result !== undefined)).toMatchObject({
      result: { resultType: 'complete' },
    });
    expect(await subscription.next()).toBeUndefined();
    expect(await exit).toEqual(clean);
  });
});

describe('the end of standard input', () => {
  test('lets the process go though a task runs and another waits; the next one finishes them', async () => {
    const place = new Place();
    const first = serveOnStdio({ file: place.database });
    const [running, waiting] = await Promise.all([
      first.client.request('tools/call', { name: 'work_always', arguments: place.work() }),
      first.client.request('tools/call', { name: 'ask', arguments: place.work('question') }),
    ]);
    await expect.poll(() => place.trace()).toContain('second');
    const begun = performance.now();
    expect(await first.end()).toEqual(clean);
    // Its worker waits some seconds for the step under way.
    expectWithin(10_000, performance.now() - begun);

    const second = serveOnStdio({ file: place.database });
    const look = async (taskId: string) =>
      (await second.client.request('tasks/get', { taskId })).result?.status;
    const [runningId, waitingId] = [running.result!.taskId, waiting.result!.taskId];
    expect(await look(waitingId)).toBe('input_required');
    place.open();
    const inputResponses = { name: accept({ name: 'Ada' }) };
    await second.client.request('tasks/update', { taskId: waitingId, inputResponses });
    await expect
      .poll(() => Promise.all([runningId, waitingId].map(look)))
      .toEqual(['completed', 'completed']);
    expect(place.trace()).toEqual(['first', 'second', 'second', 'third']);
    expect(place.trace('question')).toEqual(['before', 'after Ada']);
  });

  test('ends the work of a call in its window, and the next process does not go on with it', async () => {
    const place = new Place();
    const first = serveOnStdio({ file: place.database, window: '1h', workerGrace: '50ms' });
    first.client.call('work_auto', place.work());
    await expect.poll(() => place.trace()).toContain('second');
    expect(await first.end()).toEqual(clean);
    expect(standing(place.tasks())).toEqual(['cancelled']);
    expect(place.trace()).toEqual(['first', 'second', 'stopped']);
  });

  test.each([
    ['runs', 'work_auto', (place: Place) => () => place.trace().includes('second')],
    ['sleeps in no worker', 'nap', (place: Place) => () => asleep(place)()[0] ?? false],
  ])('leaves a plain call that %s in the store, for the same call to join', async (_, tool, hasBegun) => {
    const place = new Place();
    const settings = { file: place.database, workerGrace: '50ms' } as const;
    const server = serveOnStdio(settings, { tasks: false });
    server.client.call(tool, { ...place.work(), ms: 60_000 });
    await expect.poll(hasBegun(place)).toBe(true);
    expect(await server.end()).toEqual(clean);
    expect(standing(place.tasks())).toEqual(['running']);
  });
});

test('SIGTERM on stdio ends a subscription with both words that the protocol has for it (S2026-09)', async () => {
  const place = new Place();
  const server = serveOnStdio({ file: place.database });
  const { result } = await server.client.request('tools/call', { name: 'ask', arguments: place.work() });
  const id = server.client.send('subscriptions/listen', { notifications: { taskIds: [result!.taskId] } });
  await server.client.message(({ method }) => method === 'notifications/tasks');
  expect(await server.kill('SIGTERM')).toEqual(clean);
  const afterNews =
    server.client.messages.findLastIndex(({ method }) => method === 'notifications/tasks') + 1;
  expect(server.client.messages.slice(afterNews)).toMatchObject([
    { method: 'notifications/cancelled', params: { requestId: id } },
    { id, result: { resultType: 'complete' } },
  ]);
});

/** The server has begun to stop once it takes no more connections. */
async function refuses(server: Awaited<ReturnType<typeof serve>>): Promise<void> {
  const look = () =>
    server
      .client()
      .get('none')
      .then(
        () => 'answered',
        ({ code }) => code,
      );
  await expect.poll(look).toBe('ECONNREFUSED');
}

/** Whether each task waits in nobody's hands. */
function asleep(place: Place): () => boolean[] {
  return () => (existsSync(place.database) ? place.tasks().map((task) => !('worker' in task)) : []);
}
