/** Requirements of SEP-1686 for callers of tasks. */
import { memoryCallRegistry } from 'holdfast/client';
import { expect, test } from 'vitest';
import { TaskCancelled } from '../../src/remote-tasks/errors.ts';
import { served } from '../dialects/revision-2025-11-25/peer.ts';
import { accepted } from '../receiver/raw-server.ts';
import { by, facing, type Message, oneByOne, recorded, refusal, shown, text } from './rows-recorded.ts';

const taskKey = 'modelcontextprotocol.io/task';
const related = 'modelcontextprotocol.io/related-task';

const original = { dialect: 'sep-1686' } as const;
const created = (taskId: string) => ({
  method: 'notifications/tasks/created',
  params: { _meta: { [related]: { taskId } } },
});

test('S1686-08 S1686-09 S1686-10 S1686-19 a call is marked only in its metadata, with a generated task id', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, of } = await recorded(url, original);
  const first = await tasks.call('nap', { ms: 10 });
  const second = await tasks.call('nap', { ms: 10 }, { ttl: '90s' });
  await Promise.all([first.result(), second.result()]);
  const [plain, kept] = of('tools/call').map(({ params }) => params);
  const { _meta, ...rest } = plain;
  expect(rest).toEqual({ name: 'nap', arguments: { ms: 10 } });
  expect(_meta[taskKey]).toEqual({ taskId: expect.any(String) });
  expect(kept._meta[taskKey]).toEqual({ taskId: expect.any(String), keepAlive: 90_000 });
  expect(_meta[taskKey].taskId).not.toBe(kept._meta[taskKey].taskId);
  expect(first.taskId).toBe(_meta[taskKey].taskId);
});

/** A server that reports a task, and answers the call itself as a test wants. */
function racing(answers: {
  call?: (request: Message, reply: (answer: object) => void) => void;
  get?: () => object;
  result?: () => object;
  isSilent?: boolean;
  callTimeout?: number;
}) {
  const facingIt = facing(
    by({
      'tools/call': (params, request) => {
        const { taskId } = params._meta[taskKey];
        void facingIt.then(({ server }) => {
          if (!answers.isSilent) server.say(created(taskId));
          answers.call?.(request, (answer) => server.say({ id: request.id, ...answer }));
        });
        return undefined;
      },
      'tasks/get': ({ taskId }) =>
        answers.get?.() ?? { result: shown(taskId, 'working', { pollFrequency: 10 }) },
      'tasks/result': () => answers.result?.(),
    }),
    { ...original, callTimeout: answers.callTimeout ?? '10m', says: { capabilities: { tools: {} } } },
  );
  return facingIt;
}

const showing = (status: string) => (taskId: string) => ({
  result: shown(taskId, status, { pollFrequency: 10 }),
});

test('S1686-91 the plain answer wins if it arrives first', async () => {
  const { tasks } = await racing({
    call: (_, reply) => void setTimeout(() => reply({ result: text('plain') }), 60),
  });
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('plain'));
});

test('S1686-91 S1686-46 the task wins if the plain answer never comes', async () => {
  let name = '';
  const { server, tasks, of } = await racing({
    call: ({ params }) => {
      name = params._meta[taskKey].taskId;
    },
    get: () => showing('completed')(name),
    result: () => ({ result: { ...text('of the task'), _meta: { [related]: { taskId: name } } } }),
  });
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('of the task'));
  for (const { params } of [...of('tasks/get'), ...of('tasks/result')])
    expect(params).toEqual({ taskId: name, _meta: { [related]: { taskId: name } } });
  const methods = server.heard.map(({ method }) => method);
  expect(methods.indexOf('tasks/result')).toBeGreaterThan(methods.indexOf('tasks/get'));
});

test('S1686-91 a plain answer that fails leaves the task', async () => {
  let name = '';
  const status = oneByOne('working', 'working', 'completed');
  const { tasks } = await racing({
    call: ({ params }, reply) => {
      name = params._meta[taskKey].taskId;
      setTimeout(() => reply(refusal(-32603, 'The connection was lost.')), 5);
    },
    get: () => showing(status())(name),
    result: () => ({ result: text('of the task') }),
  });
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('of the task'));
});

test('S1686-91 a task that is lost leaves the plain answer', async () => {
  const { tasks } = await racing({
    call: (_, reply) => void setTimeout(() => reply({ result: text('plain') }), 100),
    get: () => refusal(-32602, 'No such task.'),
  });
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('plain'));
});

