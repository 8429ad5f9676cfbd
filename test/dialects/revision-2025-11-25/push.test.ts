import { openSqlite } from 'holdfast/sqlite';
import { expect, test } from 'vitest';
import { withCommands } from '../../../src/engine/database/decorator.ts';
import { Refusal } from '../../../src/model/errors.ts';
import type { TaskEvent } from '../../../src/model/event.ts';
import { StoreError } from '../../../src/ports/store-errors.ts';
import { storeFrom } from '../../fixture/server.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { frames, type Message, Peer, relatedTask, served } from './peer.ts';

const yes = { action: 'accept', content: { name: 'Ada' } };

async function next(frames: AsyncGenerator<Message>, method: string): Promise<Message> {
  for await (const message of { [Symbol.asyncIterator]: () => ({ next: () => frames.next() }) })
    if (message.method === method) return message;
  throw new Error(`The stream ended without ${method}.`);
}

test('S2025-42 S2025-61 S2025-62: a question comes on the stream of tasks/result and names the task of the call, also if a subtask asks', async () => {
  const { peer } = await served();
  const taskId = await peer.start('fan_out', { children: 1, depth: 2, delayMs: 0, ask: true });
  for await (const message of peer.result(taskId)) {
    if (message.method !== 'elicitation/create') {
      expect(message.result.content[0].text).toBe('parent (parent 1.1)');
      break;
    }
    expect(message.params._meta[relatedTask]).toEqual({ taskId });
    await peer.answer(message.id, { action: 'accept', content: { confirm: true } });
  }
});

test('S2025-45: a client that never opens tasks/result is asked on the stream that belongs to no request', async () => {
  const { peer } = await served();
  const stream = peer.standalone();
  const asked = next(stream, 'elicitation/create');
  const taskId = await peer.start('ask_name');
  const { id, params } = await asked;
  expect(params).toMatchObject({ message: 'What is your name?', _meta: { [relatedTask]: { taskId } } });
  await peer.answer(id, yes);
  await peer.until(taskId, 'completed');
  await stream.return(undefined);
});

test('a question is on one stream at a time, however many there are', async () => {
  const { peer } = await served();
  const abort = new AbortController();
  const asked: Message[] = [];
  const listen = async (stream: AsyncGenerator<Message>) => {
    for await (const message of stream) if (message.method === 'elicitation/create') asked.push(message);
  };
  void listen(peer.standalone(abort.signal)).catch(() => {});
  const taskId = await peer.start('ask_name');
  const results = [1, 2, 3].map(() => listen(peer.result(taskId)));
  await expect.poll(() => asked.length).toBe(1);
  await peer.until(taskId, 'input_required');
  await peer.answer(asked[0]!.id, yes);
  await Promise.all(results);
  abort.abort();
  expect(asked).toHaveLength(1);
});

test('a stream that closes unanswered gives its question back, and it is asked under a new id', async () => {
  const { peer } = await served();
  const taskId = await peer.start('ask_name');
  const abort = new AbortController();
  const first = await next(peer.result(taskId, abort.signal), 'elicitation/create');
  abort.abort();
  const stream = peer.result(taskId);
  const second = await next(stream, 'elicitation/create');
  expect(second.id).not.toBe(first.id);
  await peer.answer(second.id, yes);
  const { value } = await stream.next();
  expect(value!.result.content[0].text).toBe('Hello, Ada!');
});

test('the first answer wins, whichever revision it came on', async () => {
  const { peer, tasks } = await served();
  const taskId = await peer.start('ask_name');
  const stream = peer.result(taskId);
  const asked = await next(stream, 'elicitation/create');
  await tasks.answer(taskId, { name: { action: 'accept', content: { name: 'Bob' } } });
  await peer.answer(asked.id, yes);
  let last: Message | undefined;
  for await (const message of stream) last = message;
  expect(last!.result.content[0].text).toBe('Hello, Bob!');
});

