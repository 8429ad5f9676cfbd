/**
 * The example that the discussion of SEP-2339 works through, message by message. Two slips of it are corrected: `task`
 * stands inside the params, and the answer has the field that the question asks for.
 */
import { type DurableTool, durableTool } from 'holdfast';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { serving } from '../drafts/peer.ts';

const helloWorld = durableTool('hello_world', { task: 'always' }, async (_, task) => {
  task.setPollInterval('5s');
  await task.waitForEvent('reached the question');
  const answer = await task.ask('name', {
    message: 'How shall I call you?',
    schema: z.object({ name: z.string() }),
  });
  const { name } = answer.action === 'accept' ? answer.content : { name: 'nobody' };
  await task.waitForEvent('reached the end');
  return { content: [{ type: 'text', text: `Good day, ${name}!` }], isError: false };
}) as DurableTool;

test('S2339-01 S2339-02 S2339-10 S2339-11 S2339-15 S2339-19: the worked example, same messages in the same order', async () => {
  const { tasks, open } = await serving({ drafts: ['sep-2339'], more: [helloWorld] });
  const peer = await open(['sep-2339']);

  const call = { name: 'hello_world', arguments: {}, task: { ttl: 30_000 } };
  const created = await peer.request('tools/call', call);
  const { taskId } = created.result.task;
  const inStatus = (status: string) => ({
    taskId,
    status,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    lastUpdatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    ttl: 30_000,
    pollInterval: expect.any(Number),
  });
  expect(created).toEqual({
    jsonrpc: '2.0',
    id: expect.any(Number),
    result: { task: inStatus('working') },
  });

  const polled = await peer.request('tasks/continue', { taskId });
  expect(polled).toEqual({ jsonrpc: '2.0', id: created.id + 1, result: inStatus('working') });

  await tasks.sendEvent(taskId, 'reached the question');
  await expect.poll(async () => (await tasks.get(taskId))?.phase).toBe('waiting');
  const asked = await peer.request('tasks/continue', { taskId });
  expect(asked).toEqual({
    jsonrpc: '2.0',
    id: created.id + 2,
    result: {
      inputRequests: {
        name: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: 'How shall I call you?',
            requestedSchema: {
              type: 'object',
              properties: { name: { type: 'string' } },
              required: ['name'],
            },
          },
        },
      },
    },
  });

  const answered = await peer.request('tasks/continue', {
    taskId,
    inputResponses: { name: { action: 'accept', content: { name: 'Ada' } } },
  });
  expect(answered).toEqual({ jsonrpc: '2.0', id: created.id + 3, result: inStatus('working') });
  expect(answered.result.pollInterval).toBe(5_000);

  await tasks.sendEvent(taskId, 'reached the end');
  await expect.poll(async () => (await tasks.get(taskId))?.phase).toBe('done');
  const completed = await peer.request('tasks/continue', { taskId });
  expect(completed).toEqual({
    jsonrpc: '2.0',
    id: created.id + 4,
    result: {
      ...inStatus('completed'),
      result: { content: [{ type: 'text', text: 'Good day, Ada!' }], isError: false },
    },
  });
});

test('S2339-26: the slips as they were printed ask for no task, and answer nothing', async () => {
  const { tasks, open } = await serving({ drafts: ['sep-2339'], more: [helloWorld] });
  const peer = await open(['sep-2339']);
  const { taskId } = (await peer.call('hello_world', {}, { task: { ttl: 30_000 } })).result.task;
  await tasks.sendEvent(taskId, 'reached the question');
  await expect.poll(async () => (await tasks.get(taskId))?.phase).toBe('waiting');
  const { error } = await peer.request('tasks/continue', {
    taskId,
    inputResponses: { name: { action: 'accept', content: { input: 'Ada' } } },
  });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('name') });

  const response = await peer.post({
    id: 'outside',
    method: 'tools/call',
    params: { name: 'big', arguments: { bytes: 2 } },
    task: { ttl: 30_000 },
  });
  expect(await response.text()).not.toContain('"task"');
});
