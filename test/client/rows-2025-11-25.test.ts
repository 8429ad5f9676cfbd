/** Requirements of 2025-11-25 for callers of tasks. */

import { memoryCallRegistry } from 'holdfast/client';
import { expect, test } from 'vitest';

import { Detached, MalformedAnswer, RemoteError, TaskCancelled } from '../../src/remote-tasks/errors.ts';
import { served } from '../dialects/revision-2025-11-25/peer.ts';
import type { Message } from '../kit/wire.ts';
import { accepted, form, meet } from '../receiver/raw-server.ts';
import { by, facing, oneByOne, recorded, refusal, shown, text, tool } from './rows-recorded.ts';

const callable = { tasks: { requests: { tools: { call: {} } } } };

test.each([
  ['without tasks', {}, 'required'],
  ['without tasks for tool calls', { tasks: { list: {}, cancel: {} } }, 'optional'],
  ['whose tool forbids tasks', callable, 'forbidden'],
  ['whose tool has no task support', callable, undefined],
])(
  'S2025-06 S2025-07 S2025-12 S2025-13 a server %s is never asked for a task',
  async (_, capabilities, support) => {
    const { tasks, of } = await facing(
      by({ 'tools/list': () => tool(support), 'tools/call': () => ({ result: text('plain') }) }),
      { says: { capabilities: { tools: {}, ...capabilities } } },
    );
    expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('plain'));
    expect(of('tools/call')).toHaveLength(1);
    expect(of('tools/call')[0]!.params).not.toHaveProperty('task');
  },
);

test.each(['required', 'optional'])(
  'S2025-15 S2025-16 S2025-18 S2025-19 a tool with tasks %s is called as a task',
  async (support) => {
    const { tasks, of } = await facing(
      by({
        'tools/list': () => tool(support),
        'tools/call': () => ({ result: { task: shown('t', 'working') } }),
        'tasks/get': () => ({ result: shown('t', 'completed') }),
        'tasks/result': () => ({ result: text('done') }),
      }),
    );
    expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('done'));
    await tasks.callTool({ name: 'work' }, { ttl: '90s' });
    expect(of('tools/call').map(({ params }) => params.task)).toEqual([{}, { ttl: 90_000 }]);
  },
);

test('an unavailable store of the server does not end the task: the result is requested again', async () => {
  const away = { code: -32603, message: 'The task store is not available.', data: { reason: 'unavailable' } };
  const answer = oneByOne({ error: away }, { error: away }, { result: text('done') });
  const { tasks, of } = await facing(
    by({
      'tools/call': () => ({ result: { task: shown('t', 'working') } }),
      'tasks/get': () => ({ result: shown('t', 'completed') }),
      'tasks/result': () => answer(),
    }),
  );
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('done'));
  expect(of('tasks/result')).toHaveLength(3);
});

test('S2025-34 the time between two polls is that of the server', async () => {
  const looks: number[] = [];
  const status = oneByOne('working', 'working', 'completed');
  const { tasks } = await facing(
    by({
      'tools/call': () => ({ result: { task: shown('t', 'working', { pollInterval: 250 }) } }),
      'tasks/get': () => {
        looks.push(performance.now());
        return { result: shown('t', status(), { pollInterval: 250 }) };
      },
      'tasks/result': () => ({ result: text('done') }),
    }),
  );
  await tasks.callTool({ name: 'work' });
  const gaps = looks.slice(1).map((at, i) => at - looks[i]!);
  expect(gaps).toHaveLength(2);
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(245);
});

test('S2025-35 S2025-36 S2025-43 S2025-60 at input_required the client requests the result and continues to poll', async () => {
  const order: string[] = [];
  const status = oneByOne('working', ...Array(4).fill('input_required'), 'completed');
  let failures = 1;
  const { tasks, of } = await facing(
    by({
      'tools/call': () => ({ result: { task: shown('t', 'working') } }),
      'tasks/get': () => {
        const now = status();
        order.push(now);
        return { result: shown('t', now) };
      },
      'tasks/result': () => {
        order.push('result');
        // The stream is lost, then the task waits, then it is done.
        if (failures-- > 0) return refusal(-32603, 'The stream was lost.');
        return order.includes('completed') ? { result: text('done') } : undefined;
      },
    }),
    { answers: ['form'], answer: () => accepted },
  );
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('done'));
  expect(order.slice(0, 3)).toEqual(['working', 'input_required', 'result']);
  expect(order.filter((one) => one === 'input_required')).toHaveLength(4);
  expect(of('tasks/result').length).toBeGreaterThanOrEqual(2);
  expect(order.indexOf('completed')).toBeGreaterThan(order.indexOf('result'));
});

test('S2025-64 task requests contain the task id, and no related-task metadata', async () => {
  const { url } = await served({ tokens: { secret: 'somebody' } });
  const headers = { authorization: 'Bearer secret' };
  const { tasks, sent } = await recorded(url, { headers, answers: ['form'], answer: () => accepted });
  const asked = await tasks.call('ask_name');
  await asked.result();
  const napping = await tasks.call('nap', { ms: 60_000 });
  await napping.cancel();
  await Array.fromAsync(tasks.list());
  const about = sent.filter(({ method }) => String(method).startsWith('tasks/'));
  const kinds = new Set(about.map(({ method }) => method));
  expect([...kinds].sort()).toEqual(['tasks/cancel', 'tasks/get', 'tasks/list', 'tasks/result']);
  for (const { params } of about) expect(params).not.toHaveProperty('_meta');
});

