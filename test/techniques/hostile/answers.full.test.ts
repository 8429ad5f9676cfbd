/** Answers that no honest server gives. Each ends the call in bounded time, with a sentence that says what was wrong. */
import { MalformedAnswer, RemoteError, ServerUnreachable, TaskExpired, TaskLost } from 'holdfast/client';
import { describe, expect, test } from 'vitest';
import { meet, pace } from './meeting.ts';
import {
  complete,
  completed,
  created,
  done,
  Fault,
  Raw,
  type Revision,
  revisions,
  type Says,
  sse,
  task,
  type Wire,
} from './server.ts';

const get = (shown: Wire | Raw | Fault) => ({ 'tasks/get': () => shown });
const call = (shown: Wire | Raw | Fault) => ({ 'tools/call': () => shown });
const json = (text: string) =>
  new Raw((response) => response.setHeader('content-type', 'application/json').end(text));

type Case = readonly [
  title: string,
  revision: Revision,
  says: Readonly<Record<string, Says>>,
  sentence: string,
];

const broken: readonly Case[] = [
  [
    'a status that nobody knows',
    '2026-07-28',
    get(task('root', 'dreaming')),
    'has an unknown status: "dreaming"',
  ],
  ['no status', '2025-11-25', get(complete({ taskId: 'root' })), 'has an unknown status: undefined'],
  [
    'no task',
    '2026-07-28',
    get(complete({ status: 'working' })),
    'a response contains a task without a taskId',
  ],
  [
    'another task',
    '2026-07-28',
    get(task('other', 'working')),
    'a request for task root was answered with task other',
  ],
  [
    'a task that was over and is not any more',
    '2026-07-28',
    { ...call({ ...completed('root'), resultType: 'task' }), ...get(task('root', 'working')) },
    'task root was completed and is now working',
  ],
  [
    'a task that changes how it ended',
    '2025-11-25',
    { ...call({ task: task('root', 'cancelled') }), ...get(completed('root')) },
    'task root was cancelled and is now completed',
  ],
  ['no result', '2026-07-28', get(task('root', 'completed')), 'task root is completed and has no result'],
  [
    'a result that is a word',
    '2026-07-28',
    get(completed('root', 'well')),
    'task root is completed and has no result',
  ],
  ['a result without content', '2026-07-28', get(completed('root', {})), 'has no "content"'],
  [
    'content that is a word',
    '2025-11-25',
    { ...get(task('root', 'completed')), 'tasks/result': () => ({ content: 'done' }) },
    'the result of tools/call has no "content"',
  ],
  [
    'a direct result without content',
    '2026-07-28',
    call(complete({ contents: [] })),
    'the result of tools/call has no "content"',
  ],
  [
    'a type of result that nobody knows',
    '2026-07-28',
    call({ resultType: 'dream', ...done }),
    'it answered tools/call with the resultType "dream"',
  ],
  ['JSON that is no JSON-RPC', '2026-07-28', get(json('{"hello":"there"}')), 'not a JSON-RPC message'],
  ['a bare null', '2025-11-25', get(json('null')), 'not a JSON-RPC message'],
  [
    'questions that are a list',
    '2026-07-28',
    get(task('root', 'input_required', { inputRequests: [1] })),
    'the inputRequests of a task are not an object',
  ],
  [
    'a question that is a number',
    '2026-07-28',
    get(task('root', 'input_required', { inputRequests: { a: 5 } })),
    'the question "a" is not a request',
  ],
  [
    'more questions than anybody answers',
    '2026-07-28',
    get(
      task('root', 'input_required', {
        inputRequests: Object.fromEntries(
          Array.from({ length: 2_000 }, (_, n) => [`q${n}`, { method: 'elicitation/create' }]),
        ),
      }),
    ),
    'a task asks 2000 questions at once',
  ],
  [
    'question after question and never a task',
    '2026-07-28',
    call({ resultType: 'input_required', inputRequests: { a: { method: 'elicitation/create' } } }),
    'it asked more than 20 times before the call had a task',
  ],
  [
    'tools without end',
    '2026-07-28',
    { 'tools/list': ({ before }) => complete({ tools: [], nextCursor: `p${before}` }) },
    'its list of tools has no end',
  ],
  [
    'tools in a circle',
    '2025-11-25',
    { 'tools/list': () => complete({ tools: [{ name: 'x' }], nextCursor: 'again' }) },
    'its list of tools has no end',
  ],
];

describe('the call ends, and its error says what was wrong:', () => {
  test.each(broken)('%s, on %s', async (_, revision, says, sentence) => {
    const { tasks, server } = await meet(revision, says);
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MalformedAnswer);
    expect((error as Error).message).toContain('The server broke the protocol: ');
    expect((error as Error).message).toContain(sentence);
    expect(server.asked.length).toBeLessThan(150);
  });

  test('a result that is nested too deeply', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const shown = JSON.stringify(completed('root', complete({ content: ['here'] }))).replace('"here"', deep);
    const { tasks } = await meet('2026-07-28', {
      'tasks/get': ({ id }) => json(`{"jsonrpc":"2.0","id":"${id}","result":${shown}}`),
    });
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MalformedAnswer);
    expect((error as Error).message).toContain('nested too deeply');
  });

  test('a task in answer to resources/read', async () => {
    const { tasks } = await meet('2026-07-28', { 'resources/read': () => created('2026-07-28', 'root') });
    await expect(tasks.readResource({ uri: 'a://b' })).rejects.toThrow(
      'The server broke the protocol: it answered resources/read with a task.',
    );
  });

  test('a task from a server that says it has none', async () => {
    const { tasks } = await meet(
      '2025-11-25',
      { 'tools/call': () => created('2025-11-25', 'root') },
      { capabilities: { tasks: undefined } },
    );
    await expect(tasks.callTool({ name: 't' })).rejects.toThrow(MalformedAnswer);
  });

  test('an error without a code is not taken for one', async () => {
    const { tasks } = await meet('2026-07-28', {
      'tasks/get': ({ id }) => json(JSON.stringify({ jsonrpc: '2.0', id, error: { message: 'Oh.' } })),
    });
    await expect(tasks.callTool({ name: 't' })).rejects.toThrow(MalformedAnswer);
  });

  test('words that are no JSON, until the server counts as unreachable', async () => {
    const { tasks, server } = await meet('2026-07-28', get(json('Hello!')), { reconnectTimeout: '1s' });
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServerUnreachable);
    expect((error as Error).message).toMatch(/could not be reached for \d+ s\. .*JSON/);
    expect(server.count('tasks/get')).toBeLessThan(60);
  });
});

