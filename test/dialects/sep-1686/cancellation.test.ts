import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { durableTool } from 'holdfast';
import { expect, test } from 'vitest';
import { storeFrom } from '../../fixture/server.ts';
import { temporaryFolder } from '../../kit/lifetime.ts';
import { newest, Requestor, serving, sessionOn, tokens } from './requestor.ts';

type Gates = [PromiseWithResolvers<void>, PromiseWithResolvers<void>, PromiseWithResolvers<void>];

const minute = { ms: 60_000 };

test('S1686-48: a cancelled request ends its task at once, and its work is stopped', async () => {
  const { requestor } = await serving();
  const file = join(temporaryFolder(), 'spin');
  const { id } = await requestor.start('one', 'spin', { seconds: 60, file });
  await requestor.until('one', 'working');
  await requestor.cancel(id);
  await requestor.until('one', 'cancelled');
  await expect.poll(() => readFile(file, 'utf8').catch(() => '')).toBe('stopped\n');
});

test('S1686-49 S1686-29: work that does not listen is cancelled all the same, and what it gives in the end is passed over', async () => {
  const [begun, gate, ended] = [1, 2, 3].map(() => Promise.withResolvers<void>()) as Gates;
  const deaf = durableTool('deaf', { description: 'Hears nothing.', task: 'always' }, async (_, task) => {
    await task.step('work', async () => {
      begun.resolve();
      await gate.promise;
      ended.resolve();
    });
    return 'too late';
  });
  const quick = durableTool('quick', { description: 'Does nothing.', task: 'always' }, async () => 'done');
  const { requestor } = await serving({ more: [deaf, quick] as never });
  const { id } = await requestor.start('one', 'deaf');
  await begun.promise;
  await requestor.cancel(id);
  await requestor.until('one', 'cancelled');
  gate.resolve();
  await ended.promise;
  await requestor.begin('two', 'quick').reply;
  expect((await requestor.get('one')).result.status).toBe('cancelled');
});

test('S1686-48: subtasks end with the task', async () => {
  const { requestor, tasks } = await serving();
  const { id } = await requestor.start('one', 'fan_out', { children: 3, depth: 2, delayMs: 60_000 });
  const root = await newest(tasks);
  await expect.poll(async () => (await tasks.get(root))?.childCount).toBe(3);
  await requestor.cancel(id);
  await requestor.until('one', 'cancelled');
  expect((await tasks.get(root))?.liveChildCount).toBe(0);
});

test('S1686-48: a task that no worker has begun can be cancelled', async () => {
  const { requestor } = await serving({ works: false });
  const { id } = await requestor.start('one', 'nap', minute);
  await requestor.cancel(id);
  await requestor.until('one', 'cancelled');
});

test('S1686-48: a request whose connection is gone can be cancelled over another', async () => {
  const { requestor } = await serving();
  const exchange = await requestor.start('one', 'nap', minute);
  exchange.drop();
  await requestor.cancel(exchange.id);
  await requestor.until('one', 'cancelled');
});

test('S1686-48 S1686-46: a request of a server that was restarted can be cancelled by its id and the name of its task', async () => {
  const store = storeFrom(`sqlite:${join(temporaryFolder(), 'tasks.db')}`);
  const first = await serving({ store });
  const exchange = await first.requestor.start('one', 'nap', minute);
  const port = Number(new URL(first.url).port);
  exchange.drop();
  await first.stop();
  await serving({ store, port });
  const { requestor } = first;
  await requestor.cancel(exchange.id, 'one');
  await requestor.until('one', 'cancelled');
});

test('a cancellation that names the task and a request that did not make it is passed over', async () => {
  const { requestor } = await serving();
  const { id } = await requestor.start('one', 'nap', minute);
  const other = await requestor.start('two', 'nap', minute);
  for (const wrong of [Number(id) + 1_000_000, String(id), '', undefined as never])
    await requestor.cancel(wrong, 'one');
  await requestor.cancel(other.id, 'one');
  await requestor.until('two', 'cancelled');
  expect((await requestor.get('one')).result.status).toBe('working');
});

