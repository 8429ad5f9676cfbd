/** Servers that would keep a caller waiting without end. Each is given up, and the call can be resumed. */
import {
  MalformedAnswer,
  memoryCallRegistry,
  ServerUnreachable,
  TaskExpired,
  type TaskHandle,
  TaskOverdue,
} from 'holdfast/client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { meet } from './meeting.ts';
import {
  type Asked,
  completed,
  created,
  done,
  Fault,
  type HostileServer,
  hangUp,
  Raw,
  type Revision,
  revisions,
  type Says,
  silence,
  task,
  type Wire,
} from './server.ts';

type Options = Parameters<typeof meet>[2];

/** In the words of one revision, so that those of the other do not help. */
const ttlOf = (revision: Revision, ttl: unknown) =>
  revision === '2026-07-28' ? { ttlMs: ttl, ttl: undefined } : { ttl, ttlMs: undefined };
const words = new Raw((response) => response.setHeader('content-type', 'application/json').end('Hello!'));
const noSession = new Raw((response) => response.writeHead(404).end('Session not found'));

/** A call that became a task with this ttl, of which the server then says that. */
async function calling(revision: Revision, ttl: unknown, get: Says, options?: Options) {
  const handles = memoryCallRegistry();
  const meeting = await meet(
    revision,
    {
      'tools/call': () => created(revision, 'root', ttlOf(revision, ttl)),
      'tasks/get': get,
      'tasks/result': () => done,
    },
    { registry: handles, ...options },
  );
  return { ...meeting, handles, handle: await meeting.tasks.call('t') };
}

async function errorOf(handle: TaskHandle): Promise<Error> {
  return handle.result().then(
    () => Promise.reject(new Error('It has a result.')),
    (error: Error) => error,
  );
}

/** The server comes to its senses: whoever comes back gets the result. */
async function expectResumable({ server, tasks, handles, handle }: Awaited<ReturnType<typeof calling>>) {
  expect(handles.list({ onlyOpen: true })).toMatchObject([{ id: handle.id, taskId: 'root' }]);
  expect(handles.get(handle.id)).not.toHaveProperty('ending');
  server.says.set('tasks/get', () => completed('root'));
  const resumed = await tasks.resume(handle.id);
  expect(await resumed.result()).toMatchObject(done);
}

const failing: readonly (readonly [what: string, get: Says])[] = [
  ['never answers', () => silence],
  ['hangs up', () => hangUp],
  ['answers with words', () => words],
  ['loses every session', () => noSession],
  ['answers with an internal error', () => new Fault(-32603, 'Oh dear.')],
];

describe.each(revisions)('on %s', (revision) => {
  test.each(failing)(
    'a server that %s is given up once the ttl of the create result has passed',
    async (_, get) => {
      const call = await calling(revision, 400, get, { requestTimeout: 2_000, reconnectTimeout: '10m' });
      const error = await errorOf(call.handle);
      expect(error).toBeInstanceOf(TaskOverdue);
      expect(error.message).toMatch(
        /^Task root is overdue: the server has sent no valid answer for \d+ s, and the ttl of the task is 400 ms\. .+ Resume the call to try again\.$/,
      );
      await expectResumable(call);
    },
  );

  test.each(failing)('a server that %s is given up as unreachable if there is no ttl', async (_, get) => {
    const call = await calling(revision, null, get, { requestTimeout: 2_000, reconnectTimeout: 700 });
    const error = await errorOf(call.handle);
    expect(error).toBeInstanceOf(ServerUnreachable);
    await expectResumable(call);
  });

  test('a server that shows nonsense breaks the protocol, and the call can be resumed', async () => {
    const call = await calling(revision, null, () => task('root', 'dreaming'));
    expect(await errorOf(call.handle)).toBeInstanceOf(MalformedAnswer);
    await expectResumable(call);
  });

  test('a task that is still working long after its ttl is given up', async () => {
    const call = await calling(revision, 200, () => task('root', 'working', ttlOf(revision, 200)), {
      reconnectTimeout: 400,
    });
    const error = await errorOf(call.handle);
    expect(error).toBeInstanceOf(TaskOverdue);
    expect(error.message).toMatch(
      /^Task root is overdue: the server still reports it as working, \d+ s after its ttl of 200 ms\. .+ Resume the call to try again\.$/,
    );
    await expectResumable(call);
  });

  test('the ttl of the create result counts if no later answer has one', async () => {
    const shown = task('root', 'working', ttlOf(revision, undefined));
    const call = await calling(revision, 200, () => shown, { reconnectTimeout: 400 });
    expect(await errorOf(call.handle)).toBeInstanceOf(TaskOverdue);
  });

  test('a task that is unknown at the first poll has expired if the create result says so', async () => {
    const createdAt = new Date(Date.now() - 60_000).toISOString();
    const { tasks } = await meet(revision, {
      'tools/call': () => created(revision, 'root', { createdAt, ...ttlOf(revision, 1_000) }),
      'tasks/get': () => new Fault(-32602, 'No such task.'),
    });
    await expect(tasks.callTool({ name: 't' })).rejects.toThrow(TaskExpired);
  });

  test('a task whose ttl grows with it is not given up', async () => {
    const begun = performance.now();
    const { handle, server } = await calling(
      revision,
      100,
      ({ before }) =>
        before < 40
          ? task('root', 'working', ttlOf(revision, performance.now() - begun + 5_000))
          : completed('root'),
      { reconnectTimeout: 200 },
    );
    expect(await handle.result()).toMatchObject(done);
    expect(server.count('tasks/get')).toBeGreaterThan(40);
  });

  test('a task whose ttl is another each time is not given up if it is alive in between', async () => {
    const ttls = [1, null, 'soon', 1, 1e300, -7, 1, null];
    const { handle } = await calling(
      revision,
      1,
      ({ before }) =>
        before < 40
          ? task('root', 'working', ttlOf(revision, ttls[before % ttls.length]))
          : completed('root'),
      // Longer than the few polls between two answers that have no limit, even if each takes a while.
      { reconnectTimeout: '10s', pace: { floorMs: 5, ceilingMs: 20, defaultMs: 10 } },
    );
    expect(await handle.result()).toMatchObject(done);
  });

  test('a task without a ttl is polled for as long as the server answers', async () => {
    const { handle } = await calling(
      revision,
      null,
      ({ before }) => (before < 40 ? task('root', 'working') : completed('root')),
      { reconnectTimeout: 50 },
    );
    expect(await handle.result()).toMatchObject(done);
  });

  test.each([-1, -1e308, '300', true, {}, [300]])('a ttl of %j in the create result is none', async (ttl) => {
    const { handle } = await calling(revision, ttl, () => hangUp, { reconnectTimeout: 500 });
    expect(await errorOf(handle)).toBeInstanceOf(ServerUnreachable);
  });

  test.each([1e16, 1e300])('a ttl of %d is no limit that a timer could end at once', async (ttl) => {
    const { handle } = await calling(revision, ttl, ({ before }) =>
      before < 5 ? hangUp : before < 10 ? task('root', 'working', ttlOf(revision, ttl)) : completed('root'),
    );
    expect(await handle.result()).toMatchObject(done);
  });

  const nonsense: readonly Wire[] = [
    { taskId: 7, status: 'working' },
    { taskId: '', status: 'working' },
    { status: 'working' },
    { taskId: 'root' },
    { taskId: 'root', status: ['working'] },
  ];
  test.each(nonsense)('a create result of %j ends the call', async (shown) => {
    const { tasks, server } = await meet(revision, {
      'tools/call': () => (revision === '2026-07-28' ? { resultType: 'task', ...shown } : { task: shown }),
    });
    await expect(tasks.callTool({ name: 't' })).rejects.toThrow(MalformedAnswer);
    expect(server.count('tasks/get')).toBe(0);
  });
});