describe('a task that its server does not know', () => {
  const unknown = new Fault(-32602, 'No such task.');

  test.each(revisions)('is lost, on %s', async (revision) => {
    const { tasks } = await meet(revision, {
      'tasks/get': ({ before }) => (before < 3 ? task('root', 'working') : unknown),
    });
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TaskLost);
    expect((error as Error).message).toBe('Task root is lost: No such task.');
  });

  test.each(revisions)('has expired if its time is over, on %s', async (revision) => {
    const createdAt = new Date(Date.now() - 5_000).toISOString();
    const short = { createdAt, ttl: 5_000, ttlMs: 5_000 };
    const { tasks } = await meet(revision, {
      'tasks/get': ({ before }) => (before < 3 ? task('root', 'working', short) : unknown),
    });
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TaskExpired);
    expect((error as Error).message).toContain('after its ttl of 5000 ms');
  });

  test('is not given up for what a wrong clock says', async () => {
    const createdAt = new Date(Date.now() - 3_600_000).toISOString();
    const shown = { createdAt, ttl: 60_000, ttlMs: 60_000 };
    const { tasks } = await meet('2026-07-28', {
      'tasks/get': ({ before }) =>
        before === 0
          ? task('root', 'working', shown)
          : before < 4
            ? new Raw((response) => response.destroy())
            : completed('root'),
    });
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
  });
});

describe('what a server may say', () => {
  test.each(revisions)('an internal error for a while, on %s', async (revision) => {
    const { tasks } = await meet(revision, {
      'tasks/get': ({ before }) => (before < 4 ? new Fault(-32603, 'Oh dear.') : completed('root')),
      'tasks/result': () => done,
    });
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
  });

  test('an internal error for good', async () => {
    const { tasks } = await meet('2026-07-28', get(new Fault(-32603, 'Oh dear.')), {
      reconnectTimeout: '1s',
    });
    await expect(tasks.callTool({ name: 't' })).rejects.toThrow(ServerUnreachable);
  });

  test('that it may not be asked', async () => {
    const { tasks } = await meet('2026-07-28', get(new Fault(-32099, 'Go away.')));
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RemoteError);
    expect((error as RemoteError).rpcCode).toBe(-32099);
  });

  test('answers to what nobody asked, before the one that somebody did', async () => {
    const { tasks } = await meet('2026-07-28', {
      'tasks/get': ({ id }) =>
        new Raw((response) => {
          response.setHeader('content-type', 'text/event-stream');
          const strange = ['hf-never', 77, 'x'].map((other) => ({
            jsonrpc: '2.0',
            id: other,
            result: completed('root', { content: ['wrong'] }),
          }));
          response.end(sse(...strange, { jsonrpc: '2.0', id, result: completed('root') }));
        }),
    });
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
  });
});

describe('however often a server wants to be asked', () => {
  const hints = [0, -5, 0.5, 1e308, 2 ** 40, 'soon', null, Number.NaN];

  test.each(revisions.flatMap((revision) => hints.map((hint) => [revision, hint] as const)))(
    'on %s, %s: the host keeps to its own bounds',
    async (revision, hint) => {
      let end = Number.POSITIVE_INFINITY;
      const { tasks, server } = await meet(revision, {
        'tasks/get': ({ before }) =>
          before > 3 && performance.now() > end
            ? completed('root')
            : task('root', 'working', { pollInterval: hint, pollIntervalMs: hint }),
        'tasks/result': () => done,
      });
      end = performance.now() + 300;
      await tasks.callTool({ name: 't' });
      const times = server.times('tasks/get');
      expect(times.length).toBeGreaterThan(3);
      expect(times.length).toBeLessThanOrEqual((times.at(-1)! - times[0]!) / pace.floorMs + 2);
    },
  );
});

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

describe('a list of tasks', () => {
  test('without end has one', async () => {
    const { tasks, server } = await meet('2025-11-25', {
      'tasks/list': ({ before }) => ({ tasks: [], nextCursor: `page ${before}` }),
    });
    await expect(all(tasks.list())).rejects.toThrow(
      'The server broke the protocol: its list of tasks has no end.',
    );
    expect(server.count('tasks/list')).toBeLessThan(200);
  });

  test('whose cursor repeats itself ends there', async () => {
    const { tasks, server } = await meet('2025-11-25', {
      'tasks/list': () => ({ tasks: [task('root', 'working')], nextCursor: 'again' }),
    });
    await expect(all(tasks.list())).rejects.toThrow(MalformedAnswer);
    expect(server.count('tasks/list')).toBe(2);
  });

  test('that is none is said to be none', async () => {
    const { tasks } = await meet('2025-11-25', { 'tasks/list': () => ({ tasks: 'many' }) });
    await expect(all(tasks.list())).rejects.toThrow(MalformedAnswer);
  });
});
