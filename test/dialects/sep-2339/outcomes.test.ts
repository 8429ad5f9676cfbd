/** SEP-2339: ends that no client asked for, lists, and sessions side by side that have the draft and have it not. */
import { type DurableTool, durableTool } from 'holdfast';
import { openSqlite } from 'holdfast/sqlite';
import { ManualClock } from 'holdfast/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { serving } from '../drafts/peer.ts';
import { relatedTask } from '../revision-2025-11-25/peer.ts';
import { accept, continuing, draft } from './peer.ts';

const name = z.object({ name: z.string() });

const impatient = durableTool('impatient', { task: 'always', deadline: '1m' }, async (_, task) => {
  await task.ask('name', { message: 'Who?', schema: name });
}) as DurableTool;

const withdrawing = durableTool('withdrawing', { task: 'always' }, async (_, task) => {
  const answer = task.ask('name', { message: 'Who?', schema: name }, { timeout: '1m' });
  return answer.then(() => 'answered').catch(() => 'nobody answered in time');
}) as DurableTool;

async function servingWithClock(tool: DurableTool) {
  const clock = new ManualClock();
  const store = await openSqlite('memory:', { clock });
  return { clock, ...(await serving({ drafts: [draft], more: [tool], store, clock })) };
}

test('work that nobody answers is ended by its deadline, and says so in its error', async () => {
  const { open, clock } = await servingWithClock(impatient);
  const peer = continuing(await open([draft]));
  const taskId = await peer.start('impatient');
  await peer.questions(taskId);
  clock.advance(60_000);
  await expect.poll(async () => (await peer.continue(taskId)).result.status).toBe('failed');
  const { result } = await peer.continue(taskId);
  expect(result.error).toMatchObject({ code: -32603, message: expect.stringContaining('deadline') });
  expect(result.statusMessage).toBe(result.error.message);
  expect(result).not.toHaveProperty('result');
  const late = await peer.continue(taskId, { name: accept({ name: 'Ada' }) });
  expect(late.result).toEqual(result);
});

test('a question that its tool takes back is shown no more', async () => {
  const { open, clock } = await servingWithClock(withdrawing);
  const peer = continuing(await open([draft]));
  const taskId = await peer.start('withdrawing');
  await peer.questions(taskId);
  clock.advance(60_000);
  await expect.poll(async () => (await peer.continue(taskId)).result.status).toBe('completed');
  expect((await peer.get(taskId)).result.content[0].text).toBe('nobody answered in time');
});

test('a finished task is known until its ttl is over, and then unknown', async () => {
  const { open } = await serving({ drafts: [draft] });
  const peer = continuing(await open([draft]));
  const taskId = await peer.start('big', { bytes: 1 }, { ttl: 1 });
  await peer.end(taskId);
  await expect.poll(async () => (await peer.continue(taskId)).error?.code).toBe(-32602);
});

test('S2339-03: a list shows how tasks stand, and of none its outcome', async () => {
  const { open } = await serving({ drafts: [draft], tokens: { 'token-of-ada': 'ada' } });
  const peer = continuing(await open([draft], 'token-of-ada'));
  for (const tool of ['failing_job', 'protocol_error_job', 'throws']) await peer.end(await peer.start(tool));
  await peer.end(await peer.start('big', { bytes: 1 }));
  const { tasks } = (await peer.request('tasks/list')).result;
  expect(tasks.map(({ status }: { status: string }) => status)).toEqual([
    'completed',
    'failed',
    'failed',
    'failed',
  ]);
  for (const task of tasks) {
    expect(task).not.toHaveProperty('result');
    expect(task).not.toHaveProperty('error');
  }
});

test('S2339-03: a call that is repeated and finds its task done is given the outcome with it', async () => {
  const { open } = await serving({ drafts: [draft] });
  const peer = continuing(await open([draft]));
  const _meta = { 'dev.holdfast/idempotency-key': 'a key that nobody else would think of' };
  const call = { name: 'big', arguments: { bytes: 3 }, task: {}, _meta };
  const first = (await peer.request('tools/call', call)).result;
  expect(first.task).not.toHaveProperty('result');
  const done = await peer.end(first.task.taskId);
  expect((await peer.request('tools/call', call)).result).toEqual({ task: done });
});

test('whose task it is not cannot continue it, and its answers change nothing', async () => {
  const tokens = { 'token-of-ada': 'ada', 'token-of-bob': 'bob' };
  const { open } = await serving({ drafts: [draft], tokens });
  const ada = continuing(await open([draft], 'token-of-ada'));
  const bob = continuing(await open([draft], 'token-of-bob'));
  const taskId = await ada.start('ask_name');
  const questions = await ada.questions(taskId);
  const unknown = (await bob.continue('nobody')).error;
  for (const answers of [undefined, { name: accept({ name: 'Bob' }) }])
    expect((await bob.continue(taskId, answers)).error).toEqual({
      ...unknown,
      message: unknown.message.replace('nobody', taskId),
    });
  expect((await ada.continue(taskId)).result).toEqual(questions);
});

test('S2339-08: the question of a task is sent only to a session without the draft, and names the task', async () => {
  const { open } = await serving({ drafts: [draft] });
  const [older, peer] = [await open(), continuing(await open([draft]))];
  const taskId = await peer.start('ask_name');
  const { inputRequests } = await peer.questions(taskId);
  const stream = older.result(taskId);
  const { value: sent } = await stream.next();
  const { _meta, ...params } = sent!.params;
  expect(_meta[relatedTask]).toEqual({ taskId });
  expect({ method: sent!.method, params }).toEqual(inputRequests.name);
  // Answered here, it is taken back there.
  await peer.continue(taskId, { name: accept({ name: 'Ada' }) });
  const rest = [];
  for await (const message of stream) rest.push(message);
  expect(rest.at(-1)!.result.content[0].text).toBe('Hello, Ada!');
});

test.each([
  ['neither side', [], []],
  ['the client alone', [], [draft]],
  ['the server alone', [draft], []],
] as const)(
  'flagged by %s, the draft is off: tasks/result is there, tasks/continue is not',
  async (_, drafts, flags) => {
    const { open } = await serving({ drafts });
    const peer = await open(flags);
    const taskId = await peer.start('big', { bytes: 3 });
    expect((await peer.request('tasks/result', { taskId })).result.content[0].text).toBe('xxx');
    expect((await peer.request('tasks/continue', { taskId })).error.code).toBe(-32601);
    const task = await peer.until(taskId, 'completed');
    expect(task).not.toHaveProperty('result');
  },
);
