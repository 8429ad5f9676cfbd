import { expect, test } from 'vitest';
import { Peer as Later, withTasks } from '../revision-2026-07-28/peer.ts';
import { Peer as Older, served } from './peer.ts';

test('S2663-86: one endpoint serves both revisions, each request by what it says itself', async () => {
  const { url, peer } = await served();
  const later = new Later(url, withTasks);
  expect((await later.call('nap', { ms: 1 })).result.resultType).toBe('task');
  expect((await peer.call('nap', { ms: 1 }, { task: {} })).result.task.status).toBe('working');
});

test('a task made on one revision can be read, answered and cancelled on the other', async () => {
  const { url, peer } = await served();
  const later = new Later(url, withTasks);
  const older = await peer.start('ask_name');
  const { inputRequests } = await later.until(older, 'input_required');
  expect(Object.keys(inputRequests)).toEqual(['name']);
  const name = { action: 'accept', content: { name: 'Ada' } };
  await later.request('tasks/update', { taskId: older, inputResponses: { name } });
  expect((await peer.request('tasks/result', { taskId: older })).result.content[0].text).toBe('Hello, Ada!');

  const newer = await later.start('nap', { ms: 60_000 });
  expect((await peer.get(newer)).result.status).toBe('working');
  expect((await peer.request('tasks/cancel', { taskId: newer })).result.status).toBe('cancelled');
  expect((await later.get(newer)).result.status).toBe('cancelled');
});

test('a question is not put to a client that cannot be asked: it stays open for one that can answer', async () => {
  const { url } = await served();
  const later = new Later(url, withTasks);
  const mute = new Older(url, { capabilities: {} });
  await mute.open();
  const taskId = await later.start('ask_name');
  await later.until(taskId, 'input_required');
  const result = mute.send('tasks/result', { taskId });
  for (let looks = 0; looks < 10; looks++)
    expect((await mute.get(taskId)).result.status).toBe('input_required');
  const name = { action: 'accept', content: { name: 'Ada' } };
  await later.request('tasks/update', { taskId, inputResponses: { name } });
  const { message, before } = await result;
  expect(message.result.content[0].text).toBe('Hello, Ada!');
  expect(before).toEqual([]);
});

test('an error result is a failure to the one, and completes the task to the other', async () => {
  const { url, peer } = await served();
  const taskId = await peer.start('failing_job');
  await peer.until(taskId, 'failed');
  expect((await new Later(url, withTasks).get(taskId)).result).toMatchObject({
    status: 'completed',
    result: { isError: true },
  });
});

test('S2663-89: a client of the later revision that knows only the older tasks may come back to those it made', async () => {
  const { url, peer } = await served();
  const both = new Later(url, { tasks: { requests: { tools: { call: {} } } } });
  const taskId = await peer.start('big', { bytes: 3 });
  await peer.until(taskId, 'completed');
  const { result } = await both.get(taskId);
  expect(result).toMatchObject({
    taskId,
    status: 'completed',
    ttl: expect.any(Number),
    result: { content: [{ type: 'text', text: 'xxx' }] },
  });
  const running = await peer.start('nap', { ms: 60_000 });
  expect((await both.request('tasks/cancel', { taskId: running })).error).toBe(undefined);
  expect((await peer.get(running)).result.status).toBe('cancelled');
  const newer = await new Later(url, withTasks).start('nap', { ms: 60_000 });
  expect((await both.get(newer)).error.code).toBe(-32021);
});

test('a session does not open a way past the owner', async () => {
  const { url, peer } = await served({ tokens: { 'token-of-ada': 'ada', 'token-of-bob': 'bob' } });
  const bob = new Older(url, { token: 'token-of-bob' });
  await bob.open();
  const taskId = await peer.start('nap', { ms: 60_000 });
  expect((await bob.get(taskId)).error.code).toBe(-32602);
});
