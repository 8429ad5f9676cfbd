/** Requirements of SEP-2322, SEP-2663 and 2026-07-28 for clients with tasks. */
import { sqliteCallRegistry } from 'holdfast/client';
import { expect, test } from 'vitest';
import {
  Detached,
  MalformedAnswer,
  TaskCancelled,
  TaskExpired,
  TaskLost,
} from '../../src/remote-tasks/errors.ts';
import { served } from '../dialects/revision-2025-11-25/peer.ts';
import { until } from '../kit/until.ts';
import { accepted, sharedStore } from '../receiver/raw-server.ts';
import { by, facing, type Message, oneByOne, recorded, shown, text } from './rows-recorded.ts';

const isModern = true;
const question = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
};

/** A task in the format of 2026-07-28. */
function detailed(taskId: string, status: string, more: object = {}): object {
  const { ttl, pollInterval, ...task } = shown(taskId, status);
  return { resultType: 'complete', ...task, ttlMs: ttl, pollIntervalMs: pollInterval, ...more };
}

const made = { result: detailed('t', 'working', { resultType: 'task' }) };
const done = (words: string) =>
  detailed('t', 'completed', { result: { resultType: 'complete', ...text(words) } });
const answers = { answers: ['form'], answer: () => accepted } as const;

// --- Questions before there is a task (SEP-2322) ----------------------------------------------------------

test('S2322-06 an answer without a resultType is complete', async () => {
  const { tasks } = await facing(by({ 'tools/call': () => ({ result: text('plain') }) }), { isModern });
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('plain'));
});

test('S2322-07 S2322-08 an unknown resultType makes an answer invalid', async () => {
  const reply = { result: { resultType: 'foo', ...text('plain') } };
  const { tasks } = await facing(by({ 'tools/call': () => reply }), { isModern });
  await expect(tasks.callTool({ name: 'work' })).rejects.toThrow(MalformedAnswer);
});

test('S2322-01 S2322-02 S2322-11 S2322-12 S2322-13 all questions are answered before the call is repeated with the unchanged state', async () => {
  const requestState = ' "état" \\u0000 {"not":"yours"}\n\t==';
  const replies = oneByOne<object>(
    { resultType: 'input_required', inputRequests: { a: question, b: question }, requestState },
    { resultType: 'input_required', inputRequests: { c: question } },
    { resultType: 'input_required', requestState: 'again' },
    { resultType: 'complete', ...text('done') },
  );
  const asked: string[] = [];
  const { tasks, of } = await facing(by({ 'tools/call': () => ({ result: replies() }) }), {
    isModern,
    answers: ['form'],
    answer: ({ key }) => {
      asked.push(key);
      return { action: 'accept', content: { key } };
    },
  });
  expect(await tasks.callTool({ name: 'work', arguments: { n: 1 } })).toMatchObject(text('done'));
  expect(asked).toEqual(['a', 'b', 'c']);
  const [first, second, third, fourth] = of('tools/call');
  expect(first!.params).not.toHaveProperty('requestState');
  expect(second!.params.requestState).toBe(requestState);
  expect(second!.params.inputResponses).toEqual({
    a: { action: 'accept', content: { key: 'a' } },
    b: { action: 'accept', content: { key: 'b' } },
  });
  expect(Object.keys(third!.params.inputResponses)).toEqual(['c']);
  expect(third!.params).not.toHaveProperty('requestState');
  expect(fourth!.params.requestState).toBe('again');
  expect(fourth!.params.inputResponses ?? {}).toEqual({});
  expect(new Set(of('tools/call').map(({ id }) => id)).size).toBe(4);
  for (const { params } of of('tools/call'))
    expect(params).toMatchObject({ name: 'work', arguments: { n: 1 } });
});

test('S2322-21 S2663-28 questions of the call and of its task are independent', async () => {
  const call = oneByOne<object>(
    { resultType: 'input_required', inputRequests: { same: question }, requestState: 's' },
    made.result,
  );
  let isAnswered = false;
  let asked = 0;
  const { tasks, of } = await facing(
    by({
      'tools/call': () => ({ result: call() }),
      'tasks/get': () => ({
        result: isAnswered
          ? done('twice')
          : detailed('t', 'input_required', { inputRequests: { same: question } }),
      }),
      'tasks/update': () => {
        isAnswered = true;
        return { result: { resultType: 'complete' } };
      },
    }),
    { isModern, answers: ['form'], answer: () => ({ action: 'accept', content: { nth: ++asked } }) },
  );
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('twice'));
  expect(asked).toBe(2);
  expect(of('tasks/update')[0]!.params.inputResponses).toEqual({
    same: { action: 'accept', content: { nth: 2 } },
  });
});

// --- Calls (SEP-2663) -------------------------------------------------------------------------------------

