/** SEP-2229, where both sides flag it: the server alone decides what becomes a task. */

import { CreateTaskResultV1Schema } from '@modelcontextprotocol/ext-tasks/core/v1';
import { openSqlite } from 'holdfast/sqlite';
import { expect, test } from 'vitest';
import type { ServeFixtureOptions } from '../../kit/serve.ts';
import { serving } from '../drafts/peer.ts';
import { type Message, openEar, Peer } from '../revision-2025-11-25/peer.ts';
import { quickResult, settings, tools } from './tools.ts';

async function agreed(options: ServeFixtureOptions = {}) {
  const served = await serving({ drafts: ['sep-2229'], window: '50ms', more: tools, ...options });
  return { ...served, peer: await served.open(['sep-2229']) };
}

function taskOf({ result }: Message): Message {
  expect(CreateTaskResultV1Schema.safeParse(result).error).toBe(undefined);
  return result.task;
}

test.each(['held_auto', 'held_always', 'held_required'])(
  'S2229-04 S2229-08 S2229-12: a plain call of %s is answered with a task, and never refused',
  async (name) => {
    const { peer, tasks } = await agreed();
    const { taskId, status } = taskOf(await peer.call(name));
    expect(status).toBe('working');
    await tasks.sendEvent(taskId, 'go');
    const { result } = await peer.request('tasks/result', { taskId });
    expect(result.content[0].text).toBe('went');
  },
);

test.each(['quick_auto', 'quick_never'])(
  'S2229-04 S2229-13: a plain call of %s is answered at once, and leaves no task behind',
  async (name) => {
    const { peer, tasks } = await agreed({ window: '1m' });
    expect((await peer.call(name)).result).toEqual(quickResult);
    expect((await tasks.list({ owner: 'anonymous', limit: 10 })).tasks).toEqual([]);
  },
);

test.each(['quick_auto', 'quick_never', 'greet'])(
  'S2229-09: %s has an ordinary result for a caller that asks for a task, and no error',
  async (name) => {
    const { peer } = await agreed({ window: '1m' });
    const { result } = await peer.call(name, { name: 'Ada' }, { task: { ttl: 60_000 } });
    expect(Object.keys(result)).toEqual(['content']);
  },
);

test('S2229-08: a tool that asks becomes a task before its window is over', async () => {
  const { peer } = await agreed({ window: '1h' });
  const { taskId } = taskOf(await peer.call('asking_auto'));
  for await (const message of peer.result(taskId))
    if (message.method === 'elicitation/create')
      await peer.answer(message.id, { action: 'accept', content: { name: 'Ada' } });
    else expect(message.result.content[0].text).toBe('Hello, Ada!');
});

test('S2229-08: reading a resource is answered with a task, whose result is what the read would have given', async () => {
  const { peer } = await agreed();
  const { taskId } = taskOf(await peer.request('resources/read', { uri: 'report://daily' }));
  const { result } = await peer.request('tasks/result', { taskId });
  expect(result.contents).toMatchObject([{ uri: 'report://daily', text: 'The report daily.' }]);
});

test('S2229-08: getting a prompt is answered with a task, whose result is what the prompt would have been', async () => {
  const { peer } = await agreed();
  const { taskId } = taskOf(await peer.request('prompts/get', { name: 'letter', arguments: { to: 'Ada' } }));
  const { result } = await peer.request('tasks/result', { taskId });
  expect(result.messages[0].content.text).toBe('Write a letter to Ada.');
});

test('a resource asks its questions in the name of its task', async () => {
  const { peer } = await agreed();
  const { taskId } = taskOf(await peer.request('resources/read', { uri: 'report://asked' }));
  for await (const message of peer.result(taskId)) {
    if (message.method !== 'elicitation/create') {
      expect(message.result.contents[0].text).toBe('The report that was asked for.');
      break;
    }
    expect(message.params._meta['io.modelcontextprotocol/related-task']).toEqual({ taskId });
    await peer.answer(message.id, { action: 'accept', content: {} });
  }
});

test.each([
  ['tools/call', { name: 'held_always' }],
  ['tools/call', { name: 'held_auto' }],
  ['resources/read', { uri: 'report://daily' }],
  ['prompts/get', { name: 'letter', arguments: { to: 'Ada' } }],
])('S2229-06: a ttl in %s of %o is granted to the task that comes of it', async (method, params) => {
  const { peer } = await agreed();
  const { ttl, taskId } = taskOf(await peer.request(method, { ...params, task: { ttl: 123_000 } }));
  expect(ttl).toBe(123_000);
  expect((await peer.get(taskId)).result.ttl).toBe(123_000);
});

test.each(['held_always', 'held_auto', 'quick_required'])(
  'S2229-10: the task that a call of %s is answered with can be looked at from then on, by whoever owns it',
  async (name) => {
    const { peer, open } = await agreed();
    const other = await open(['sep-2229']);
    const looks = Array.from({ length: 30 }, async (_, n) => {
      const { taskId } = taskOf(await peer.call(name));
      return (await (n % 2 === 0 ? peer : other).get(taskId)).result?.taskId === taskId;
    });
    expect(new Set(await Promise.all(looks))).toEqual(new Set([true]));
  },
);