test('an answer that does not fit is asked for again, and after three the handler hears that there is none', async () => {
  const { peer } = await served();
  const taskId = await peer.start('ask_name');
  let asked = 0;
  for await (const message of peer.result(taskId)) {
    if (message.method !== 'elicitation/create') {
      expect(message.result).toMatchObject({ isError: true });
      break;
    }
    asked++;
    await peer.answer(message.id, { action: 'accept', content: { name: 42 } });
  }
  expect(asked).toBe(3);
});

test('a client that refuses to ask anybody counts as a person who turned away', async () => {
  const { peer } = await served();
  const taskId = await peer.start('ask_name');
  for await (const message of peer.result(taskId)) {
    if (message.method !== 'elicitation/create') {
      expect(message.result.content[0].text).toContain('cancel');
      break;
    }
    await peer.post({ id: message.id, error: { code: -32603, message: 'Nobody here.' } });
  }
});

/** A store that is busy once at each of these events. */
const busyAt =
  (...types: TaskEvent['type'][]) =>
  async () => {
    const database = await openSqlite('memory:');
    const { store } = database;
    return withCommands(database, {
      create: (bearing, decide) => store.create(bearing, decide),
      update: (reach, id, decide) =>
        store.update(reach, id, (scope) => {
          const change = decide(scope);
          const events = change instanceof Refusal ? [] : change.writes.flatMap((write) => write.events);
          const index = types.findIndex((type) => events.some((event) => event.type === type));
          if (index < 0) return change;
          types.splice(index, 1);
          throw new StoreError('STORE_BUSY', 'memory:', 'it is locked', 'Try again.');
        }),
    });
  };

test.for([
  ['delivering', 'a question that could not be put at first'],
  ['answered', 'an answer that could not be stored at first'],
] as const)('a store that is busy at "%s" loses nothing: %s', async ([type]) => {
  const { peer } = await served({ store: busyAt(type) });
  const taskId = await peer.start('ask_name');
  for await (const message of peer.result(taskId)) {
    if (message.method === 'elicitation/create') await peer.answer(message.id, yes);
    if (message.result) {
      expect(message.result.content[0].text).toBe('Hello, Ada!');
      break;
    }
  }
});

test('a client that opens its stream again is asked there, though the server takes the old one to be open', async () => {
  const { peer } = await served();
  const old = peer.standalone();
  const told = old.next();
  await peer.start('ask_name');
  await told;
  const again = peer.standalone();
  const { id } = await next(again, 'elicitation/create');
  await peer.answer(id, yes);
  for await (const message of old) expect(message.method).not.toBe('elicitation/create');
  await again.return(undefined);
});

test('a request that arrives twice is answered once, and its stream stays its own', async () => {
  const { peer, tasks } = await served({ works: false });
  const taskId = await peer.start('ask_name');
  const twice = { id: 'twice', method: 'tasks/result', params: { taskId } };
  const stream = frames(await peer.post(twice));
  expect((await peer.post(twice)).status).toBe(409);
  await tasks.work();
  const { id } = await next(stream, 'elicitation/create');
  await peer.answer(id, yes);
  const { value } = await stream.next();
  expect(value!.result.content[0].text).toBe('Hello, Ada!');
  expect((await peer.post(twice)).status).toBe(200);
});

test('an answer that another server gets is accepted once it is stored, and not before', async () => {
  const file = temporaryFile();
  const { peer } = await served({ store: storeFrom(`sqlite:${file}`) });
  let isBusy = true;
  const other = await served({
    works: false,
    store: async () => {
      const database = await openSqlite(file);
      const { store } = database;
      return withCommands(database, {
        create: (bearing, decide) => store.create(bearing, decide),
        update: async (reach, id, decide) => {
          if (isBusy) throw new StoreError('STORE_BUSY', file, 'it is locked', 'Try again.');
          return store.update(reach, id, decide);
        },
      });
    },
  });
  other.peer.sessionId = peer.sessionId;
  const taskId = await peer.start('ask_name');
  for await (const message of peer.result(taskId)) {
    if (message.method === 'elicitation/create') {
      expect((await other.peer.answer(message.id, yes)).status).toBe(503);
      isBusy = false;
      expect((await other.peer.answer(message.id, yes)).status).toBe(202);
    }
    if (message.result) {
      expect(message.result.content[0].text).toBe('Hello, Ada!');
      break;
    }
  }
});

