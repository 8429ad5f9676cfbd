/** Connections that do what connections do, and what they should not. */
import { getEventListeners } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ConnectionLost, Detached, RequestTimedOut, ServerUnreachable } from 'holdfast/client';
import { describe, expect, test } from 'vitest';
import { untilEnd } from '../../kit/lifetime.ts';
import { Program, sources } from '../../kit/process.ts';
import { meet } from './meeting.ts';
import {
  type Asked,
  complete,
  completed,
  created,
  done,
  hangUp,
  Raw,
  revisions,
  type Says,
  silence,
  sse,
  task,
} from './server.ts';

const busy = (retryAfter: string) =>
  new Raw((response) => response.writeHead(503, { 'retry-after': retryAfter }).end());

/** Works for so long, and until it was looked at so often, and is completed then. */
const workingFor = (ms: number, looks = 0): Says => {
  let end: number | undefined;
  return ({ before }) => {
    end ??= performance.now() + ms;
    return performance.now() < end || before < looks ? task('root', 'working') : completed('root');
  };
};

describe('a server that is busy', () => {
  test.each(revisions)('is asked again when it said, on %s', async (revision) => {
    const { tasks, server } = await meet(
      revision,
      {
        'tasks/get': ({ before }) => (before === 0 ? busy('1') : completed('root')),
        'tasks/result': () => done,
      },
      { pace: { floorMs: 10, ceilingMs: 5_000 }, reconnectTimeout: '10s' },
    );
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    const [first, second] = server.times('tasks/get');
    expect(second! - first!).toBeGreaterThan(990);
  });

  test('gets the call again, since it did not take it', async () => {
    const { tasks, server } = await meet('2025-11-25', {
      'tools/call': ({ before }) => (before === 0 ? busy('0') : done),
    });
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    expect(server.count('tools/call')).toBe(2);
  });

  test.each(['-5', 'soon', '1e300', 'Thu, 01 Jan 1970 00:00:00 GMT', ''])(
    'and says nonsense about it: %s',
    async (retryAfter) => {
      const { tasks } = await meet('2026-07-28', {
        'tasks/get': ({ before }) => (before < 2 ? busy(retryAfter) : completed('root')),
      });
      expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    },
  );

  test('for good is unreachable', async () => {
    const { tasks } = await meet('2026-07-28', { 'tasks/get': () => busy('0') }, { reconnectTimeout: '1s' });
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServerUnreachable);
    expect((error as Error).message).toContain('it is busy (HTTP 503)');
  });
});

describe('a session that the server does not know any more', () => {
  const forgets = (method: string, says: Says): Record<string, Says> => ({
    [method]: (asked) =>
      asked.session === 'session-1'
        ? new Raw((response) => response.writeHead(404).end('Session not found'))
        : says(asked),
  });

  test('is opened again, and the task goes on', async () => {
    const { tasks, server } = await meet('2025-11-25', {
      ...forgets('tasks/get', () => completed('root')),
      'tasks/result': () => done,
    });
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    expect(server.count('initialize')).toBe(2);
  });

  test('is opened again for a call, which was not carried out', async () => {
    const { tasks, server } = await meet(
      '2025-11-25',
      forgets('tools/call', () => done),
    );
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    expect(server.count('initialize')).toBe(2);
  });

  test('is opened again once for many', async () => {
    const { tasks, server } = await meet('2025-11-25', {
      'tools/call': ({ before }) => created('2025-11-25', `t${before}`),
      ...forgets('tasks/get', ({ params }) => completed(params.taskId)),
      'tasks/result': () => done,
    });
    await Promise.all(Array.from({ length: 20 }, () => tasks.callTool({ name: 't' })));
    expect(server.count('initialize')).toBeLessThanOrEqual(3);
  });

  test.each(revisions)('is opened again while another call is made, on %s', async (revision) => {
    const open = revision === '2026-07-28' ? 'server/discover' : 'initialize';
    const { tasks, server } = await meet(revision, {
      'tasks/get': ({ before, params }) =>
        before === 0 ? new Raw((response) => response.writeHead(404).end()) : completed(params.taskId),
      'tasks/result': () => done,
    });
    const reopening = Promise.withResolvers<void>();
    const opened = server.says.get(open);
    server.says.set(open, () => {
      reopening.resolve();
      return new Raw((response, asked) => {
        if (opened) server.says.set(open, opened);
        else server.says.delete(open);
        setTimeout(() => server.answer(asked, response), 200);
      });
    });
    const first = await tasks.call('t');
    await reopening.promise;
    const second = await tasks.call('t');
    for (const handle of [first, second]) expect(await handle.result()).toMatchObject(done);
    expect(second.taskId).toBe('root');
  });

  test('and cannot be opened again is unreachable in the end, without a storm', async () => {
    const gone = () => new Raw((response) => response.writeHead(404).end());
    const { tasks, server } = await meet('2025-11-25', { 'tasks/get': gone }, { reconnectTimeout: '1s' });
    const handles = await Promise.all(Array.from({ length: 10 }, () => tasks.call('t')));
    server.says.set('initialize', gone);
    for (const handle of handles) await expect(handle.result()).rejects.toThrow(ServerUnreachable);
    expect(server.count('initialize')).toBeLessThan(10);
  });
});