test('S1686-50: a cancellation that comes after the end is passed over', async () => {
  const { requestor } = await serving();
  const { id, reply } = requestor.begin('one', 'big', { bytes: 1 });
  await reply;
  await requestor.cancel(id);
  await requestor.cancel(id, 'one');
  expect((await requestor.get('one')).result.status).toBe('completed');
  expect((await requestor.result('one')).result.content[0].text).toBe('x');
});

test('a cancellation of a task that is not there is passed over', async () => {
  const { requestor } = await serving();
  await requestor.cancel(1, 'nobody');
  expect((await requestor.begin('one', 'big', { bytes: 1 }).reply).result.content[0].text).toBe('x');
});

test.each([
  ['another session of the same owner', 'token-of-ada'],
  ['another owner', 'token-of-bob'],
])('a cancellation by %s touches nothing', async (_, token) => {
  const { requestor, url, tasks } = await serving({ tokens });
  const { id } = await requestor.start('one', 'nap', minute);
  const stranger = await sessionOn(url, { token });
  for (const name of ['one', await newest(tasks, 'owner:ada')]) await stranger.cancel(id, name);
  await stranger.cancel(id);
  // Their own, of the same name, is theirs to cancel.
  const own = await stranger.start('one', 'nap', minute);
  await stranger.cancel(own.id, 'one');
  await stranger.until('one', 'cancelled');
  expect((await requestor.get('one')).result.status).toBe('working');
});

test('a connection that is cut cancels nothing', async () => {
  const { requestor } = await serving();
  const exchange = await requestor.start('one', 'slow_compute', { seconds: 0.3 });
  exchange.drop();
  await requestor.until('one', 'completed');
  expect((await requestor.result('one')).result.content[0].text).toBe('done');
});

test('a connection that is cut before anything was said of the task cancels nothing', async () => {
  const { requestor, tasks } = await serving();
  const made = Promise.withResolvers<void>();
  const exchange = requestor.begin('one', 'slow_compute', { seconds: 0.3 });
  await tasks.subscribe(() => {
    exchange.drop();
    made.resolve();
  });
  await made.promise;
  await requestor.until('one', 'completed');
});

test('a session that is ended cancels nothing: its tasks go on, and their owner finds them', async () => {
  const { requestor, url, peer, tasks } = await serving({ tokens });
  await requestor.start('one', 'slow_compute', { seconds: 0.3 });
  expect((await fetch(url, { method: 'DELETE', headers: peer.headers() })).status).toBe(200);
  expect((await tasks.outcome(await newest(tasks, 'owner:ada'))).kind).toBe('result');
});

test('the request of a task that somebody else cancels is answered with an error', async () => {
  const { requestor, tasks } = await serving();
  const { reply } = await requestor.start('one', 'nap', minute);
  await tasks.cancel(await newest(tasks));
  expect((await reply).error).toMatchObject({ code: -32603, message: expect.any(String) });
});

test('a server that has the draft off passes over cancellations of what was made while it was on', async () => {
  const store = storeFrom(`sqlite:${join(temporaryFolder(), 'tasks.db')}`);
  const first = await serving({ store });
  const exchange = await first.requestor.start('one', 'nap', minute);
  const id = await newest(first.tasks);
  exchange.drop();
  await first.stop();
  const { peer } = await serving({ store, drafts: [], port: Number(new URL(first.url).port) });
  await first.requestor.cancel(exchange.id, 'one');
  expect((await peer.get(id)).result.status).toBe('working');
});

test('a task of 2025-11-25 outlives the cancellation of its call also with the draft on', async () => {
  const { peer } = await serving();
  const response = await peer.post({
    id: 'call',
    method: 'tools/call',
    params: { name: 'nap', arguments: minute, task: {} },
  });
  const [, data] = /^data: (.*)$/m.exec(await response.text())!;
  const { taskId } = JSON.parse(data!).result.task;
  await new Requestor(peer).cancel('call', taskId);
  expect((await peer.get(taskId)).result.status).toBe('working');
});
