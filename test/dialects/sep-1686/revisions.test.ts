/** One task, whichever revision its owner looks at it with. */
import { expect, test } from 'vitest';
import { Peer as Later, withTasks } from '../revision-2026-07-28/peer.ts';
import { newest, serving, sessionOn, tokens } from './requestor.ts';

const yes = { action: 'accept', content: { name: 'Ada' } };

test('a task made here is found by its owner through tasks/list of 2025-11-25, and read, and cancelled', async () => {
  const { requestor, peer } = await serving({ tokens });
  const { reply } = await requestor.start('one', 'nap', { ms: 60_000 });
  const [{ taskId }] = (await peer.request('tasks/list')).result.tasks;
  expect(taskId).not.toBe('one');
  expect((await peer.get(taskId)).result).toMatchObject({ taskId, status: 'working' });
  expect((await peer.request('tasks/cancel', { taskId })).result.status).toBe('cancelled');
  expect((await requestor.get('one')).result.status).toBe('cancelled');
  expect((await reply).error.code).toBe(-32603);
});

test('its result can be waited for through tasks/result of 2025-11-25, in another session too', async () => {
  const { requestor, peer, url } = await serving({ tokens });
  const exchange = await requestor.start('one', 'ask_name');
  const [{ taskId }] = (await peer.request('tasks/list')).result.tasks;
  const other = await sessionOn(url, { token: 'token-of-ada' });
  const waiting = other.request('tasks/result', { taskId });
  const { id } = await exchange.next('elicitation/create');
  await requestor.answer(id, yes);
  const { result } = await waiting;
  expect(result.content[0].text).toBe('Hello, Ada!');
  expect(result._meta).toEqual({ 'io.modelcontextprotocol/related-task': { taskId } });
});

test('a task made here is read, answered and cancelled through 2026-07-28, by its id there', async () => {
  const { requestor, tasks, url } = await serving();
  const later = new Later(url, withTasks);
  const exchange = await requestor.start('one', 'ask_name', {}, { keepAlive: 60_000 });
  const taskId = await newest(tasks);
  expect((await later.get('one')).error.code).toBe(-32602);
  await later.until(taskId, 'input_required');
  await later.request('tasks/update', { taskId, inputResponses: { name: yes } });
  await exchange.reply;
  const { result } = await later.get(taskId);
  expect(result).toMatchObject({ taskId, status: 'completed', ttlMs: expect.any(Number) });
  expect(result.result.content[0].text).toBe('Hello, Ada!');
  expect(result).not.toHaveProperty('keepAlive');
});

test('a keepAlive is shown on the others as the time from creation to the end of it', async () => {
  const { requestor, tasks, url, peer } = await serving();
  await requestor.begin('one', 'big', { bytes: 1 }, { keepAlive: 60_000.5 }).reply;
  const task = await tasks.get(await newest(tasks));
  if (task?.phase !== 'done') throw new Error('The task is not done.');
  const ttl = task.finishedAt - task.createdAt + 60_001;
  expect((await peer.get(task.id)).result.ttl).toBe(ttl);
  expect((await new Later(url, withTasks).get(task.id)).result.ttlMs).toBe(ttl);
});

test('tasks of the other revisions are read, fetched and deleted here by their ids', async () => {
  const { requestor, url, peer } = await serving();
  const older = await peer.start('big', { bytes: 2 }, { ttl: 120_000 });
  const later = await new Later(url, withTasks).start('big', { bytes: 3 });
  for (const [taskId, text] of [
    [older, 'xx'],
    [later, 'xxx'],
  ] as const) {
    await requestor.until(taskId, 'completed');
    expect((await requestor.get(taskId)).result).toMatchObject({ taskId, keepAlive: expect.any(Number) });
    expect((await requestor.result(taskId)).result.content[0].text).toBe(text);
    expect((await requestor.delete(taskId)).error).toBe(undefined);
    expect((await peer.get(taskId)).error.code).toBe(-32602);
  }
});

test('a task with a ttl shows here how long it is kept after its end, which is at least the shortest there is', async () => {
  const { requestor, peer } = await serving();
  const long = await peer.start('big', { bytes: 1 }, { ttl: 120_000 });
  const short = await peer.start('big', { bytes: 1 }, { ttl: 1 });
  const { keepAlive } = await requestor.until(long, 'completed');
  expect(keepAlive).toBeGreaterThan(60_000);
  expect(keepAlive).toBeLessThanOrEqual(120_000);
  expect((await requestor.until(short, 'completed')).keepAlive).toBe(1_000);
});

test('an error result completes its task here, though it is a failure on 2025-11-25', async () => {
  const { requestor, peer } = await serving();
  const taskId = await peer.start('failing_job');
  await peer.until(taskId, 'failed');
  expect((await requestor.get(taskId)).result.status).toBe('completed');
});

test('a wish for a part of a millisecond is granted in whole ones, on every revision', async () => {
  const { requestor, peer, url, tasks } = await serving();
  const later = new Later(url, withTasks);
  const wished = await peer.start('nap', { ms: 60_000 }, { ttl: 90_000.25 });
  expect((await later.get(wished)).result.ttlMs).toBe(90_001);
  await requestor.start('one', 'nap', { ms: 1 }, { keepAlive: 90_000.25 });
  await requestor.until('one', 'completed');
  expect((await later.get(await newest(tasks))).result.ttlMs % 1).toBe(0);
});
