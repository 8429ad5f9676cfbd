/** A plain call that was lost, and the same call sent again. */
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createTasks, durableTool } from '../../src/index.ts';
import { Operator } from '../../src/operator/operator.ts';
import { McpHandler } from '../../src/server.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { ManualClock } from '../../src/testing.ts';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { attached } from '../kit/attached.ts';
import { temporaryFile } from '../kit/lifetime.ts';
import { textOf } from '../kit/text.ts';
import { answeringOf, Stage, type StageOptions } from './stage.ts';
import { handOverTools } from './tools.ts';

const ada = 'ada-has-a-token-that-nobody-guesses';
const eve = 'eve-has-a-token-that-nobody-guesses';
const tokens = { [ada]: 'ada' };

const anything = durableTool('anything', { inputSchema: z.looseObject({}) }, async (_, task) => {
  await task.waitForEvent('go');
  return 'done';
});

const alone = durableTool('alone', { joinable: false }, async (_, task) => {
  await task.waitForEvent('go');
  return 'done';
});

let stage: Stage;
/** The tasks in the order in which they were made, and how each went. */
let tasks: Map<string, string[]>;

async function open(options: StageOptions = {}): Promise<void> {
  stage = await Stage.open({
    tools: [...handOverTools, anything, alone],
    ...options,
  });
  tasks = new Map();
  await stage.tasks.subscribe(({ taskId, events }) => {
    tasks.set(taskId, [...(tasks.get(taskId) ?? []), ...events.map(({ type }) => type)]);
  });
}

async function session(options: { token?: string; capabilities?: object } = {}): Promise<Peer> {
  const peer = new Peer(stage.url, { capabilities: {}, ...options });
  await peer.open();
  return peer;
}

/** Makes a call, and loses its connection once its task is there. */
async function lose(peer: Peer, tool = 'held_auto', input: object = { word: 'tide' }): Promise<string> {
  const before = tasks.size;
  const cut = new AbortController();
  const lost = peer.send('tools/call', { name: tool, arguments: input }, cut.signal);
  await expect.poll(() => tasks.size).toBe(before + 1);
  const id = [...tasks.keys()].at(-1)!;
  await expect.poll(() => tasks.get(id)).toContain('parked');
  cut.abort();
  await expect(lost).rejects.toThrow();
  // The server has noticed.
  await expect.poll(async () => (await answering(id)) ?? null).toBeNull();
  return id;
}

const resultOf = ({ result }: { result?: object }) => textOf(result!);