test('S2025-68 S2025-69 S2025-35 the content of a notification is not trusted, and polling continues', async () => {
  const status = oneByOne('working', 'working', 'working', 'completed');
  const { server, tasks, of } = await facing(
    by({
      'tools/call': () => ({ result: { task: shown('t', 'working') } }),
      'tasks/get': () => {
        const now = status();
        // The notification comes long before the task has ended.
        server.say({ method: 'notifications/tasks/status', params: shown('t', 'completed') });
        return { result: shown('t', now) };
      },
      'tasks/result': () => ({ result: text('done') }),
    }),
  );
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('done'));
  expect(of('tasks/get')).toHaveLength(4);
  const methods = server.heard.map(({ method }) => method);
  expect(methods.indexOf('tasks/result')).toBeGreaterThan(methods.lastIndexOf('tasks/get'));
});

test('S2025-73 S2025-76 cursors are sent back unchanged', async () => {
  const cursor = ' %7B"no":[your business]} \u00e9=?';
  const { tasks, of } = await facing(
    by({
      'tasks/list': ({ cursor: at }) =>
        at === undefined
          ? { result: { tasks: [shown('a', 'working')], nextCursor: cursor } }
          : { result: { tasks: [shown('b', 'completed')] } },
    }),
  );
  const listed = await Array.fromAsync(tasks.list());
  expect(listed.map(({ taskId }) => taskId)).toEqual(['a', 'b']);
  expect(of('tasks/list').map(({ params }) => params)).toEqual([{}, { cursor }]);
});

test('S2025-09 S2025-10 tasks/list is not sent to a server that does not declare it', async () => {
  const { tasks, of } = await facing(by({}), { says: { capabilities: { tools: {}, ...callable } } });
  await expect(Array.fromAsync(tasks.list())).rejects.toThrow(RemoteError);
  expect(of('tasks/list')).toEqual([]);
});

test('S2025-84 S2025-85 the result of a cancelled task is not requested, and its request is not cancelled', async () => {
  const { url } = await served();
  const { tasks, sent, of } = await recorded(url);
  const handle = await tasks.call('nap', { ms: 60_000 });
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow(TaskCancelled);
  expect(of('tasks/cancel').map(({ params }) => params)).toEqual([{ taskId: handle.taskId }]);
  const after = sent.slice(sent.findIndex(({ method }) => method === 'tasks/cancel') + 1);
  expect(after.map(({ method }) => method)).not.toContain('tasks/result');
  expect(of('notifications/cancelled')).toEqual([]);
});

test('S2025-112 S2025-113 events of a call are reported as they happen, and name its task', async () => {
  const { url } = await served();
  const handles = memoryCallRegistry();
  const events: object[] = [];
  const { tasks } = await recorded(url, { registry: handles, onEvent: (event) => events.push(event) });
  const handle = await tasks.call('nap', { ms: 30 });
  const { taskId } = handle;
  expect(handles.get(handle.id)).toMatchObject({
    taskId,
    method: 'tools/call',
    params: { name: 'nap', arguments: { ms: 30 } },
    server: 'holdfast-fixture',
  });
  await handle.result();
  const about = { handle: handle.id, tool: 'nap' };
  expect(events[0]).toMatchObject({ ...about, event: 'called', at: expect.any(Number) });
  expect(events).toContainEqual(expect.objectContaining({ ...about, taskId, event: 'task' }));
  expect(events).toContainEqual(expect.objectContaining({ event: 'status', detail: 'completed' }));
  expect(events.at(-1)).toMatchObject({ ...about, event: 'done' });
});

test('S2025-24 the model gets the interim text of the server, or else that of the host', async () => {
  const { url } = await served();
  const { tasks } = await recorded(url, { interimText: (name) => `Still busy with ${name}.` });
  const interim = async (name: string, input: object) => {
    const updates = await Array.fromAsync<Message>((await tasks.call(name, input as never)).updates());
    return updates.filter(({ type }) => type === 'interim').map((update) => update.text);
  };
  expect(await interim('nap', { ms: 30 })).toEqual(['Still busy with nap.']);
  expect(await interim('count_sheep', { sheep: 7 })).toEqual(['Counting 7 sheep.']);
});

test('S2025-45 a question is answered on any stream', async () => {
  const { server, person } = await meet({ isOnAPort: true, hostedTasks: undefined as never });
  const onStandalone = server.ask('elicitation/create', form);
  await person.says(accepted);
  expect((await server.answerTo(onStandalone)).result).toEqual(accepted);
  const { url } = await served();
  const { tasks } = await recorded(url, { answers: ['form'], answer: () => accepted });
  expect(await tasks.callTool({ name: 'ask_name' })).toMatchObject(text('Hello, Kelp!'));
});

test('S2025-38 S2025-59 a caller that has detached can resume, and the task has continued', async () => {
  const { url } = await served();
  const { tasks } = await recorded(url, { answers: ['form'], answer: () => new Promise(() => {}) });
  const handle = await tasks.call('nap', { ms: 200 });
  handle.detach();
  await expect(handle.result()).rejects.toThrow(Detached);
  expect(await (await tasks.resume(handle.id)).result()).toMatchObject(text('woke'));
});

test.each([
  ['a task that was not requested', 'forbidden', { task: shown('t', 'working') }],
  ['a result in place of a requested task', 'required', text('plain')],
])('S2229-14 S2557-10 by the letter of 2025-11-25, %s is malformed', async (_, support, reply) => {
  const answers = by({
    'tools/list': () => tool(support),
    'tools/call': () => ({ result: reply }),
    'tasks/get': () => ({ result: shown('t', 'completed') }),
    'tasks/result': () => ({ result: text('plain') }),
  });
  const strict = await facing(answers, { strict: true });
  await expect(strict.tasks.callTool({ name: 'work' })).rejects.toThrow(MalformedAnswer);
  const lenient = await facing(answers);
  expect(await lenient.tasks.callTool({ name: 'work' })).toMatchObject(text('plain'));
});