test('S2663-01 S2663-02 S2663-85 S2026-01 every request declares the client capabilities, tasks included', async () => {
  const { url } = await served();
  // The answer waits for the subscription: a faster call would not open one.
  const { tasks, sent } = await recorded(url, {
    isModern,
    answers: ['form'],
    answer: async () => {
      await until(() => sent.some(({ method }) => method === 'subscriptions/listen'));
      return accepted;
    },
  });
  await tasks.callTool({ name: 'ask_name' });
  const requests = sent.filter(({ id }) => id !== undefined);
  expect(new Set(requests.map(({ method }) => method))).toEqual(
    new Set([
      'server/discover',
      'tools/list',
      'tools/call',
      'tasks/get',
      'tasks/update',
      'subscriptions/listen',
    ]),
  );
  for (const { params, method } of requests) {
    const { _meta } = params;
    expect(_meta['io.modelcontextprotocol/protocolVersion'], method).toBe('2026-07-28');
    const { extensions } = _meta['io.modelcontextprotocol/clientCapabilities'];
    expect(extensions['io.modelcontextprotocol/tasks'], method).toEqual({});
  }
});

test('S2663-05 S2663-07 S2663-14 S2663-86 a call returns its result with or without a task', async () => {
  const { url } = await served();
  const { tasks, of } = await recorded(url, { isModern });
  expect(await tasks.callTool({ name: 'greet', arguments: { name: 'x' } })).toMatchObject(text('Hello, x!'));
  expect(of('tasks/get')).toEqual([]);
  expect(await tasks.callTool({ name: 'nap', arguments: { ms: 20 } })).toMatchObject(text('woke'));
  for (const { params } of of('tools/call')) expect(params).not.toHaveProperty('task');
});

test('S2663-08 S2663-10 a task in answer to any other request is invalid', async () => {
  const { tasks } = await facing(by({ 'prompts/get': () => made, 'resources/read': () => made }), {
    isModern,
  });
  await expect(tasks.getPrompt({ name: 'p' })).rejects.toThrow(MalformedAnswer);
  await expect(tasks.readResource({ uri: 'x://y' })).rejects.toThrow(MalformedAnswer);
});

test('S2663-29 S2663-31 polls respect pollIntervalMs and stop at the end', async () => {
  const looks: number[] = [];
  const status = oneByOne('working', 'working');
  const { tasks } = await facing(
    by({
      'tools/call': () => made,
      'tasks/get': () => {
        looks.push(performance.now());
        if (looks.length > 2) return { result: done('done') };
        return { result: detailed('t', status(), { pollIntervalMs: 250 }) };
      },
    }),
    { isModern },
  );
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('done'));
  expect(looks.slice(1).every((at, i) => at - looks[i]! >= 245)).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(looks).toHaveLength(3);
});

test('S2663-32 the task id is recorded, and another process resumes the task', async () => {
  const { url } = await served();
  const path = sharedStore().slice('sqlite:'.length);
  const first = await recorded(url, { isModern, registry: sqliteCallRegistry(path) });
  const { id, taskId } = await first.tasks.call('nap', { ms: 300 });
  await first.tasks.close();
  const second = await recorded(url, { isModern, registry: sqliteCallRegistry(path) });
  const [resumed] = await second.tasks.resumeAll();
  expect(resumed).toMatchObject({ id, taskId });
  expect(await resumed!.result()).toMatchObject(text('woke'));
  expect(second.of('tools/call')).toEqual([]);
});

test('S2663-40 a task that is unknown after its ttl counts as lost', async () => {
  const createdAt = new Date(Date.now() - 60_000).toISOString();
  const reply = oneByOne<object>(
    { result: detailed('t', 'working', { createdAt, ttlMs: 1_000 }) },
    { error: { code: -32602, message: 'No such task.' } },
  );
  const { tasks } = await facing(by({ 'tools/call': () => made, 'tasks/get': () => reply() }), { isModern });
  await expect(tasks.callTool({ name: 'work' })).rejects.toThrow(TaskExpired);
});

// --- Questions of tasks -----------------------------------------------------------------------------------

test('S2663-42 S2663-43 S2663-44 S2663-46 S2663-47 S2663-51 each open question is asked and answered once, however often it is polled', async () => {
  // The answer is accepted, but the question stays listed for a while. Then another comes.
  const open = oneByOne(['a'], ['a'], ['a'], ['a', 'b'], ['a', 'b'], ['b'], []);
  const asked: string[] = [];
  const updates: Message[] = [];
  const { tasks } = await facing(
    by({
      'tools/call': () => made,
      'tasks/get': () => {
        const keys = open();
        if (keys.length === 0 && updates.length > 1) return { result: done('done') };
        const inputRequests = Object.fromEntries(keys.map((key) => [key, question]));
        return { result: detailed('t', keys.length > 0 ? 'input_required' : 'working', { inputRequests }) };
      },
      'tasks/update': (params) => {
        updates.push(params);
        return { result: { resultType: 'complete' } };
      },
    }),
    {
      isModern,
      answers: ['form'],
      answer: ({ key }) => {
        asked.push(key);
        return accepted;
      },
    },
  );
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('done'));
  expect(asked).toEqual(['a', 'b']);
  expect(updates.map(({ taskId, inputResponses }) => ({ taskId, inputResponses }))).toEqual([
    { taskId: 't', inputResponses: { a: accepted } },
    { taskId: 't', inputResponses: { b: accepted } },
  ]);
});