test('S1686-91 a call without an answer may become a task that is unknown at first', async () => {
  let name = '';
  const unknown = () => refusal(-32602, 'No such task.');
  const got = oneByOne<() => object>(unknown, unknown, () => showing('completed')(name));
  const { tasks } = await racing({
    isSilent: true,
    callTimeout: 20,
    call: ({ params }) => {
      name = params._meta[taskKey].taskId;
    },
    get: () => got()(),
    result: () => ({ result: text('of the task') }),
  });
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('of the task'));
});

test('S1686-91 a call fails only if both fail', async () => {
  const { tasks } = await racing({
    call: (_, reply) => void setTimeout(() => reply(refusal(-32603, 'The call failed.')), 40),
    get: () => refusal(-32602, 'No such task.'),
  });
  await expect(tasks.callTool({ name: 'work' })).rejects.toMatchObject({ rpcCode: -32603 });
});

test('S1686-95 S1686-06 without the notification the plain answer decides, and no task is polled', async () => {
  const { tasks, of } = await racing({
    isSilent: true,
    call: (_, reply) => void setTimeout(() => reply({ result: text('plain') }), 300),
  });
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('plain'));
  expect(of('tasks/get')).toEqual([]);
});

test('S1686-41 S1686-92 polls respect pollFrequency, each status is reported, and the result is fetched last', async () => {
  let name = '';
  const looks: number[] = [];
  const status = oneByOne('submitted', 'working', 'completed');
  const { server, tasks } = await racing({
    call: ({ params }) => {
      name = params._meta[taskKey].taskId;
    },
    get: () => {
      looks.push(performance.now());
      return { result: shown(name, status(), { pollInterval: undefined, pollFrequency: 250 }) };
    },
    result: () => ({ result: text('done') }),
  });
  const updates = await Array.fromAsync<Message>((await tasks.call('work')).updates());
  expect(updates.filter(({ type }) => type === 'status').map(({ task }) => task.status)).toEqual([
    'submitted',
    'working',
    'completed',
  ]);
  expect(looks.slice(1).every((at, i) => at - looks[i]! >= 245)).toBe(true);
  expect(server.heard.at(-1)!.method).toBe('tasks/result');
});

test('S1686-90 S1686-93 S1686-97 the SDK’s own call is untouched: it waits for the plain answer', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, of } = await recorded(url, original);
  const plain = await tasks.client.callTool({ name: 'nap', arguments: { ms: 50 } });
  expect(plain).toMatchObject(text('woke'));
  expect(of('tools/call')[0]!.params._meta ?? {}).not.toHaveProperty([taskKey]);
  expect(of('tasks/get')).toEqual([]);
  expect(await tasks.callTool({ name: 'nap', arguments: { ms: 50 } })).toMatchObject(text('woke'));
  const handle = await tasks.call('nap', { ms: 50 });
  expect(await handle.result()).toMatchObject(text('woke'));
});

test('S1686-52 S1686-54 a cancelled request is followed until its task is done', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, sent, of } = await recorded(url, original);
  const handle = await tasks.call('nap', { ms: 60_000 });
  // After an answered poll none is in flight that could see the end too early.
  await handle.updates().next();
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow(TaskCancelled);
  const [call] = of('tools/call');
  const [cancelled] = of('notifications/cancelled');
  expect(cancelled!.params).toMatchObject({
    requestId: call!.id,
    _meta: { [related]: { taskId: handle.taskId } },
  });
  const after = sent.slice(sent.indexOf(cancelled!) + 1);
  expect(after.map(({ method }) => method)).toContain('tasks/get');
  expect(of('tasks/cancel')).toEqual([]);
});

test('S1686-56 S1686-59 cursors are sent back unchanged', async () => {
  const cursor = ' {"not":"ours"} \u00e9';
  const { tasks, of } = await facing(
    by({
      'tasks/list': ({ cursor: at }) => ({
        result: {
          tasks: [shown(at ?? 'first', 'submitted')],
          ...(at === undefined && { nextCursor: cursor }),
        },
      }),
    }),
    original,
  );
  expect((await Array.fromAsync(tasks.list())).map(({ taskId }) => taskId)).toEqual(['first', cursor]);
  expect(of('tasks/list').map(({ params }) => params.cursor)).toEqual([undefined, cursor]);
});