describe('requests that are never answered', () => {
  test.each(revisions)('are asked again, on %s', async (revision) => {
    const { tasks, server } = await meet(
      revision,
      { 'tasks/get': ({ before }) => (before < 2 ? silence : completed('root')), 'tasks/result': () => done },
      { requestTimeout: 1_000 },
    );
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    expect(server.count('tasks/get')).toBe(3);
  });

  test('make the server unreachable in the end', async () => {
    const { tasks } = await meet(
      '2026-07-28',
      { 'tasks/get': () => silence },
      { requestTimeout: 800, reconnectTimeout: 1_200 },
    );
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServerUnreachable);
    expect((error as Error).message).toContain('did not answer tasks/get within 800 ms');
  });

  test.each(['initialize', 'server/discover'])('end the attempt to connect: %s', async (method) => {
    const revision = method === 'initialize' ? '2025-11-25' : '2026-07-28';
    // It is our time-out that ended it, not the SDK's minute.
    await expect(meet(revision, { [method]: () => silence }, { requestTimeout: 200 })).rejects.toMatchObject({
      code: 'REQUEST_TIMEOUT',
      data: { timeout: 200 },
    });
  });

  test('a call is not made twice for that', async () => {
    const { tasks, server } = await meet('2025-11-25', { 'tools/call': () => silence }, { callTimeout: 100 });
    await expect(tasks.callTool({ name: 't' })).rejects.toThrow(RequestTimedOut);
    expect(server.count('tools/call')).toBe(1);
  });

  test('a time-out longer than any timer is not one that ends at once', async () => {
    const { tasks } = await meet(
      '2026-07-28',
      { 'tasks/get': workingFor(100) },
      { requestTimeout: '60d', callTimeout: '60d' },
    );
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
  });
});

describe('a subscription', () => {
  const stream = (
    then: (write: (...messages: unknown[]) => void, asked: Asked, end: () => void) => void,
  ) => ({
    'subscriptions/listen': (asked: Asked) =>
      new Raw((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const write = (...messages: unknown[]) => void response.write(sse(...messages));
        write({
          jsonrpc: '2.0',
          method: 'notifications/subscriptions/acknowledged',
          params: {
            _meta: { 'io.modelcontextprotocol/subscriptionId': asked.id },
            notifications: asked.params.notifications,
          },
        });
        then(write, asked, () => response.end());
      }),
  });
  const news = { jsonrpc: '2.0', method: 'notifications/tasks', params: { taskId: 'root' } };

  test('that dies again and again is not opened again and again, and the task is looked at', async () => {
    const { tasks, server } = await meet('2026-07-28', {
      'tasks/get': workingFor(1_500, 10),
      ...stream((_, __, end) => end()),
    });
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    const looks = server.times('tasks/get');
    expect(looks.length).toBeGreaterThan(10);
    const passedMs = looks.at(-1)! - looks[0]!;
    expect(server.count('subscriptions/listen')).toBeLessThanOrEqual(passedMs / 5_000 + 2);
  });

  test('that floods does not make us flood', async () => {
    const flood = Array.from({ length: 1_000 }, () => news);
    const { tasks, server } = await meet(
      '2026-07-28',
      {
        'tasks/get': workingFor(2_000),
        ...stream((write) => {
          for (let n = 0; n < 100; n++) setTimeout(() => write(...flood), n * 10).unref();
        }),
      },
      { pace: { floorMs: 50, ceilingMs: 500 } },
    );
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    const times = server.times('tasks/get');
    expect(times.length).toBeLessThanOrEqual((times.at(-1)! - times[0]!) / 50 + 2);
  });

  test('that has news every other millisecond does not make us look so often', async () => {
    const { tasks, server } = await meet(
      '2026-07-28',
      {
        'tasks/get': workingFor(1_000, 5),
        ...stream((write) => {
          const timer = setInterval(() => write(news), 2).unref();
          setTimeout(() => clearInterval(timer), 1_000).unref();
        }),
      },
      { pace: { floorMs: 50, ceilingMs: 500 } },
    );
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    const times = server.times('tasks/get');
    expect(times.length).toBeLessThanOrEqual((times.at(-1)! - times[0]!) / 50 + 2);
    expect(times.length).toBeGreaterThan(4);
  });

  test('news that come while a look is under way are not missed', async () => {
    let write: ((...messages: unknown[]) => void) | undefined;
    // Without the news it would be looked at again after an hour.
    const unhurried = { pollIntervalMs: 3_600_000 };
    const { tasks, server } = await meet(
      '2026-07-28',
      {
        'tasks/get': ({ id }) => {
          if (!write) return task('root', 'working');
          if (server.says.get('isTold')) return completed('root');
          server.says.set('isTold', () => undefined);
          // The answer was formed before the task ended; the news overtake it.
          return new Raw((response) => {
            write!(news);
            setTimeout(() => {
              response.setHeader('content-type', 'application/json');
              response.end(
                JSON.stringify({ jsonrpc: '2.0', id, result: task('root', 'working', unhurried) }),
              );
            }, 100);
          });
        },
        ...stream((writes) => {
          write = writes;
        }),
      },
      { pace: { floorMs: 10, ceilingMs: 3_600_000, defaultMs: 20 } },
    );
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
  });

  test('for tasks that come and go is not renewed for each of them', async () => {
    const { tasks, server } = await meet('2026-07-28', {
      'tools/call': ({ before }) => created('2026-07-28', `t${before}`),
      'tasks/get': ({ params, before }) =>
        before % 3 === 2 ? completed(params.taskId) : task(params.taskId, 'working'),
      ...stream(() => {}),
    });
    for (let n = 0; n < 40; n++) await Promise.all([1, 2].map(() => tasks.callTool({ name: 't' })));
    const times = server.times('subscriptions/listen');
    expect(times.length).toBeLessThanOrEqual((times.at(-1)! - times[0]!) / 1_000 + 2);
  });

  test('on 2025-11-25 that wants to be opened again at once is not', async () => {
    const { tasks, server } = await meet('2025-11-25', {
      'tasks/get': workingFor(1_000),
      'tasks/result': () => done,
      GET: () =>
        new Raw((response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.end('retry: 0\nid: 1\ndata: \n\n');
        }),
    });
    await tasks.callTool({ name: 't' });
    const times = server.times('GET');
    expect(times.length).toBeLessThanOrEqual((times.at(-1)! - times[0]!) / 250 + 3);
  });
});

