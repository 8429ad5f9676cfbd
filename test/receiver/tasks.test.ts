/** 2025-11-25 the other way round: a server asks its client for tasks, and the client holds them. */
import { expect, test } from 'vitest';
import { accepted, entrust, form, meet, relatedTask } from './raw-server.ts';

const messages = [{ role: 'user', content: { type: 'text', text: 'Why do tides come late?' } }];

test('S2025-01 S2025-03 S2025-05 a client that holds tasks says so when it opens the session', async () => {
  const { server } = await meet();
  const { params } = await server.notified('initialize');
  expect(params.capabilities.tasks).toEqual({
    list: {},
    cancel: {},
    requests: { elicitation: { create: {} }, sampling: { createMessage: {} } },
  });
});

test('S2025-08 only what the host can answer is declared, and nothing without a store', async () => {
  const formsOnly = await meet({ answers: ['form'] });
  expect((await formsOnly.server.notified('initialize')).params.capabilities.tasks.requests).toEqual({
    elicitation: { create: {} },
  });
  const { server } = await meet({ hostedTasks: undefined as never });
  expect((await server.notified('initialize')).params.capabilities).not.toHaveProperty('tasks');
});

test('a question that is asked as a task is answered with the task, before anybody has answered it', async () => {
  const { server, person } = await meet();
  const { result } = await server.request('elicitation/create', { ...form, task: { ttl: 120_000 } });
  expect(result).toEqual({
    task: {
      taskId: expect.any(String),
      status: 'working',
      createdAt: expect.any(String),
      lastUpdatedAt: expect.any(String),
      ttl: 120_000,
      pollInterval: expect.any(Number),
    },
  });
  const question = await person.wasAsked();
  expect(question).toMatchObject({ kind: 'form', message: form.message, schema: form.requestedSchema });
});

test('S2025-61 the result waits for the person, is the same for everyone who asks, and names its task', async () => {
  const { server, person } = await meet();
  const { taskId } = await entrust(server);
  const early = server.ask('tasks/result', { taskId });
  const second = server.ask('tasks/result', { taskId });
  const { result: meanwhile } = await server.request('tasks/get', { taskId });
  expect(meanwhile).toMatchObject({ taskId, status: 'working' });
  expect(meanwhile).not.toHaveProperty('_meta');
  expect(server.heard.some(({ id }) => id === early || id === second)).toBe(false);
  await person.says(accepted);
  const payload = { ...accepted, _meta: { [relatedTask]: { taskId } } };
  expect((await server.answerTo(early)).result).toEqual(payload);
  expect((await server.answerTo(second)).result).toEqual(payload);
  expect((await server.request('tasks/result', { taskId })).result).toEqual(payload);
  expect((await server.request('tasks/get', { taskId })).result.status).toBe('completed');
  expect(person.asked).toHaveLength(1);
});

test('a model is asked as a task too', async () => {
  const { server, person } = await meet();
  const { result } = await server.request('sampling/createMessage', { messages, maxTokens: 10, task: {} });
  expect(await person.wasAsked()).toMatchObject({ kind: 'sampling', params: { messages, maxTokens: 10 } });
  const said = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Friction.' } };
  await person.says(said);
  const { taskId } = result.task;
  expect((await server.request('tasks/result', { taskId })).result).toEqual({
    ...said,
    _meta: { [relatedTask]: { taskId } },
  });
});

test('S2025-73 the list shows every task of the server, page by page', async () => {
  const { server } = await meet();
  const made: string[] = [];
  for (let n = 0; n < 60; n++) made.push((await entrust(server)).taskId);
  const first = (await server.request('tasks/list')).result;
  expect(first.tasks).toHaveLength(50);
  expect(first.tasks[0]).toMatchObject({ status: 'working', ttl: null });
  const second = (await server.request('tasks/list', { cursor: first.nextCursor })).result;
  expect(second).not.toHaveProperty('nextCursor');
  const listed = [...first.tasks, ...second.tasks].map(({ taskId }) => taskId);
  expect(new Set(listed)).toEqual(new Set(made));
  const bad = await server.request('tasks/list', { cursor: 'no cursor' });
  expect(bad.error.code).toBe(-32602);
});

test('S2025-78 a task is cancelled at once, the person is told, and whoever waited gets an error', async () => {
  const { server, person } = await meet();
  const { taskId } = await entrust(server);
  await person.wasAsked();
  const waiting = server.ask('tasks/result', { taskId });
  const { result } = await server.request('tasks/cancel', { taskId });
  expect(result).toMatchObject({ taskId, status: 'cancelled', createdAt: expect.any(String) });
  expect((await server.answerTo(waiting)).error).toMatchObject({ code: expect.any(Number) });
  const { signal } = person.asked[0]!;
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  const again = await server.request('tasks/cancel', { taskId });
  expect(again.error.code).toBe(-32602);
});

