/** The four tools keep to the rules of every method about tasks: owners, limits, and ids that nobody guesses. */
import { expect, test } from 'vitest';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { textOf } from '../kit/text.ts';
import type { RawClient } from '../serving/raw-client.ts';
import { idIn, Stage } from './stage.ts';

const tokens = { 'token-of-ada-which-is-long': 'ada', 'token-of-eve-which-is-long': 'eve' };
const [adas, eves] = Object.keys(tokens) as [string, string];
const four = ['task_wait', 'task_status', 'task_answer', 'task_cancel'];
const answers = { name: { action: 'accept', content: { name: 'Eve' } } };

/** What each of the tools says of an id. */
async function saidOf(client: RawClient, taskId: unknown): Promise<{ text: string; isError: unknown }[]> {
  const said = [];
  for (const tool of four) {
    const { result } = await client.call(tool, { taskId, answers });
    said.push({ text: textOf(result).replaceAll(String(taskId), 'ID'), isError: result.isError });
  }
  return said;
}

test('a task of another owner and one that never was cannot be told apart, and nothing happens to it', async () => {
  const stage = await Stage.open({ tokens });
  const [ada, eve] = [stage.raw({ token: adas }), stage.raw({ token: eves })];
  const taskId = idIn((await ada.call('asking')).result);
  const absent = await saidOf(eve, 'a'.repeat(taskId.length));
  expect(await saidOf(eve, taskId)).toEqual(absent);
  expect(absent.every(({ isError }) => isError === true)).toBe(true);
  expect(await stage.tasks.get(taskId)).toMatchObject({ phase: 'waiting' });
  expect((await ada.call('task_status', { taskId })).result.structuredContent).toMatchObject({
    status: 'input_required',
  });
});

test('without tokens the id is the key: whoever has it goes on with the task, on either revision', async () => {
  const stage = await Stage.open();
  const taskId = idIn((await stage.raw().call('asking')).result);
  const older = await stage.older();
  expect(await older.callTool({ name: 'task_status', arguments: { taskId } })).toMatchObject({
    structuredContent: { taskId, status: 'input_required' },
  });
});

test('a task whose call is still open is known to nobody', async () => {
  const stage = await Stage.open();
  const { promise: parked, resolve } = Promise.withResolvers<string>();
  await stage.tasks.subscribe(({ taskId, events }) => {
    if (events.some(({ type }) => type === 'parked')) resolve(taskId);
  });
  const open = stage.raw().openCall('held_auto', { word: 'tide' });
  const taskId = await parked;
  const absent = await saidOf(stage.raw(), 'a'.repeat(taskId.length));
  expect(await saidOf(stage.raw(), taskId)).toEqual(absent);
  await stage.release(taskId);
  expect((await open.reply).result.structuredContent).toEqual({ word: 'tide' });
});

const hostile: readonly (readonly [string, unknown])[] = [
  ['an empty id', ''],
  ['a number', 7],
  ['a list', ['a']],
  ['an object', { $ne: '' }],
  ['null', null],
  ['none', undefined],
  ['a path', '../../etc/passwd'],
  ['a statement', `' or 1=1 --`],
  ['a NUL', 'a\0b'],
  ['half a surrogate', '\ud800'],
  ['a name of every object', '__proto__'],
  ['a megabyte', 'a'.repeat(1_000_000)],
];

test.each(hostile)('%s as an id is refused in words', async (_, taskId) => {
  const stage = await Stage.open();
  for (const tool of four) {
    const { result } = await stage.raw().call(tool, { taskId, answers });
    expect(result, tool).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/taskId|task/) }],
    });
  }
});

test('arguments that are no object are refused, and the server goes on', async () => {
  const stage = await Stage.open();
  for (const input of [null, [], 'task', 7]) {
    const { result, error } = await stage.raw().open('tools/call', { name: 'task_wait', arguments: input })
      .reply;
    expect(error !== undefined || result.isError === true).toBe(true);
  }
  expect((await stage.raw().open('tools/list', {}).reply).result.tools).toEqual(expect.any(Array));
});

test('looks at tasks are counted with all others, and refused beyond the limit', async () => {
  const stage = await Stage.open({ limits: { readsPerMinute: 2 } });
  const client = stage.raw();
  const taskId = idIn((await client.call('asking')).result);
  const replies = [];
  for (let times = 0; times < 3; times++) replies.push(await client.call('task_status', { taskId }));
  expect(replies.map(({ error }) => error?.code)).toEqual([undefined, undefined, -31029]);
  expect(replies[2]!.error!.data).toMatchObject({ reason: 'limit', limit: 'readsPerMinute' });
});

test('plain calls count against the limits of their owner, on both revisions', async () => {
  const stage = await Stage.open({ tokens, limits: { liveTasksPerOwner: 1 } });
  const call = (token: string) => stage.raw({ token }).openCall('held_auto', { word: 'tide' });
  call(adas);
  const live = () => stage.tasks.requests().then((requests) => requests.count(undefined, 'live', 9));
  await expect.poll(live).toBe(1);
  expect((await call(adas).reply).error).toMatchObject({ data: { limit: 'liveTasksPerOwner' } });
  const peer = new Peer(stage.url, { capabilities: {}, token: adas });
  await peer.open();
  expect((await peer.call('held_auto', { word: 'ebb' })).error).toMatchObject({
    data: { limit: 'liveTasksPerOwner' },
  });
  call(eves);
  await expect.poll(live).toBe(2);
});

test('a finished task of a caller without a token is kept for an hour at most', async () => {
  const stage = await Stage.open();
  const taskId = await stage.handedOver(stage.raw(), 'held_auto', { word: 'tide' });
  expect(await stage.tasks.get(taskId)).toMatchObject({ retention: { from: 'finish', ms: 3_600_000 } });
});

test('one that asks for a task of task_wait is refused: it never becomes one', async () => {
  const stage = await Stage.open();
  const older = await stage.older();
  const taskId = idIn((await stage.raw().call('asking')).result);
  const call = older.callTool({ name: 'task_wait', arguments: { taskId }, task: {} } as never);
  await expect(call).rejects.toMatchObject({ code: -32601 });
});