test('sampling and roots are asked for like anything else', async () => {
  const { peer } = await served();
  const taskId = await peer.start('sample', { prompt: 'Say hello' });
  for await (const message of peer.result(taskId)) {
    if (message.method === 'sampling/createMessage')
      await peer.answer(message.id, {
        role: 'assistant',
        model: 'm',
        content: { type: 'text', text: 'hello' },
      });
    else {
      expect(message.result.content[0].text).toBe('hello');
      break;
    }
  }
});

test('a plain call that has to ask does it on its own stream', async () => {
  const { peer } = await served();
  const response = await peer.post({
    id: 'call',
    method: 'tools/call',
    params: { name: 'ask_name', arguments: {} },
  });
  const text: Message[] = [];
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    for (const [, data] of chunk.matchAll(/^data: (.+)$/gm)) {
      const message = JSON.parse(data!) as Message;
      text.push(message);
      if (message.method === 'elicitation/create') await peer.answer(message.id, yes);
    }
  }
  expect(text.at(-1)).toMatchObject({ id: 'call', result: { content: [{ text: 'Hello, Ada!' }] } });
});

test('S2025-67 S2025-70: a change of status is told with the whole task, which names itself', async () => {
  const { peer } = await served();
  const stream = peer.standalone();
  const told = next(stream, 'notifications/tasks/status');
  const taskId = await peer.start('nap', { ms: 200 });
  const { params } = await told;
  const { result } = await peer.get(taskId);
  expect(params).toEqual({ ...result, ttl: params.ttl });
  expect(params.status).toBe('completed');
  expect(params).not.toHaveProperty('_meta');
  await stream.return(undefined);
});

test('S2025-71 S2025-72: progress comes under the token of the call until the task is done, and not after', async () => {
  const { peer } = await served();
  const abort = new AbortController();
  const heard: Message[] = [];
  void (async () => {
    for await (const message of peer.standalone(abort.signal)) heard.push(message);
  })().catch(() => {});
  const { result } = await peer.call(
    'slow_compute',
    { seconds: 1 },
    { task: {}, _meta: { progressToken: 'mine' } },
  );
  const { taskId } = result.task;
  await peer.until(taskId, 'completed');
  await expect.poll(() => heard.some(({ method }) => method === 'notifications/tasks/status')).toBe(true);
  abort.abort();
  const progress = heard.filter(({ method }) => method === 'notifications/progress');
  expect(progress.length).toBeGreaterThan(2);
  for (const { params } of progress)
    expect(params).toMatchObject({ progressToken: 'mine', total: 10, _meta: { [relatedTask]: { taskId } } });
  const values = progress.map(({ params }) => params.progress);
  expect(values).toEqual([...values].sort((a, b) => a - b));
  expect(heard.at(-1)!.method).toBe('notifications/tasks/status');
});

test('a waiter whose client is gone is gone', async () => {
  const { peer, tasks } = await served();
  const taskId = await peer.start('nap', { ms: 60_000 });
  const requests = await tasks.requests();
  const before = requests.watchers;
  const abort = new AbortController();
  const waiting = Array.from({ length: 50 }, () =>
    peer.send('tasks/result', { taskId }, abort.signal).catch(() => {}),
  );
  await expect.poll(() => requests.watchers).toBeGreaterThanOrEqual(before + 50);
  abort.abort();
  await Promise.all(waiting);
  await expect.poll(() => requests.watchers).toBeLessThanOrEqual(before + 1);
  expect((await peer.get(taskId)).result.status).toBe('working');
});