test('S2663-45 S2663-100 a question of a task is asked like a pushed question', async () => {
  const asked: Message[] = [];
  const answer = (one: Message) => {
    asked.push(one);
    return accepted;
  };
  const { url } = await served();
  for (const modern of [true, false]) {
    const { tasks } = await recorded(url, { isModern: modern, answers: ['form'], answer });
    await tasks.callTool({ name: 'ask_name' });
  }
  const [inTask, pushed] = asked.map(({ key, taskId, ...rest }) => rest);
  expect(inTask).toEqual(pushed);
  expect(inTask).toMatchObject({ kind: 'form', message: 'What is your name?' });
});

test('S2663-45 a question of an undeclared kind is not asked', async () => {
  const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };
  const asked: string[] = [];
  let isCancelled = false;
  const { tasks } = await facing(
    by({
      'tools/call': () => made,
      'tasks/get': () => ({
        result: isCancelled
          ? detailed('t', 'cancelled')
          : detailed('t', 'input_required', { inputRequests: { model: sampling } }),
      }),
      'tasks/cancel': () => {
        isCancelled = true;
        return { result: { resultType: 'complete' } };
      },
      'tasks/update': () => ({ result: { resultType: 'complete' } }),
    }),
    {
      isModern,
      answers: ['form'],
      answer: ({ kind }) => {
        asked.push(kind);
        return accepted;
      },
    },
  );
  await expect(tasks.callTool({ name: 'work' })).rejects.toThrow(TaskCancelled);
  expect(asked).toEqual([]);
});

test('S2322-22 a client that cannot answer cancels the task', async () => {
  const { url } = await served();
  const { tasks, of } = await recorded(url, {
    isModern,
    answers: ['sampling'],
    answer: () => Promise.reject(new Error('No model here.')),
  });
  const handle = await tasks.call('sample', { prompt: 'x' });
  await expect(handle.result()).rejects.toThrow(TaskCancelled);
  expect(of('tasks/cancel')[0]!.params.taskId).toBe(handle.taskId);
});

// --- Cancelling, push, headers ----------------------------------------------------------------------------

test('S2663-58 S2663-31 a task is cancelled with tasks/cancel, and never with notifications/cancelled', async () => {
  const { url } = await served();
  const { tasks, of } = await recorded(url, { isModern });
  const handle = await tasks.call('nap', { ms: 60_000 });
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow(TaskCancelled);
  const other = await tasks.call('nap', { ms: 60_000 });
  other.detach();
  await expect(other.result()).rejects.toThrow(Detached);
  expect(of('tasks/cancel')).toHaveLength(1);
  expect(of('notifications/cancelled')).toEqual([]);
});

test('a detached call can be resumed at once, and returns its result', async () => {
  const { url } = await served();
  const { tasks } = await recorded(url, { isModern });
  const handle = await tasks.call('nap', { ms: 200 });
  handle.detach();
  const again = await tasks.resume(handle.id);
  expect(await again.result()).toMatchObject({ content: [{ type: 'text' }] });
});

test('S2663-63 a caller that has cancelled need not wait for the outcome', async () => {
  const { url } = await served();
  const { tasks, of } = await recorded(url, { isModern });
  const handle = await tasks.call('nap', { ms: 60_000 });
  await handle.cancel();
  await handle.delete();
  const looks = of('tasks/get').length;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(of('tasks/get').length).toBeLessThanOrEqual(looks + 1);
  await expect(tasks.resume(handle.id)).rejects.toThrow(TaskLost);
});

test('S2663-15 S2663-65 S2663-69 subscriptions name task ids, and polling continues', async () => {
  const { url } = await served();
  const { tasks, of } = await recorded(url, { isModern });
  const handle = await tasks.call('slow_compute', { seconds: 1.5 });
  const updates = await Array.fromAsync<Message>(handle.updates());
  expect(updates.filter(({ type }) => type === 'status').at(-1)!.task.status).toBe('completed');
  expect(of('subscriptions/listen')[0]!.params.notifications).toEqual({ taskIds: [handle.taskId] });
  expect(of('tasks/get').length).toBeGreaterThan(1);
});

test('S2663-71 S2663-72 S2557-11 task requests contain the task id and the method in headers', async () => {
  const { url } = await served();
  const { tasks, sent, of } = await recorded(url, { isModern, ...answers });
  const asked = await tasks.call('ask_name');
  await asked.result();
  const napping = await tasks.call('nap', { ms: 60_000 });
  await napping.cancel();
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    expect(of(method).length).toBeGreaterThan(0);
    for (const { headers, params } of of(method)) expect(headers['mcp-name']).toBe(params.taskId);
  }
  for (const { headers, method } of sent) expect(headers['mcp-method']).toBe(method);
});