test('S2229-11: a store that takes its time keeps the answer back until the task can be read', async () => {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const database = await openSqlite('memory:');
  const { store } = database;
  const create: typeof store.create = async (...given) => {
    begun.resolve();
    await gate.promise;
    return store.create(...given);
  };
  const late = new Proxy(store, {
    get: (target, key) => {
      const value = key === 'create' ? create : Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const lateDatabase = new Proxy(database, {
    get: (target, key) => {
      const value = key === 'store' ? late : Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const { peer } = await agreed({ store: lateDatabase });
  let answer: Message | undefined;
  const called = peer.call('held_always').then((message) => {
    answer = message;
    return message;
  });
  await begun.promise;
  expect((await peer.request('ping')).result).toEqual({});
  expect(answer).toBe(undefined);
  gate.resolve();
  const { taskId } = taskOf(await called);
  expect((await peer.get(taskId)).result.taskId).toBe(taskId);
});

test('S2229-15: an answer that is a task has no key but "task" and metadata, and no other answer has it', async () => {
  const { peer } = await agreed({ window: '1m' });
  const keys = async (answer: Promise<Message>) => Object.keys((await answer).result).sort();
  expect(await keys(peer.call('held_always'))).toEqual(['task']);
  expect(await keys(peer.call('count_sheep', { sheep: 3 }))).toEqual(['_meta', 'task']);
  expect(await keys(peer.request('resources/read', { uri: 'report://daily' }))).toEqual(['task']);
  expect(await keys(peer.call('quick_auto'))).not.toContain('task');
});

test('S2229-01 S2229-03: what tells beforehand what can be a task is still said, and asked of nobody', async () => {
  const { url, peer } = await agreed();
  const { capabilities } = await new Peer(url).open();
  expect(capabilities.tasks.requests).toEqual({ tools: { call: {} } });
  const { tools: listed } = (await peer.request('tools/list')).result;
  const support = Object.fromEntries(
    listed.map(({ name, execution }: Message) => [name, execution?.taskSupport]),
  );
  const said = Object.fromEntries(settings.map((setting) => [setting, support[`quick_${setting}`]]));
  expect(said).toEqual({ auto: 'optional', always: 'optional', required: 'required', never: 'forbidden' });
  // Neither the session nor the call has said a word about tasks.
  expect(taskOf(await peer.call('quick_required')).status).toBe('working');
});

test('S2229-02: lists and cancelling are declared and work as they do without the draft', async () => {
  const { open } = await agreed({ tokens: { 'token-of-ada': 'ada' } });
  const ada = await open(['sep-2229'], 'token-of-ada');
  const { taskId } = taskOf(await ada.call('held_always'));
  expect((await ada.request('tasks/list')).result.tasks).toMatchObject([{ taskId, status: 'working' }]);
  expect((await ada.request('tasks/cancel', { taskId })).result.status).toBe('cancelled');
  expect((await ada.request('tasks/cancel', { taskId })).error.code).toBe(-32602);
});

test('S2229-02: callers that cannot be told apart are given no list, and their tasks can be cancelled', async () => {
  const { peer } = await agreed();
  expect((await peer.request('tasks/list')).error.code).toBe(-32601);
  const { taskId } = taskOf(await peer.call('held_always'));
  expect((await peer.request('tasks/cancel', { taskId })).result.status).toBe('cancelled');
});

test('S2229-17: what comes unasked belongs to its owner like any other task', async () => {
  const tokens = { 'token-of-ada': 'ada', 'token-of-bob': 'bob' };
  const { open } = await agreed({ tokens });
  const [ada, bob] = [await open(['sep-2229'], 'token-of-ada'), await open(['sep-2229'], 'token-of-bob')];
  const asked: [string, object][] = [
    ['tools/call', { name: 'held_always' }],
    ['tools/call', { name: 'held_auto' }],
    ['resources/read', { uri: 'report://daily' }],
    ['prompts/get', { name: 'letter', arguments: { to: 'Ada' } }],
  ];
  for (const [method, params] of asked) {
    const { taskId } = taskOf(await ada.request(method, params));
    for (const look of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      expect((await bob.request(look, { taskId })).error.code).toBe(-32602);
  }
  expect((await bob.request('tasks/list')).result.tasks).toEqual([]);
});

test.each(['slow_compute', 'telling_auto'])(
  'a task of %s that came unasked tells its progress under the token of the call',
  async (name) => {
    const { peer, tasks } = await agreed();
    await using ear = await openEar(peer);
    const input = name === 'slow_compute' ? { seconds: 0.5 } : {};
    const { taskId } = taskOf(await peer.call(name, input, { _meta: { progressToken: 'mine' } }));
    if (name === 'telling_auto') await tasks.sendEvent(taskId, 'go');
    const told = await ear.until(({ method }) => method === 'notifications/progress');
    expect(told.params).toMatchObject({ progressToken: 'mine' });
  },
);