test('a lost connection does not repeat a call that may have been carried out', async () => {
  const { tasks, server } = await meet('2025-11-25', { 'tools/call': () => hangUp });
  await expect(tasks.callTool({ name: 't' })).rejects.toThrow(ConnectionLost);
  expect(server.count('tools/call')).toBe(1);
});

describe('nothing is left', () => {
  test('on a signal that outlives its calls', async () => {
    const { signal } = new AbortController();
    const { tasks } = await meet('2026-07-28', {
      'tools/call': ({ before }) => (before % 2 === 0 ? complete(done) : created('2026-07-28', 'root')),
      'tasks/get': workingFor(100),
    });
    for (let n = 0; n < 10; n++) await tasks.callTool({ name: 't' }, { signal });
    await expect.poll(() => getEventListeners(signal, 'abort').length).toBe(0);
  });

  test('of a call whose signal is aborted, but its handle', async () => {
    const over = new AbortController();
    const looked = Promise.withResolvers<void>();
    const { tasks } = await meet(
      '2026-07-28',
      {
        'tasks/get': () => {
          setTimeout(looked.resolve, 50);
          return task('root', 'working', { pollIntervalMs: 60_000 });
        },
      },
      { pace: { ceilingMs: 60_000 } },
    );
    const handle = await tasks.call('t', {}, { signal: over.signal });
    await looked.promise;
    over.abort();
    await expect(handle.result()).rejects.toThrow(Detached);
    const resumed = await tasks.resumeAll();
    expect(resumed.map(({ id }) => id)).toEqual([handle.id]);
    for (const one of resumed) one.detach();
  });

  test('when a client closes while everything hangs', async () => {
    const { tasks } = await meet(
      '2026-07-28',
      { 'tasks/get': () => silence, 'subscriptions/listen': () => silence },
      // What hangs would do so for longer than a test may take.
      { requestTimeout: '10m' },
    );
    const handle = await tasks.call('t');
    await tasks.close();
    await expect(handle.result()).rejects.toThrow(Detached);
  });

  test('that keeps a process alive', async () => {
    const { server } = await meet('2026-07-28', {
      'tasks/get': ({ params }) => task(params.taskId, 'working', { childTaskIds: ['a', 'b'] }),
      'subscriptions/listen': () => silence,
    });
    const program = fileURLToPath(new URL('leaving-host.ts', import.meta.url));
    const host = untilEnd(new Program(sources(program, server.url)));
    const { code } = await host.exit;
    expect([code, host.output]).toEqual([0, 'MalformedAnswer\n']);
  });
});