describe('a person takes longer than the ttl to answer:', () => {
  const form = {
    method: 'elicitation/create',
    params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
  };
  const answerAfter = (looks: number) => ({
    reconnectTimeout: 200,
    answer: async () => {
      await expect.poll(polls).toBeGreaterThan(looks);
      return { action: 'accept' as const, content: {} };
    },
  });
  let server: HostileServer | undefined;
  const polls = () => server?.count('tasks/get') ?? 0;
  afterEach(() => {
    server = undefined;
  });

  test('the task is not given up on 2026-07-28', async () => {
    let isAnswered = false;
    const call = await calling(
      '2026-07-28',
      100,
      () =>
        isAnswered
          ? completed('root')
          : task('root', 'input_required', { ...ttlOf('2026-07-28', 100), inputRequests: { name: form } }),
      answerAfter(40),
    );
    server = call.server;
    server.says.set('tasks/update', () => {
      isAnswered = true;
      return { resultType: 'complete' };
    });
    expect(await call.handle.result()).toMatchObject(done);
  });

  test('the task is not given up on 2025-11-25', async () => {
    let isAnswered = false;
    const _meta = { 'io.modelcontextprotocol/related-task': { taskId: 'root' } };
    const call = await calling(
      '2025-11-25',
      100,
      () => task('root', isAnswered ? 'completed' : 'input_required', ttlOf('2025-11-25', 100)),
      answerAfter(40),
    );
    server = call.server;
    server.says.set('tasks/result', ({ id }: Asked) => {
      if (isAnswered) return done;
      return new Raw((response) => {
        response.setHeader('content-type', 'text/event-stream');
        const { method, params } = form;
        const question = { jsonrpc: '2.0', id: `q ${id}`, method, params: { ...params, _meta } };
        response.write(`data: ${JSON.stringify(question)}\n\n`);
      });
    });
    server.says.set('response', () => {
      isAnswered = true;
      return undefined;
    });
    expect(await call.handle.result()).toMatchObject(done);
  });
});

describe('a clock that is set while a call waits', () => {
  afterEach(() => void vi.useRealTimers());

  test.each(revisions)('forward does not make it give up, on %s', async (revision) => {
    vi.setSystemTime(Date.now());
    const { handle } = await calling(
      revision,
      3_600_000,
      ({ before }) => {
        if (before === 1) vi.setSystemTime(Date.now() + 30 * 24 * 3_600_000);
        return before === 0
          ? task('root', 'working', ttlOf(revision, 3_600_000))
          : before < 4
            ? hangUp
            : completed('root');
      },
      { reconnectTimeout: '10m' },
    );
    expect(await handle.result()).toMatchObject(done);
  });

  test('back does not keep it from opening another session', async () => {
    const { handle, server } = await calling('2025-11-25', null, ({ session }) =>
      session === 'session-1' ? noSession : completed('root'),
    );
    server.says.set('initialize', () => {
      server.says.delete('initialize');
      // Once the failure is known, and before the next attempt.
      setTimeout(() => vi.setSystemTime(Date.now() - 24 * 3_600_000), 100);
      return new Fault(-32603, 'Oh dear.');
    });
    expect(await handle.result()).toMatchObject(done);
  });
});

test('a server that opens every session but the end of its handshake is given up', async () => {
  const call = await calling('2025-11-25', 400, () => noSession, {
    requestTimeout: 2_000,
    reconnectTimeout: '10m',
  });
  call.server.says.set('notifications/initialized', () => silence);
  expect(await errorOf(call.handle)).toBeInstanceOf(TaskOverdue);
  call.server.says.delete('notifications/initialized');
  await expectResumable(call);
});
