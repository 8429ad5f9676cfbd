/** On a pipe the owner is whoever started the process, and the connection is the session. */
import { expect, test } from 'vitest';
import { related, taskKey } from '../dialects/sep-1686/requestor.ts';
import { fixtureOnPipe } from '../kit/serve.ts';
import { accept } from '../serving/raw-client.ts';
import { logOf, story } from './log.ts';

const options = { drafts: 'all', audit: true } as const;

const whole = ['created by caller', 'answered by caller', 'ended by engine', 'result-read by caller'];

test('2026-07-28 on a pipe', async () => {
  const { tasks, client } = await fixtureOnPipe(options);
  const ask = async (method: string, params: object) => (await client.request(method, params)).result;
  const { taskId } = await ask('tools/call', { name: 'ask_name', arguments: {} });
  await expect.poll(async () => (await tasks.get(taskId))?.phase).toBe('waiting');
  await ask('tasks/update', { taskId, inputResponses: { name: accept({ name: 'Ada' }) } });
  await tasks.outcome(taskId);
  await ask('tasks/get', { taskId });
  const log = await logOf(tasks, { taskId });
  expect(story(log)).toEqual(whole);
  for (const entry of log) expect(entry).toMatchObject({ owner: 'local', dialect: '2026-07-28' });
  await ask('tasks/get', { taskId: 'nobody' });
  expect(await logOf(tasks, { action: 'denied' })).toMatchObject([{ owner: 'local', taskId: 'nobody' }]);
});

test('2025-11-25 on a pipe', async () => {
  const { tasks, client } = await fixtureOnPipe(options);
  await client.open();
  const call = { name: 'slow_compute', arguments: { seconds: 0 }, task: {} };
  const { result } = await client.request('tools/call', call);
  const { taskId } = result.task;
  await client.request('tasks/result', { taskId });
  await client.request('tasks/get', { taskId: 'nobody' });
  const log = await logOf(tasks, { taskId });
  expect(story(log)).toEqual(['created by caller', 'ended by engine', 'result-read by caller']);
  for (const entry of log) expect(entry).toMatchObject({ owner: 'local', dialect: '2025-11-25' });
  expect(await logOf(tasks, { action: 'denied' })).toMatchObject([
    { owner: 'local', taskId: 'nobody', dialect: '2025-11-25' },
  ]);
});

test('SEP-1686 on a pipe', async () => {
  const { tasks, client } = await fixtureOnPipe(options);
  await client.open();
  const _meta = { [taskKey]: { taskId: 'mine' } };
  const call = { name: 'slow_compute', arguments: { seconds: 0 }, _meta };
  await client.request('tools/call', call);
  await client.request('tasks/delete', { taskId: 'mine', _meta: related('mine') });
  await client.request('tasks/result', { taskId: 'mine', _meta: related('mine') });
  const log = await logOf(tasks, { owner: 'local' });
  expect(story(log)).toEqual([
    'created by caller',
    'ended by engine',
    'deleted by caller',
    'result-read by caller',
    'denied by caller',
  ]);
  for (const entry of log) expect(entry.dialect).toBe('sep-1686');
  expect(log.at(-1)).toMatchObject({ taskId: 'mine' });
});