test('a task that nobody knows is refused in every method', async () => {
  const { server } = await meet();
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    expect((await server.request(method, { taskId: 'nobody-knows-it' })).error.code).toBe(-32602);
    expect((await server.request(method, {})).error.code).toBe(-32602);
  }
  for (const method of ['tasks/update', 'tasks/continue', 'tasks/delete', 'tasks/else'])
    expect((await server.request(method, { taskId: 'nobody-knows-it' })).error.code).toBe(-32601);
});

test('who declines has answered: that is the result', async () => {
  const { server, person } = await meet();
  for (const [nth, action] of ['decline', 'cancel'].entries()) {
    const { taskId } = await entrust(server);
    await person.says({ action }, nth + 1);
    expect((await server.request('tasks/result', { taskId })).result).toMatchObject({ action });
    expect((await server.request('tasks/get', { taskId })).result.status).toBe('completed');
  }
});

test('a host that cannot answer fails the task, with the reason', async () => {
  const { server, person } = await meet();
  const { taskId } = await entrust(server);
  await person.fails(new Error('The screen is locked.'));
  const { error } = await server.request('tasks/result', { taskId });
  expect(error).toMatchObject({ code: -32603, message: 'The screen is locked.' });
  const task = (await server.request('tasks/get', { taskId })).result;
  expect(task).toMatchObject({ status: 'failed', statusMessage: 'The screen is locked.' });
});

test('a kind of question that the host did not declare is put to nobody', async () => {
  const { server, person } = await meet({ answers: ['form'] });
  const link = { mode: 'url', message: 'Sign in', url: 'https://example.com', elicitationId: 'e1' };
  const { result } = await server.request('elicitation/create', { ...link, task: {} });
  const { error } = await server.request('tasks/result', { taskId: result.task.taskId });
  expect(error.code).toBe(-32602);
  const sampling = await server.request('sampling/createMessage', { messages, maxTokens: 10, task: {} });
  expect(sampling.error.code).toBe(-32601);
  expect(person.asked).toEqual([]);
});

test('the server is told when a task ends, and the notification needs no related-task', async () => {
  const { server, person } = await meet();
  const { taskId } = await entrust(server);
  await person.says(accepted);
  const { params } = await server.notified('notifications/tasks/status');
  expect(params).toMatchObject({ taskId, status: 'completed', createdAt: expect.any(String) });
  expect(params).not.toHaveProperty('_meta');
});

test('S2025-02 a question that is not asked as a task is answered plainly, and leaves none', async () => {
  const { server, person } = await meet();
  const asked = server.ask('elicitation/create', form);
  await person.says(accepted);
  expect((await server.answerTo(asked)).result).toEqual(accepted);
  expect((await server.request('tasks/list')).result.tasks).toEqual([]);
});

test('S2025-08 without a store a wish for a task is passed over, and there are no methods about tasks', async () => {
  const { server, person } = await meet({ hostedTasks: undefined as never });
  const asked = server.ask('elicitation/create', { ...form, task: { ttl: 1_000 } });
  await person.says(accepted);
  expect((await server.answerTo(asked)).result).toEqual(accepted);
  for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel'])
    expect((await server.request(method, { taskId: 'x' })).error.code).toBe(-32601);
});

test('a server of a revision without tasks is answered plainly, whatever it wishes', async () => {
  const { server, person } = await meet({ says: { protocolVersion: '2025-06-18' } });
  const asked = server.ask('elicitation/create', { ...form, task: {} });
  await person.says(accepted);
  expect((await server.answerTo(asked)).result).toEqual(accepted);
  expect((await server.request('tasks/get', { taskId: 'x' })).error.code).toBe(-32601);
});

test('a server that waits no longer for a result gets none, and the task goes on', async () => {
  const { server, person } = await meet();
  const { taskId } = await entrust(server);
  const given = server.ask('tasks/result', { taskId });
  server.say({ method: 'notifications/cancelled', params: { requestId: given } });
  await person.says(accepted);
  expect((await server.request('tasks/result', { taskId })).result).toMatchObject(accepted);
  expect(server.heard.some(({ id }) => id === given)).toBe(false);
});

test('however many people think, the next question is put', async () => {
  const { server, person } = await meet();
  for (let n = 0; n < 20; n++) await entrust(server);
  await person.wasAsked(20);
});

test('a client that closes does not wait for a person, and the question is open as before', async () => {
  const { server, person, tasks } = await meet();
  await entrust(server);
  await person.wasAsked();
  await tasks.close();
  expect(person.asked[0]!.signal.aborted).toBe(true);
});
