/** Every limit of a caller, gone over in every dialect: the error is the dialect's, and names the limit. */
import type { Tasks, TasksOptions } from 'holdfast';
import { describe, expect, test } from 'vitest';
import { served } from '../dialects/revision-2025-11-25/peer.ts';
import { relatedTask } from '../dialects/sep-1686/requestor.ts';
import type { Message } from '../kit/wire.ts';
import { type Face, faces, read } from '../owners/faces.ts';

const tokens = { 'token-a': 'ada', 'token-b': 'bob' };
const [ada, bob] = ['owner:ada', 'owner:bob'];
const dialects = ['2026-07-28', '2025-11-25', 'SEP-1686'];
const inSessions = dialects.slice(1);
const codes: Record<string, number> = { '2026-07-28': -31029 };

interface Case {
  /** What of the requirements it proves. */
  readonly row: string;
  readonly limit: string;
  readonly options: Partial<TasksOptions>;
  /** What is there before the caller asks; the id of the task that it asks about. */
  readonly before?: (tasks: Tasks) => Promise<string>;
  readonly ask: (face: Face, taskId: string) => Message;
  /** How often it gets what it asks for. */
  readonly times: number;
  /** Whether it is worth asking again. */
  readonly passes: boolean;
  readonly dialects?: readonly string[];
}

const live = (owner: string) => async (tasks: Tasks) =>
  (await tasks.create('nap', { ms: 60_000 }, { owner })).id;
const done = (owner: string) => async (tasks: Tasks) => {
  const { id } = await tasks.create('nap', { ms: 1 }, { owner });
  await tasks.outcome(id);
  return id;
};
let calls = 0;
const call = (face: Face): Message => ({
  method: 'tools/call',
  params: { name: 'nap', arguments: { ms: 1 }, ...face.asTask(`call ${++calls}`) },
});
const about = (method: string) => (face: Face, taskId: string) => ({ method, params: face.about(taskId) });

const cases: readonly Case[] = [
  {
    row: 'S1686-78, S2025-102',
    limit: 'callsPerMinute',
    options: { limits: { callsPerMinute: 1 } },
    ask: call,
    times: 1,
    passes: true,
  },
  {
    row: 'S1686-78, S2025-102',
    limit: 'readsPerMinute',
    options: { limits: { readsPerMinute: 1 } },
    before: live(ada),
    ask: about('tasks/get'),
    times: 1,
    passes: true,
  },
  {
    row: 'S1686-78, S2025-102',
    limit: 'resultsPerMinute',
    options: { limits: { resultsPerMinute: 1 } },
    before: done(ada),
    ask: about('tasks/result'),
    times: 1,
    passes: true,
    dialects: inSessions,
  },
  {
    row: 'S1686-78, S2025-102',
    limit: 'listsPerMinute',
    options: { limits: { listsPerMinute: 1 } },
    ask: (face) => ({
      method: 'tasks/list',
      params: '_meta' in face.about('') ? { _meta: { [relatedTask]: {} } } : {},
    }),
    times: 1,
    passes: true,
    dialects: inSessions,
  },
  {
    row: 'S1686-86, S2025-111',
    limit: 'failedReadsPerMinute',
    options: { limits: { failedReadsPerMinute: 2 } },
    // Whatever is done with a task of another.
    ask: (face, taskId) => about(++calls % 2 ? 'tasks/get' : 'tasks/cancel')(face, taskId),
    before: live(bob),
    times: 2,
    passes: true,
  },
  {
    row: 'S1686-86, S2025-111',
    limit: 'pollsPerHint',
    options: { limits: { pollsPerHint: 1 } },
    before: live(ada),
    ask: about('tasks/get'),
    // So many are never too many, and the first that is gets its answer.
    times: 601,
    passes: true,
  },
  {
    row: 'S1686-79, S2025-103',
    limit: 'liveTasksPerOwner',
    options: { limits: { liveTasksPerOwner: 1 } },
    before: live(ada),
    ask: call,
    times: 0,
    passes: false,
  },
  {
    row: 'S1686-79, S2025-103',
    limit: 'storedTasksPerOwner',
    options: { limits: { storedTasksPerOwner: 1 } },
    before: done(ada),
    ask: call,
    times: 0,
    passes: false,
  },
  {
    row: 'S1686-79, S2025-103',
    limit: 'liveTasks',
    options: { limits: { liveTasks: 1 } },
    before: live(bob),
    ask: call,
    times: 0,
    passes: true,
  },
  {
    row: 'S1686-79, S2025-103',
    limit: 'storedTasks',
    options: { limits: { storedTasks: 1 } },
    before: done(bob),
    ask: call,
    times: 0,
    passes: true,
  },
];

