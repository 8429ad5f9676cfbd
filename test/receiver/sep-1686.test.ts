/** SEP-1686 the other way round: the server names a task of its client, and gets the ordinary answer all the same. */
import { expect, test } from 'vitest';
import { accepted, form, type Message, type Met, meet, sharedStore } from './raw-server.ts';

const taskKey = 'modelcontextprotocol.io/task';
const related = 'modelcontextprotocol.io/related-task';
const created = 'notifications/tasks/created';

const host = () => meet({ drafts: ['sep-1686'] });

function name(server: Met['server'], taskId: string, more: object = {}): string {
  return server.ask('elicitation/create', { ...form, _meta: { [taskKey]: { taskId, ...more } } });
}

function about(server: Met['server'], method: string, taskId: string): Promise<Message> {
  return server.request(method, { taskId, _meta: { [related]: { taskId } } });
}

test('S1686-01 S1686-46 S1686-97 the server is told of its task, and gets the ordinary answer', async () => {
  const { server, person } = await host();
  const asked = name(server, 'its-name', { keepAlive: 60_000 });
  const told = await server.notified(created);
  expect(told.params._meta).toEqual({ [related]: { taskId: 'its-name' } });
  const working = (await about(server, 'tasks/get', 'its-name')).result;
  expect(working).toMatchObject({ taskId: 'its-name', keepAlive: 60_000 });
  expect(['submitted', 'working']).toContain(working.status);
  expect(working._meta).toEqual({ [related]: { taskId: 'its-name' } });
  const early = await about(server, 'tasks/result', 'its-name');
  expect(early.error.code).toBe(-32602);
  await person.says(accepted);
  expect((await server.answerTo(asked)).result).toEqual({
    ...accepted,
    _meta: { [related]: { taskId: 'its-name' } },
  });
  expect((await about(server, 'tasks/get', 'its-name')).result.status).toBe('completed');
  for (let n = 0; n < 2; n++)
    expect((await about(server, 'tasks/result', 'its-name')).result).toMatchObject(accepted);
});

test('S1686-05 S1686-11 a client that takes named tasks has said which, and a model can be one', async () => {
  const { server, person } = await host();
  const { params } = await server.notified('initialize');
  expect(params.capabilities.tasks.requests).toHaveProperty('sampling.createMessage');
  const asked = server.ask('sampling/createMessage', {
    messages: [],
    maxTokens: 1,
    _meta: { [taskKey]: { taskId: 'model' } },
  });
  await server.notified(created);
  const said = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Tides.' } };
  await person.says(said);
  expect((await server.answerTo(asked)).result).toMatchObject(said);
});

test('S1686-23 a name that is taken is refused, and nobody is asked twice', async () => {
  const { server, person } = await host();
  name(server, 'twice');
  await person.wasAsked();
  const { error } = await server.answerTo(name(server, 'twice'));
  expect(error.code).toBe(-32602);
  expect(person.asked).toHaveLength(1);
});

test('S1686-19 a name that is none is refused, and nobody is asked', async () => {
  const { server, person } = await host();
  for (const taskId of [undefined, 7, '', null]) {
    const { error } = await server.request('elicitation/create', {
      ...form,
      _meta: { [taskKey]: { taskId } },
    });
    expect(error.code).toBe(-32602);
  }
  const both = { ...form, task: {}, _meta: { [taskKey]: { taskId: 'both' } } };
  expect((await server.request('elicitation/create', both)).error.code).toBe(-32602);
  expect(person.asked).toEqual([]);
});

test('S1686-52 a server that cancels its request cancels the task, and the person is told', async () => {
  const { server, person } = await host();
  const asked = name(server, 'cancelled');
  await person.wasAsked();
  const { signal } = person.asked[0]!;
  const told = new Promise((resolve) => signal.addEventListener('abort', resolve));
  server.say({ method: 'notifications/cancelled', params: { requestId: asked } });
  await told;
  expect((await about(server, 'tasks/get', 'cancelled')).result.status).toBe('cancelled');
  expect((await about(server, 'tasks/result', 'cancelled')).error.code).toBe(-32602);
  expect(server.heard.some(({ id }) => id === asked)).toBe(false);
});

test('a cancellation that comes on another connection names the task and its request', async () => {
  const { server, person, tasks } = await host();
  const asked = name(server, 'elsewhere');
  await person.wasAsked();
  server.drop();
  await tasks.callTool({ name: 'x' }).catch(() => {});
  await server.notified('initialize', 2);
  const cancel = (requestId: string) =>
    server.say({
      method: 'notifications/cancelled',
      params: { requestId, _meta: { [related]: { taskId: 'elsewhere' } } },
    });
  cancel('another-request');
  expect((await about(server, 'tasks/get', 'elsewhere')).result.status).toBe('working');
  cancel(asked);
  await expect
    .poll(async () => (await about(server, 'tasks/get', 'elsewhere')).result.status)
    .toBe('cancelled');
});

test('S1686-56 S1686-61 the list shows names, and what is deleted is gone', async () => {
  const { server, person } = await host();
  const asked = name(server, 'to be deleted', { keepAlive: null });
  await person.says(accepted);
  await server.answerTo(asked);
  const list = () => server.request('tasks/list', { _meta: { [related]: {} } });
  expect((await list()).result.tasks).toMatchObject([{ taskId: 'to be deleted', status: 'completed' }]);
  const { result } = await about(server, 'tasks/delete', 'to be deleted');
  expect(result).toEqual({ _meta: { [related]: { taskId: 'to be deleted' } } });
  expect((await about(server, 'tasks/get', 'to be deleted')).error.code).toBe(-32602);
  expect((await about(server, 'tasks/delete', 'to be deleted')).error.code).toBe(-32602);
  expect((await list()).result.tasks).toEqual([]);
});

test('S1686-06 S1686-98 a client without the draft answers as if nothing had been named', async () => {
  const { server, person } = await meet();
  const asked = name(server, 'ignored');
  await person.says(accepted);
  expect((await server.answerTo(asked)).result).toEqual(accepted);
  expect(server.heard.some(({ method }) => method === created)).toBe(false);
  expect((await about(server, 'tasks/get', 'ignored')).error.code).toBe(-32602);
});

test('S1686-20 two servers may use the same name', async () => {
  const hosts = sharedStore();
  const one = await meet({ hostedTasks: hosts, drafts: ['sep-1686'], says: { name: 'one' } });
  const two = await meet({ hostedTasks: hosts, drafts: ['sep-1686'], says: { name: 'two' } });
  name(one.server, 'same');
  await one.person.says(accepted);
  await expect
    .poll(async () => (await about(one.server, 'tasks/get', 'same')).result.status)
    .toBe('completed');
  expect((await about(two.server, 'tasks/get', 'same')).error.code).toBe(-32602);
  name(two.server, 'same');
  await two.person.wasAsked();
  expect((await about(two.server, 'tasks/get', 'same')).result.status).toBe('working');
});