test('S1686-61 S1686-65 S1686-89 sensitive results are kept briefly, read early, and then deleted', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, of } = await recorded(url, { ...original, deleteAfterRead: true });
  const handle = await tasks.call('nap', { ms: 10 }, { ttl: '5s' });
  await handle.result();
  await expect.poll(() => of('tasks/delete').length).toBe(1);
  const { taskId } = handle;
  expect(of('tasks/delete')[0]!.params).toEqual({ taskId, _meta: { [related]: { taskId } } });
  expect(of('tools/call')[0]!.params._meta[taskKey].keepAlive).toBe(5_000);
});

test('S1686-87 S1686-88 events of a call are reported, and its task id is recorded before it is sent', async () => {
  const handles = memoryCallRegistry();
  const known: (string | undefined)[] = [];
  const events: string[] = [];
  const { tasks } = await facing(
    by({
      'tools/call': () => {
        known.push(...handles.list().map(({ taskId }) => taskId));
        return { result: text('plain') };
      },
    }),
    { ...original, registry: handles, onEvent: ({ event }) => events.push(event) },
  );
  const handle = await tasks.call('work', { so: 'named' });
  await handle.result();
  expect(known).toEqual([handle.taskId]);
  expect(handles.get(handle.id)!.params).toEqual({ name: 'work', arguments: { so: 'named' } });
  expect(events).toEqual(['called', 'done']);
});

test('S1686-23 S1686-44 an interrupted call is found by its task id, and its result is fetched again', async () => {
  let name = '';
  const calls: Message[] = [];
  const fetched: string[] = [];
  const { server, tasks } = await facing(
    by({
      'tools/call': (params, request) => {
        calls.push(request);
        name = params._meta[taskKey].taskId;
        setTimeout(() => server.drop(), 20);
        return undefined;
      },
      'tasks/get': ({ taskId }) => showing('completed')(taskId),
      'tasks/result': ({ taskId }) => {
        fetched.push(taskId);
        // The first answer is lost with its connection.
        if (fetched.length === 1) setImmediate(() => server.drop());
        return fetched.length === 1 ? undefined : { result: text('once') };
      },
    }),
    original,
  );
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('once'));
  expect(calls).toHaveLength(1);
  expect(fetched).toEqual([name, name]);
});

test('S1686-47 a question of a task is answered once, on any stream', async () => {
  const { url } = await served({ drafts: 'all' });
  let asked = 0;
  const answer = ({ taskId }: { taskId: string | undefined }) => {
    asked++;
    expect(taskId).toBeTypeOf('string');
    return accepted;
  };
  const { tasks } = await recorded(url, { ...original, answers: ['form'], answer });
  expect(await tasks.callTool({ name: 'ask_name' })).toMatchObject(text('Hello, Kelp!'));
  expect(asked).toBe(1);
});

test('S1686-11 any request may have a task id', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, of } = await recorded(url, original);
  expect(await tasks.readResource({ uri: 'report://daily' })).toMatchObject({
    contents: [{ text: 'The report daily.' }],
  });
  expect(of('resources/read')[0]!.params._meta[taskKey].taskId).toBeTypeOf('string');
});

test.each([
  ['failed', { error: 'The disk is full.' }, 'The disk is full.'],
  ['cancelled', {}, /cancel/],
  ['unknown', {}, 'is lost'],
])('S1686-32 a task that ends %s says so, and is not asked for a result', async (status, more, words) => {
  let name = '';
  const { tasks, of } = await racing({
    call: ({ params }, reply) => {
      name = params._meta[taskKey].taskId;
      setTimeout(() => reply(refusal(-32603, 'The call failed.')), 300);
    },
    get: () => ({ result: shown(name, status, more) }),
  });
  const handle = await tasks.call('work');
  const updates = await Array.fromAsync<Message>(handle.updates()).catch(() => []);
  await expect(handle.result()).rejects.toThrow(words);
  expect(updates.some(({ type, task }) => type === 'status' && task.status === status)).toBe(true);
  expect(of('tasks/result')).toEqual([]);
});

test('S1686-96 progress of the request is reported', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks } = await recorded(url, original);
  const updates = await Array.fromAsync<Message>(
    (await tasks.call('slow_compute', { seconds: 0.5 })).updates(),
  );
  const progress = updates.filter(({ type }) => type === 'progress');
  expect(progress.at(-1)).toMatchObject({ progress: 5, total: 5 });
});
