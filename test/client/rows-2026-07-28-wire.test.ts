/** Requirements of 2026-07-28 for transports, and what the revision has removed. */
import { expect, test } from 'vitest';
import { form, Person, RawServer } from '../receiver/raw-server.ts';
import { by, discovered, facing, recorded, shown, text } from './rows-recorded.ts';

const isModern = true;

function detailed(taskId: string, status: string, more: object = {}): object {
  return { resultType: 'complete', ...shown(taskId, status), pollIntervalMs: 10, ...more };
}

const done = (taskId: string) => detailed(taskId, 'completed', { result: text('done') });

test('S2026-05 on stdio an aborted request is cancelled by its id, and no other', async () => {
  let looks = 0;
  const { server, tasks, of } = await facing(
    by({
      'tools/call': () => ({ result: detailed('t', 'working', { resultType: 'task' }) }),
      'tasks/get': () => ({ result: ++looks < 10 ? detailed('t', 'working') : done('t') }),
    }),
    { isModern },
  );
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('done'));
  const { params } = await server.notified('notifications/cancelled');
  const listens = of('subscriptions/listen').map(({ id }) => id);
  expect(listens.length).toBeGreaterThan(0);
  expect(listens).toContain(params.requestId);
  for (const one of of('notifications/cancelled')) expect(listens).toContain(one.params.requestId);
});

test('S2026-12 an id that is not valid in a header is sent as base64', async () => {
  const taskId = 'tâche n° 1';
  const server = new RawServer();
  server.answer = by({
    'server/discover': () => ({
      result: discovered({ tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }),
    }),
    'tools/list': () => ({ result: { resultType: 'complete', tools: [] } }),
    'tools/call': () => ({ result: detailed(taskId, 'working', { resultType: 'task' }) }),
    'tasks/get': () => ({ result: done(taskId) }),
  });
  const { tasks, of } = await recorded(await server.listen(), { isModern });
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('done'));
  const encoded = `=?base64?${Buffer.from(taskId).toString('base64')}?=`;
  expect(of('tasks/get').map(({ headers }) => headers['mcp-name'])).toEqual([encoded]);
});

test('S2663-95 tasks/list, tasks/result and client-hosted tasks no longer exist', async () => {
  const person = new Person();
  const { server, tasks, of } = await facing(
    by({
      'tools/call': () => ({ result: detailed('t', 'working', { resultType: 'task' }) }),
      'tasks/get': () => ({ result: done('t') }),
    }),
    { isModern, hostedTasks: 'memory:', answers: ['form'], answer: person.answer },
  );
  await expect(
    (async () => {
      for await (const _ of tasks.list());
    })(),
  ).rejects.toMatchObject({
    name: 'RemoteError',
    rpcCode: -32601,
    message: expect.stringMatching(/^The server has no list of tasks/),
  });
  const asked = server.ask('elicitation/create', { ...form, task: {} });
  await tasks.callTool({ name: 'work' });
  expect([...of('tasks/list'), ...of('tasks/result')]).toEqual([]);
  expect(server.heard.find(({ id }) => id === asked)?.result).toBeUndefined();
  expect(person.asked).toEqual([]);
});

test('a task inside "task", as in an interim draft, is accepted', async () => {
  const { tasks } = await facing(
    by({
      'tools/call': () => ({ result: { resultType: 'task', task: shown('t', 'working') } }),
      'tasks/get': () => ({ result: done('t') }),
    }),
    { isModern },
  );
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('done'));
});