/** The answer in a body that may be a stream of events. */
function answerIn(text: string, id: string) {
  const messages = text.startsWith('{')
    ? [text]
    : [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => data!);
  return messages.map((one) => JSON.parse(one)).find((one) => one.id === id && !('method' in one));
}

async function asked(face: Face, message: Message) {
  const id = `ask ${++calls}`;
  const { text, ...response } = await read(await face.send({ id, ...message }));
  return { ...response, message: answerIn(text, id) };
}

describe.each(dialects)('%s', (dialect) => {
  test.each(cases.filter((one) => (one.dialects ?? dialects).includes(dialect)))(
    '$row: over $limit',
    async ({ limit, options, before, ask, times, passes }) => {
      const { tasks, url } = await served({ tokens, drafts: 'all', ...options });
      const taskId = (await before?.(tasks)) ?? '';
      const face = await faces[dialect]!({ url, token: 'token-a' });
      for (let n = 0; n < times; n++)
        expect((await asked(face, ask(face, taskId))).message.error?.data?.limit).toBe(undefined);
      const { message, status, headers } = await asked(face, ask(face, taskId));
      expect(message.error).toMatchObject({
        code: codes[dialect] ?? -32603,
        message: expect.stringMatching(/(at most|more than) \d+/i),
        data: { reason: 'limit', limit },
      });
      expect(message.error.data.retryAfterMs > 0).toBe(passes);
      // What is answered with a stream of events has begun before it is refused.
      if (!passes || headers['content-type'] === 'text/event-stream') return;
      expect(status).toBe(429);
      expect(Number(headers['retry-after'])).toBe(Math.ceil(message.error.data.retryAfterMs / 1_000));
    },
  );

  test('arguments over maxValueSize', async () => {
    const { url } = await served({ tokens, drafts: 'all', maxValueSize: 100 });
    const face = await faces[dialect]!({ url, token: 'token-a' });
    const params = {
      name: 'slow_compute',
      arguments: { seconds: 0, label: 'x'.repeat(100) },
      ...face.asTask('large'),
    };
    const { message } = await asked(face, { method: 'tools/call', params });
    expect(message.error).toMatchObject({ code: -32602, message: expect.stringContaining('`maxValueSize`') });
  });
});

test('an answer over maxValueSize is refused, and the question stays open', async () => {
  const { tasks, url } = await served({ tokens, drafts: 'all', maxValueSize: 1_000 });
  const { id: taskId } = await tasks.create('ask_name', {}, { owner: ada });
  const face = await faces['2026-07-28']!({ url, token: 'token-a' });
  const look = async () => (await asked(face, { method: 'tasks/get', params: { taskId } })).message.result;
  await expect.poll(look).toMatchObject({ status: 'input_required' });
  const answer = (name: string) =>
    asked(face, {
      method: 'tasks/update',
      params: { taskId, inputResponses: { name: { action: 'accept', content: { name } } } },
    });
  const { message } = await answer('x'.repeat(1_000));
  expect(message.error).toMatchObject({ code: -32602, message: expect.stringContaining('(maxValueSize)') });
  expect(await look()).toMatchObject({ status: 'input_required' });
  expect((await answer('Ada')).message.error).toBe(undefined);
  await expect.poll(look).toMatchObject({ status: 'completed' });
});