test('a thousand that wait for one task are released together', async () => {
  const { peer, tasks } = await served();
  const taskId = await peer.start('ask_name');
  const requests = await tasks.requests();
  const waiting = Array.from({ length: 1_000 }, () => peer.request('tasks/result', { taskId }));
  await expect.poll(() => requests.watchers).toBeGreaterThanOrEqual(1_000);
  await tasks.answer(taskId, { name: yes });
  const results = await Promise.all(waiting);
  for (const { result } of results) expect(result.content[0].text).toBe('Hello, Ada!');
  await expect.poll(() => requests.watchers).toBe(0);
});

test('a server restarted under a blocked tasks/result: the session goes on, the question is asked once more, and answered', async () => {
  const store = storeFrom(`sqlite:${temporaryFile()}`);
  const first = await served({ store });
  const { peer } = first;
  const taskId = await peer.start('ask_name');
  const abandoned = peer.result(taskId);
  const { id: oldId } = await next(abandoned, 'elicitation/create');
  const port = Number(new URL(first.url).port);
  await first.stop();
  await served({ store, port });
  const stream = peer.result(taskId);
  const asked: Message[] = [];
  for await (const message of stream) {
    if (message.method !== 'elicitation/create') {
      expect(message.result.content[0].text).toBe('Hello, Ada!');
      break;
    }
    asked.push(message);
    // A late answer to the question of the server that is gone is not an answer to this one.
    await peer.answer(oldId, { action: 'accept', content: { name: 'Mallory' } });
    await peer.answer(message.id, yes);
  }
  expect(asked).toHaveLength(1);
});

test('S2025-71: a server that was restarted goes on telling progress under the token of the call', async () => {
  const store = storeFrom(`sqlite:${temporaryFile()}`);
  const first = await served({ store });
  const { peer } = first;
  const _meta = { progressToken: 'mine' };
  const { result } = await peer.call('slow_compute', { seconds: 3 }, { task: {}, _meta });
  await first.stop();
  await served({ store, port: Number(new URL(first.url).port) });
  const stream = peer.standalone();
  const told = next(stream, 'notifications/progress');
  await peer.get(result.task.taskId);
  expect((await told).params).toMatchObject({ progressToken: 'mine', total: 30 });
  await stream.return(undefined);
});

test('a client that asks about its task before its call has told the token hears of progress all the same', async () => {
  const { peer, tasks } = await served();
  const heard: Message[] = [];
  const abort = new AbortController();
  void (async () => {
    for await (const message of peer.standalone(abort.signal)) heard.push(message);
  })().catch(() => {});
  let known: string | undefined;
  await tasks.subscribe(({ taskId }) => {
    if (known === undefined) void peer.get(taskId);
    known = taskId;
  });
  await peer.call('slow_compute', { seconds: 1 }, { task: {}, _meta: { progressToken: 'mine' } });
  await expect.poll(() => heard.some(({ method }) => method === 'notifications/progress')).toBe(true);
  abort.abort();
});

test('a session that nobody knows, and one of somebody else, are not found, so that the client opens a new one', async () => {
  const { url, peer } = await served({ tokens: { 'token-of-ada': 'ada', 'token-of-bob': 'bob' } });
  for (const [token, sessionId] of [
    ['token-of-ada', 'nobody'],
    ['token-of-bob', peer.sessionId!],
  ] as const) {
    const stranger = new Peer(url, { token });
    stranger.sessionId = sessionId;
    const response = await stranger.post({ id: 1, method: 'tools/list' });
    expect(response.status).toBe(404);
  }
  expect((await peer.request('tools/list')).result.tools.length).toBeGreaterThan(0);
});

test('a session that its client ends is over', async () => {
  const { url, peer } = await served();
  expect((await fetch(url, { method: 'DELETE', headers: peer.headers() })).status).toBe(200);
  expect((await peer.post({ id: 1, method: 'tools/list' })).status).toBe(404);
});
