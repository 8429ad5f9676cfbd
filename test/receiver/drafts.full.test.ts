/** What the drafts that build on 2025-11-25 say of tasks that a client holds. */
import { expect, test } from 'vitest';
import { accepted, entrust, flags, form, type Message, meet, relatedTask } from './raw-server.ts';

test('S2229-05 an answer that comes at once needs no task, though the client makes them unasked', async () => {
  const { server, person } = await meet({ drafts: 'all', says: flags('sep-2229') });
  const asked = server.ask('elicitation/create', form);
  await person.says(accepted);
  expect((await server.answerTo(asked)).result).toEqual(accepted);
  expect((await server.request('tasks/list')).result.tasks).toEqual([]);
  expect(server.heard.some(({ method }) => method === 'notifications/tasks/status')).toBe(false);
});

test('S2229-07 a question that takes longer than a second becomes a task, though nobody wished for one', async () => {
  const { server, person } = await meet({ drafts: 'all', says: flags('sep-2229') });
  const { result } = await server.request('elicitation/create', form);
  expect(Object.keys(result)).toEqual(['task']);
  const { taskId } = result.task;
  expect((await server.request('tasks/get', { taskId })).result.status).toBe('working');
  await person.says(accepted);
  expect((await server.request('tasks/result', { taskId })).result).toEqual({
    ...accepted,
    _meta: { [relatedTask]: { taskId } },
  });
  expect(person.asked).toHaveLength(1);
});

test('S2229-06 a wish for a task says how long it should be kept, if there is one', async () => {
  const { server, person } = await meet({ drafts: 'all', says: flags('sep-2229') });
  const asked = server.ask('elicitation/create', { ...form, task: { ttl: 90_000 } });
  await person.says(accepted);
  expect((await server.answerTo(asked)).result).toEqual(accepted);
  const { result } = await server.request('elicitation/create', { ...form, task: { ttl: 90_000 } });
  expect(result.task.ttl).toBe(90_000);
});

test('a failure that comes at once is the answer, as if there had been no task', async () => {
  const { server, person } = await meet({ drafts: 'all', says: flags('sep-2229') });
  const asked = server.ask('elicitation/create', form);
  await person.fails(new Error('The screen is locked.'));
  expect((await server.answerTo(asked)).error).toMatchObject({ message: 'The screen is locked.' });
  expect((await server.request('tasks/list')).result.tasks).toEqual([]);
});

test('a server that cancels its question before there is a task gets nothing, and the person is told', async () => {
  const { server, person } = await meet({ drafts: 'all', says: flags('sep-2229') });
  const asked = server.ask('elicitation/create', form);
  await person.wasAsked();
  const { signal } = person.asked[0]!;
  const told = new Promise((resolve) => signal.addEventListener('abort', resolve));
  server.say({ method: 'notifications/cancelled', params: { requestId: asked } });
  await told;
  await server.request('tasks/list');
  expect(server.heard.some(({ id }) => id === asked)).toBe(false);
});

test('S2229-01 S2229-02 a draft that only one side has is not spoken', async () => {
  const { server, person } = await meet({ says: flags('sep-2229', 'sep-2339') });
  const asked = server.ask('elicitation/create', form);
  await person.wasAsked();
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  expect(server.heard.some(({ id }) => id === asked)).toBe(false);
  await person.says(accepted);
  expect((await server.answerTo(asked)).result).toEqual(accepted);
  expect((await server.request('tasks/continue', { taskId: 'x' })).error.code).toBe(-32601);
  const { params } = await server.notified('initialize');
  expect(params.capabilities.tasks).toMatchObject({ list: {}, cancel: {} });
  expect(params.capabilities).not.toHaveProperty('experimental');
});

test('S2268-21 a task without subtasks names neither a parent nor children', async () => {
  const { server, person } = await meet({ drafts: 'all', says: flags('sep-2268') });
  const task = await entrust(server);
  const { taskId } = task;
  await person.says(accepted);
  await server.untilStatus(taskId, 'completed');
  const shown = (await server.request('tasks/get', { taskId })).result;
  const [listed] = (await server.request('tasks/list')).result.tasks;
  const told = (await server.notified('notifications/tasks/status')).params;
  for (const one of [task, shown, listed, told] as Message[]) {
    expect(one.taskId).toBe(taskId);
    expect(one).not.toHaveProperty('parentTaskId');
    expect(one.childTaskIds ?? []).toEqual([]);
  }
  const { _meta } = (await server.request('tasks/result', { taskId })).result;
  expect(_meta[relatedTask]).toEqual({ taskId });
});

test('S2339-01 S2339-02 S2339-05 tasks/continue shows the task and then its result; tasks/result is gone', async () => {
  const { server, person } = await meet({ drafts: 'all', says: flags('sep-2339') });
  const { taskId } = await entrust(server);
  const working = (await server.request('tasks/continue', { taskId })).result;
  expect(working).toMatchObject({ taskId, status: 'working' });
  expect(working).not.toHaveProperty('result');
  await person.says(accepted);
  await server.untilStatus(taskId, 'completed');
  for (const method of ['tasks/continue', 'tasks/get'])
    expect((await server.request(method, { taskId })).result).toMatchObject({
      status: 'completed',
      result: accepted,
    });
  expect((await server.request('tasks/result', { taskId })).error.code).toBe(-32601);
  expect((await server.notified('notifications/tasks/status')).params).toMatchObject({ result: accepted });
});

test('S2339-22 who declines has answered, and what failed shows its error inside the task', async () => {
  const { server, person } = await meet({ drafts: 'all', says: flags('sep-2339') });
  const declined = await entrust(server);
  await person.says({ action: 'decline' });
  expect(await server.untilStatus(declined.taskId, 'completed')).toMatchObject({
    result: { action: 'decline' },
  });
  const failed = await entrust(server);
  await person.fails(new Error('The screen is locked.'), 2);
  expect(await server.untilStatus(failed.taskId, 'failed')).toMatchObject({
    error: { code: -32603, message: 'The screen is locked.' },
  });
  expect((await server.request('tasks/continue', { taskId: 'nobody-knows-it' })).error.code).toBe(-32602);
});

test('all drafts at once: an unasked task that is continued, with its result inside', async () => {
  const { server, person } = await meet({
    drafts: 'all',
    says: flags('sep-2229', 'sep-2268', 'sep-2339'),
  });
  const { result } = await server.request('elicitation/create', form);
  await person.says(accepted);
  const { taskId } = result.task;
  expect(await server.untilStatus(taskId, 'completed')).toMatchObject({ result: accepted });
});
