/** On a pipe the owner is whoever started the process, and the connection is the session. */
import { PassThrough } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { serveStdio } from 'holdfast/server';
import { expect, onTestFinished, test } from 'vitest';
import { type Message, PipeWire, related, taskKey } from '../dialects/sep-1686/requestor.ts';
import { fixtureFactory, fixtureTasks, storeFrom } from '../fixture/server.ts';
import { accept, rawMessage } from '../serving/raw-client.ts';
import { logOf, story } from './log.ts';

async function piped({ opens = true } = {}) {
  const tasks = fixtureTasks({ store: storeFrom('memory:'), drafts: 'all', audit: true });
  await tasks.work({ grace: '100ms' });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = new StdioServerTransport(input, output);
  const server = serveStdio(tasks, fixtureFactory(tasks), { transport, stopOn: [] });
  onTestFinished(() => server.stop());
  const wire = new PipeWire(output, input);
  if (opens) await wire.open();
  const send = async (message: Message): Promise<Message> => {
    let answer: Message = {};
    const hear = (heard: Message) => {
      if (heard.id === message.id && !('method' in heard)) answer = heard;
    };
    await wire.send(message, hear, new AbortController().signal);
    return answer;
  };
  return { tasks, send };
}

const whole = ['created by caller', 'answered by caller', 'ended by engine', 'result-read by caller'];

test('2026-07-28 on a pipe', async () => {
  const { tasks, send } = await piped({ opens: false });
  const ask = async (method: string, params: object) => (await send(rawMessage(method, params))).result;
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
  const { tasks, send } = await piped();
  const call = { name: 'slow_compute', arguments: { seconds: 0 }, task: {} };
  const { result } = await send({ id: 1, method: 'tools/call', params: call });
  const { taskId } = result.task;
  await send({ id: 2, method: 'tasks/result', params: { taskId } });
  await send({ id: 3, method: 'tasks/get', params: { taskId: 'nobody' } });
  const log = await logOf(tasks, { taskId });
  expect(story(log)).toEqual(['created by caller', 'ended by engine', 'result-read by caller']);
  for (const entry of log) expect(entry).toMatchObject({ owner: 'local', dialect: '2025-11-25' });
  expect(await logOf(tasks, { action: 'denied' })).toMatchObject([
    { owner: 'local', taskId: 'nobody', dialect: '2025-11-25' },
  ]);
});

test('SEP-1686 on a pipe', async () => {
  const { tasks, send } = await piped();
  const _meta = { [taskKey]: { taskId: 'mine' } };
  const call = { name: 'slow_compute', arguments: { seconds: 0 }, _meta };
  await send({ id: 1, method: 'tools/call', params: call });
  await send({ id: 2, method: 'tasks/delete', params: { taskId: 'mine', _meta: related('mine') } });
  await send({ id: 3, method: 'tasks/result', params: { taskId: 'mine', _meta: related('mine') } });
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