describe('in one session', () => {
  beforeEach(() => open());

  test('a call that is sent again joins the task of the one that was lost', async () => {
    const peer = await session();
    const id = await lose(peer);
    const again = peer.call('held_auto', { word: 'tide' });
    await stage.release(id);
    expect(resultOf(await again)).toContain('tide');
    expect([...tasks.keys()]).toEqual([id]);
  });

  test('a task that ended while nobody was there gives its result to the call that is sent again', async () => {
    const peer = await session();
    const id = await lose(peer);
    await stage.release(id);
    await expect.poll(() => tasks.get(id)).toContain('finished');
    expect(resultOf(await peer.call('held_auto', { word: 'tide' }))).toContain('tide');
    expect([...tasks.keys()]).toEqual([id]);
  });

  test('a call whose answer was delivered is made a second time', async () => {
    const peer = await session();
    for (const nth of [1, 2]) {
      const answered = peer.call('held_auto', { word: 'tide' });
      await expect.poll(() => tasks.size).toBe(nth);
      const id = [...tasks.keys()].at(-1)!;
      await stage.release(id);
      expect(resultOf(await answered)).toContain('tide');
      await expect.poll(() => tasks.get(id)).toContain('removed');
    }
  });

  test('a call that joined can be lost and joined again', async () => {
    const peer = await session();
    const id = await lose(peer);
    const cut = new AbortController();
    const second = peer.send('tools/call', { name: 'held_auto', arguments: { word: 'tide' } }, cut.signal);
    // It is taken: a third call makes a task of its own.
    await expect.poll(() => answering(id)).not.toBeNull();
    cut.abort();
    await expect(second).rejects.toThrow();
    await expect.poll(() => answering(id)).toBeNull();
    const third = peer.call('held_auto', { word: 'tide' });
    await stage.release(id);
    expect(resultOf(await third)).toContain('tide');
    expect([...tasks.keys()]).toEqual([id]);
  });

  test('calls that are open at the same time are two tasks', async () => {
    const peer = await session();
    const both = [peer.call('held_auto', { word: 'tide' }), peer.call('held_auto', { word: 'tide' })];
    await expect.poll(() => tasks.size).toBe(2);
    for (const id of tasks.keys()) await stage.release(id);
    for (const one of both) expect(resultOf(await one)).toContain('tide');
  });

  test.each([
    ['another tool', 'held_always', { word: 'tide' }],
    ['other arguments', 'held_auto', { word: 'ebb' }],
  ])('a call of %s does not join', async (_, tool, input) => {
    const peer = await session();
    await lose(peer);
    void peer.call(tool, input).catch(() => {});
    await expect.poll(() => tasks.size).toBe(2);
  });

  test('a call that was cancelled by an operator is not joined', async () => {
    const peer = await session();
    const id = await lose(peer);
    await stage.tasks.cancel(id);
    void peer.call('held_auto', { word: 'tide' }).catch(() => {});
    await expect.poll(() => tasks.size).toBe(2);
  });

  test('a call that its client cancelled ends, and is not joined', async () => {
    const peer = await session();
    const call = { name: 'held_auto', arguments: { word: 'tide' } };
    const cut = new AbortController();
    const open = peer.post({ id: 99, method: 'tools/call', params: call }, cut.signal);
    await expect.poll(() => [...tasks.values()].at(-1)).toContain('parked');
    await peer.post({ method: 'notifications/cancelled', params: { requestId: 99 } });
    const [id] = tasks.keys();
    await expect.poll(() => stage.tasks.get(id!)).toMatchObject({ outcome: { kind: 'cancelled' } });
    void peer.call('held_auto', { word: 'tide' }).catch(() => {});
    await expect.poll(() => tasks.size).toBe(2);
    cut.abort();
    await open.catch(() => {});
  });

  test('the order of keys in the arguments means nothing', async () => {
    const peer = await session();
    const options = { a: 1, b: { c: [{ d: 1, e: 2 }], f: null } };
    const id = await lose(peer, 'anything', { word: 'tide', options });
    const reordered = { b: { f: null, c: [{ e: 2, d: 1 }] }, a: 1 };
    const again = peer.call('anything', { options: reordered, word: 'tide' });
    await stage.release(id);
    expect(resultOf(await again)).toBe('done');
    expect([...tasks.keys()]).toEqual([id]);
  });

  test('megabytes of arguments are compared like any others', async () => {
    const peer = await session();
    const words = Array.from({ length: 20_000 }, (_, n) => `a word that is number ${n} of many`);
    const id = await lose(peer, 'anything', { words });
    const others = peer.call('anything', { words: [...words.slice(1), 'another'] });
    await expect.poll(() => tasks.size).toBe(2);
    const again = peer.call('anything', { words });
    for (const one of tasks.keys()) await stage.release(one);
    for (const one of [again, others]) expect(resultOf(await one)).toBe('done');
    expect(tasks.size).toBe(2);
    expect([...tasks.keys()][0]).toBe(id);
  });

  test('of several lost calls the oldest is joined first, and each by one call', async () => {
    const peer = await session();
    const cut = new AbortController();
    const params = { name: 'held_auto', arguments: { word: 'tide' } };
    const lost = [1, 2].map(() => peer.send('tools/call', params, cut.signal).catch(() => undefined));
    await expect.poll(() => [...tasks.values()].map((went) => went.includes('parked'))).toEqual([true, true]);
    cut.abort();
    await Promise.all(lost);
    const [oldest, newest] = [...tasks.keys()] as [string, string];
    await expect.poll(() => answering(oldest)).toBeNull();
    await expect.poll(() => answering(newest)).toBeNull();

    const first = peer.call('held_auto', { word: 'tide' });
    await expect.poll(() => answering(oldest)).not.toBeNull();
    expect(await answering(newest)).toBeNull();
    const second = peer.call('held_auto', { word: 'tide' });
    await expect.poll(() => answering(newest)).not.toBeNull();
    for (const id of [oldest, newest]) await stage.release(id);
    for (const one of [first, second]) expect(resultOf(await one)).toContain('tide');
    expect(tasks.size).toBe(2);
  });

  test('of calls that are repeated at the same time one joins, and the others run', async () => {
    const peer = await session();
    const id = await lose(peer);
    const repeated = Array.from({ length: 5 }, () => peer.call('held_auto', { word: 'tide' }));
    await expect.poll(() => tasks.size).toBe(5);
    expect(await answering(id)).not.toBeNull();
    for (const one of tasks.keys()) await stage.release(one);
    for (const one of repeated) expect(resultOf(await one)).toContain('tide');
    expect(tasks.size).toBe(5);
  });

  describe('a task that ended is joined for ten minutes, and no longer', () => {
    const minute = 60_000;

    test.each([
      ['9 minutes ago', 9 * minute, 1],
      ['10 minutes ago', 10 * minute, 2],
    ])('%s', async (_, ago, count) => {
      const peer = await session();
      const id = await lose(peer);
      await stage.release(id);
      await expect.poll(() => tasks.get(id)).toContain('finished');
      stage.clock.advance(ago);
      void peer.call('held_auto', { word: 'tide' }).catch(() => {});
      await expect.poll(async () => tasks.size === 2 || (await answering(id)) !== null).toBe(true);
      expect(tasks.size).toBe(count);
    });

    test('however long operators can see it', async () => {
      await open({ attach: { plainClients: { keepDelivered: '1d' } } });
      const peer = await session();
      const id = await lose(peer);
      await stage.release(id);
      await expect.poll(() => tasks.get(id)).toContain('finished');
      stage.clock.advance(11 * minute);
      void peer.call('held_auto', { word: 'tide' }).catch(() => {});
      await expect.poll(() => tasks.size).toBe(2);
      expect(await stage.tasks.get(id)).toMatchObject({ phase: 'done' });
    });
  });

  test('a tool that is not joinable is called again, and its lost call is not cancelled', async () => {
    const peer = await session();
    const id = await lose(peer, 'alone', {});
    void peer.call('alone', {}).catch(() => {});
    await expect.poll(() => tasks.size).toBe(2);
    // Longer than a request counts as open after its process last said so.
    for (let minutes = 0; minutes < 3; minutes++) {
      stage.clock.advance(60_000);
      await pause(50);
    }
    await stage.release(id);
    await expect.poll(() => tasks.get(id)).toContain('finished');
    expect(await stage.tasks.get(id)).toMatchObject({ outcome: { kind: 'result' } });
  });

  test('a call that was handed over is not joined', async () => {
    const peer = await session();
    await stage.passing(peer.call('held_auto', { word: 'tide' }));
    void peer.call('held_auto', { word: 'tide' }).catch(() => {});
    await expect.poll(() => tasks.size).toBe(2);
  });

  test('peers cannot see a task that waits to be joined', async () => {
    const peer = await session();
    const taskId = await lose(peer);
    const { result } = await peer.call('task_status', { taskId });
    expect(result).toMatchObject({ isError: true });
  });
});

describe('a hand-over whose answer was not delivered', () => {
  /** A session on a web handler, whose answers are read only if the test does. */
  async function fetching() {
    const clock = new ManualClock();
    const store = await openSqlite('memory:', { clock });
    const tasks = createTasks({ store, clock, tools: handOverTools });
    await tasks.work({ grace: '50ms' });
    const handler = new McpHandler(tasks, attached(tasks));
    onTestFinished(async () => {
      await handler.close();
      await tasks.close();
    });
    let session = '';
    const send = (message: object) =>
      handler.fetch(
        new Request('http://127.0.0.1/mcp', {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...(session !== '' && { 'mcp-session-id': session }),
          },
          body: JSON.stringify({ jsonrpc: '2.0', ...message }),
        }),
      );
    const clientInfo = { name: 'a', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const opened = await send({ id: 1, method: 'initialize', params });
    session = opened.headers.get('mcp-session-id')!;
    await opened.text();
    /** The tasks that were handed over. */
    const ids: string[] = [];
    await tasks.subscribe(({ taskId, events }) => {
      if (events.some(({ type }) => type === 'published')) ids.push(taskId);
    });
    let lastId = 1;
    const call = () =>
      send({
        id: ++lastId,
        method: 'tools/call',
        params: { name: 'held_auto', arguments: { word: 'tide' } },
      });
    const passing = async (isOver: () => boolean) => {
      while (!isOver()) {
        clock.advance(5_000);
        await pause(5);
      }
    };
    // Nobody reads the first answer.
    const first = await call();
    await passing(() => ids.length === 1);
    await first.body!.cancel();
    const [id] = ids as [string];
    await expect.poll(() => answeringOf(tasks, id)).toBeNull();
    return { tasks, clock, id, ids, call, passing };
  }

  test('is joined, and one that was delivered is not', async () => {
    const { tasks, id, call, passing } = await fetching();
    let answer: string | undefined;
    void call()
      .then((response) => response.text())
      .then((text) => (answer = text));
    await expect.poll(() => answeringOf(tasks, id)).not.toBeNull();
    await passing(() => answer !== undefined);
    expect(answer).toContain(id);
    await expect.poll(() => answeringOf(tasks, id)).toBeUndefined();
  });

  test('is joined until ten minutes after the end of its task, however long that is kept', async () => {
    const { tasks, clock, id, ids, call, passing } = await fetching();
    await tasks.sendEvent(id, 'go');
    await expect.poll(() => tasks.get(id)).toMatchObject({ phase: 'done' });
    clock.advance(600_000);
    expect(await tasks.get(id)).toMatchObject({ phase: 'done' });
    const again = await call();
    await passing(() => ids.length === 2);
    expect(await again.text()).toContain(ids[1]);
  });
});

test('without a token the call of another session is not joined', async () => {
  await open();
  await lose(await session());
  const other = await session();
  void other.call('held_auto', { word: 'tide' }).catch(() => {});
  await expect.poll(() => tasks.size).toBe(2);
});

test('a call of another owner is not joined, though its session is known', async () => {
  await open({ tokens: { ...tokens, [eve]: 'eve' } });
  const peer = await session({ token: ada });
  const id = await lose(peer);
  const other = await session({ token: eve });
  void other.call('held_auto', { word: 'tide' }).catch(() => {});
  await expect.poll(() => tasks.size).toBe(2);
  expect(await answering(id)).toBeNull();
});

test('a call of another version of the tool is not joined', async () => {
  const file = temporaryFile();
  const version = (version: string) =>
    durableTool('versioned', { version }, async (_, task) => {
      await task.waitForEvent('go');
      return version;
    });
  await open({ store: await openSqlite(file), tokens, tools: [version('1')] });
  const id = await lose(await session({ token: ada }), 'versioned', {});
  await open({ store: await openSqlite(file), tokens, tools: [version('1'), version('2')] });
  const again = (await session({ token: ada })).call('versioned');
  await expect.poll(() => tasks.size).toBe(1);
  const [other] = tasks.keys();
  expect(other).not.toBe(id);
  await stage.release(other!);
  expect(resultOf(await again)).toBe('2');
});

test('with a token the call of another session is joined', async () => {
  await open({ tokens });
  const id = await lose(await session({ token: ada }));
  const other = await session({ token: ada });
  const again = other.call('held_auto', { word: 'tide' });
  await stage.release(id);
  expect(resultOf(await again)).toContain('tide');
  expect([...tasks.keys()]).toEqual([id]);
});

test('a call that asked its caller is joined in its own session only: one token may serve several people', async () => {
  await open({ tokens });
  const capabilities = { elicitation: {} };
  const peer = await session({ token: ada, capabilities });
  const id = await lose(peer, 'asking', {});
  const other = await session({ token: ada, capabilities });
  void other.call('asking').catch(() => {});
  await expect.poll(() => tasks.size).toBe(2);
  void peer.call('asking').catch(() => {});
  await expect.poll(() => answering(id)).not.toBeNull();
  expect(tasks.size).toBe(2);
});

const answering = (id: string) => answeringOf(stage.tasks, id);

describe('operators', () => {
  test('see a plain call while it runs, marked as one, and can cancel it', async () => {
    await open();
    const peer = await session();
    const reply = peer.call('held_auto', { word: 'tide' });
    await expect.poll(() => tasks.size).toBe(1);
    const desk = new Operator(stage.tasks);
    const { tasks: listed } = await desk.list({});
    expect(listed).toMatchObject([{ tool: 'held_auto', plainCall: true }]);
    await desk.cancel(listed[0]!.id);
    expect(await reply).toHaveProperty('error');
  });

  test('do not see it any more once its answer was delivered', async () => {
    await open();
    const peer = await session();
    const reply = peer.call('held_auto', { word: 'tide' });
    await expect.poll(() => tasks.size).toBe(1);
    await stage.release([...tasks.keys()][0]!);
    await reply;
    const desk = new Operator(stage.tasks);
    await expect.poll(async () => (await desk.list({})).tasks).toEqual([]);
  });

  test('see it for longer if the author says so, and a second call does not join it', async () => {
    await open({ attach: { plainClients: { keepDelivered: '1h' } } });
    const peer = await session();
    const reply = peer.call('held_auto', { word: 'tide' });
    await expect.poll(() => tasks.size).toBe(1);
    const id = [...tasks.keys()][0]!;
    await stage.release(id);
    await reply;
    await expect.poll(() => answering(id)).toBeUndefined();
    const second = peer.call('held_auto', { word: 'tide' });
    await expect.poll(() => tasks.size).toBe(2);
    const desk = new Operator(stage.tasks);
    const { tasks: listed } = await desk.list({ statuses: ['completed'] });
    expect(listed).toMatchObject([{ id, plainCall: true }]);
    await stage.release([...tasks.keys()][1]!);
    await second;
  });
});
