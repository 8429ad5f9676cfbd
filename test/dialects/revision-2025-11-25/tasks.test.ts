import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CancelTaskResultV1Schema,
  CreateTaskResultV1Schema,
  GetTaskResultV1Schema,
  ListTasksResultV1Schema,
} from '@modelcontextprotocol/ext-tasks/core/v1';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../kit/lifetime.ts';
import { Peer, relatedTask, served } from './peer.ts';

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/;
const tokens = { 'token-of-ada': 'ada', 'token-of-bob': 'bob' };

test('S2025-03 S2025-04: the server declares tasks when the session is opened', async () => {
  const { url } = await served({ tokens });
  const { capabilities } = await new Peer(url, { token: 'token-of-ada' }).open();
  expect(capabilities.tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } });
});

test('S2025-99: a server that cannot tell its callers apart declares no list, and gives none', async () => {
  const { url, peer } = await served();
  const { capabilities } = await new Peer(url).open();
  expect(capabilities.tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
  expect((await peer.request('tasks/list')).error.code).toBe(-32601);
});

test('S2025-11: every tool says whether it can be called as a task', async () => {
  const { peer } = await served();
  const { result } = await peer.request('tools/list');
  const support = Object.fromEntries(
    result.tools.map((tool: { name: string; execution?: object }) => [tool.name, tool.execution]),
  );
  expect(support).toMatchObject({
    nap: { taskSupport: 'optional' },
    failing_job: { taskSupport: 'required' },
  });
  expect(support.greet).toBe(undefined);
});

test('S2025-14: a tool that cannot be called as a task refuses to be', async () => {
  const { peer } = await served();
  const { error } = await peer.call('greet', { name: 'Ada' }, { task: {} });
  expect(error).toMatchObject({ code: -32601, message: expect.stringContaining('greet') });
});

test('S2025-17: a tool that must be called as a task refuses to be called otherwise', async () => {
  const { peer } = await served();
  const { error } = await peer.call('failing_job');
  expect(error).toMatchObject({ code: -32601, message: expect.stringContaining('"task"') });
});

test('S2025-20 S2025-21 S2025-22 S2025-30: an augmented call is answered at once with the task, which is working', async () => {
  const { peer } = await served();
  const { result } = await peer.call('nap', { ms: 60_000 }, { task: {} });
  expect(CreateTaskResultV1Schema.safeParse(result).error).toBe(undefined);
  expect(Object.keys(result)).toEqual(['task']);
  expect(result.task.status).toBe('working');
});

test('S2025-23: what a model may be told meanwhile comes with the task', async () => {
  const { peer } = await served();
  const { result } = await peer.call('count_sheep', { sheep: 3 }, { task: {} });
  expect(result._meta).toEqual({
    'io.modelcontextprotocol/model-immediate-response': 'Counting 3 sheep.',
  });
});

test('S2025-25 S2025-26 S2025-27 S2025-97: ids are strings of the server, unique and unguessable', async () => {
  const { peer } = await served();
  const wished = await peer.start('big', { bytes: 1 }, { taskId: 'mine' });
  expect(wished).not.toBe('mine');
  const ids = await Promise.all(Array.from({ length: 100 }, () => peer.start('big', { bytes: 1 })));
  expect(new Set(ids).size).toBe(100);
  for (const id of ids) expect(id).toMatch(/^[a-z2-7]{26,}$/);
});

test('S2025-02: a call that does not ask for a task gets its result', async () => {
  const { peer } = await served();
  expect((await peer.call('big', { bytes: 2 })).result).toEqual({ content: [{ type: 'text', text: 'xx' }] });
});

test('S2025-28: a task parameter on a request that knows none is passed over', async () => {
  const { peer } = await served();
  expect((await peer.request('tools/list', { task: {} })).result.tools.length).toBeGreaterThan(0);
});

test('S2025-37 S2025-39 S2025-47 S2025-48 S2025-50 S2025-65: a look gives the flat task as JSON, with its times and its ttl, and names it once', async () => {
  const { peer } = await served();
  const taskId = await peer.start('nap', { ms: 60_000 }, { ttl: 120_000 });
  const { message, response } = await peer.send('tasks/get', { taskId });
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(GetTaskResultV1Schema.safeParse(message.result).error).toBe(undefined);
  expect(message.result).toMatchObject({ taskId, status: 'working', ttl: 120_000 });
  expect(message.result.createdAt).toMatch(rfc3339);
  expect(message.result.lastUpdatedAt).toMatch(rfc3339);
  expect(message.result).not.toHaveProperty('_meta');
  expect((await peer.get(await peer.start('nap', { ms: 60_000 }))).result.ttl).toEqual(expect.any(Number));
});

test('S2025-49 S2025-104: a ttl is granted up to the maximum', async () => {
  const { peer } = await served({ maxRetention: '1h' });
  const taskId = await peer.start('nap', { ms: 60_000 }, { ttl: 1e12 });
  expect((await peer.get(taskId)).result.ttl).toBe(3_600_000);
});

test('S2025-31 S2025-32 S2025-41 S2025-44: a task goes from working to input_required and back, and to its end', async () => {
  const { peer, tasks } = await served();
  const statuses: string[] = [];
  const taskId = await peer.start('ask_name');
  const result = peer.result(taskId);
  for await (const message of result) {
    statuses.push((await peer.get(taskId)).result.status);
    if (message.method === 'elicitation/create')
      await peer.answer(message.id, { action: 'accept', content: { name: 'Ada' } });
    else break;
  }
  expect(statuses).toEqual(['input_required', 'completed']);
  expect((await tasks.get(taskId))?.phase).toBe('done');
});

test('S2025-53 S2025-55 S2025-58: the result of a task is what the plain call gives, and names the task', async () => {
  const { peer } = await served();
  const { result: plain } = await peer.call('big', { bytes: 5 });
  const taskId = await peer.start('big', { bytes: 5 });
  await peer.until(taskId, 'completed');
  const { result } = await peer.request('tasks/result', { taskId });
  expect(result).toEqual({ ...plain, _meta: { [relatedTask]: { taskId } } });
});

test('S2025-54: asked for its result, a task that is not done lets wait, however many wait', async () => {
  const { peer, tasks } = await served({ works: false });
  const taskId = await peer.start('nap', { ms: 1 });
  const waiting = Array.from({ length: 20 }, () => peer.request('tasks/result', { taskId }));
  const requests = await tasks.requests();
  await expect.poll(() => requests.watchers).toBeGreaterThanOrEqual(20);
  expect((await peer.get(taskId)).result.status).toBe('working');
  await tasks.work();
  for (const { result } of await Promise.all(waiting)) expect(result.content[0].text).toBe('woke');
  await expect.poll(() => requests.watchers).toBe(0);
});

test('S2025-56: an error of the call is the error of its result', async () => {
  const { peer } = await served();
  const taskId = await peer.start('protocol_error_job');
  await peer.until(taskId, 'failed');
  const { error } = await peer.request('tasks/result', { taskId });
  expect(error).toEqual({ code: -32603, message: 'The job broke the protocol, as it always does.' });
});

test('S2025-57 S2025-92 S2025-93: a tool that reports an error fails its task, says why, and its result is given all the same', async () => {
  const { peer } = await served();
  const taskId = await peer.start('failing_job');
  expect((await peer.until(taskId, 'failed')).statusMessage).toBe('The job failed, as it always does.');
  const { result } = await peer.request('tasks/result', { taskId });
  expect(result).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: 'The job failed, as it always does.' }],
  });
});

test('S2025-53: the result of a cancelled task is an error that stays the same, for those that wait too', async () => {
  const { peer } = await served();
  const taskId = await peer.start('nap', { ms: 60_000 });
  const waiting = peer.request('tasks/result', { taskId });
  await peer.request('tasks/cancel', { taskId });
  const { error } = await waiting;
  expect(error.code).toBe(-32603);
  expect((await peer.request('tasks/result', { taskId })).error).toEqual(error);
});

test('S2025-63: the taskId of a request counts, whatever its metadata says', async () => {
  const { peer } = await served();
  const [one, other] = [await peer.start('nap', { ms: 60_000 }), await peer.start('nap', { ms: 60_000 })];
  const _meta = { [relatedTask]: { taskId: other } };
  expect((await peer.request('tasks/get', { taskId: one, _meta })).result.taskId).toBe(one);
  expect((await peer.request('tasks/cancel', { taskId: one, _meta })).result.taskId).toBe(one);
  expect((await peer.get(other)).result.status).toBe('working');
});

test('S2025-78 S2025-81: cancelling gives the task, cancelled by then', async () => {
  const { peer, tasks } = await served();
  const taskId = await peer.start('nap', { ms: 60_000 });
  const { result } = await peer.request('tasks/cancel', { taskId });
  expect(CancelTaskResultV1Schema.safeParse(result).error).toBe(undefined);
  expect(result.status).toBe('cancelled');
  expect((await tasks.get(taskId))?.phase).toBe('done');
});

test('S2025-80 S2025-82: work that is cancelled stops, and what it does later changes nothing', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'spin');
  await appendFile(file, '');
  const { peer } = await served();
  const taskId = await peer.start('spin', { seconds: 60, file });
  await peer.request('tasks/cancel', { taskId });
  await expect.poll(() => readFile(file, 'utf8')).toBe('stopped\n');
  expect((await peer.get(taskId)).result.status).toBe('cancelled');
});

test.each(['completed', 'cancelled'])(
  'S2025-79 S2025-88: a %s task cannot be cancelled, and the message says so',
  async (status) => {
    const { peer } = await served();
    const taskId = await peer.start(
      ...((status === 'completed' ? ['big', { bytes: 1 }] : ['nap', { ms: 60_000 }]) as [string, object]),
    );
    if (status === 'completed') await peer.until(taskId, status);
    else await peer.request('tasks/cancel', { taskId });
    const { error } = await peer.request('tasks/cancel', { taskId });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(status) });
  },
);

test.each(['tasks/get', 'tasks/result', 'tasks/cancel'])(
  'S2025-86 S2025-90: %s of an unknown task, or of none, is -32602 and says why',
  async (method) => {
    const { peer } = await served();
    const { error } = await peer.request(method, { taskId: 'nobody' });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('nobody') });
    expect((await peer.request(method, { taskId: 7 })).error).toMatchObject({ code: -32602 });
  },
);

test('S2025-89: when the store fails the client hears of an internal error', async () => {
  const { peer, tasks } = await served();
  const taskId = await peer.start('nap', { ms: 60_000 });
  await tasks.close();
  expect((await peer.get(taskId)).error.code).toBe(-32603);
});

test('S2025-74 S2025-75 S2025-77: a list comes in pages, and walking them finds every task that can be read', async () => {
  const { peer } = await served({ tokens });
  const made = await Promise.all(Array.from({ length: 120 }, () => peer.start('big', { bytes: 1 })));
  const found: string[] = [];
  let pages = 0;
  for (let cursor: string | undefined, first = true; first || cursor; first = false) {
    const { result } = await peer.request('tasks/list', cursor ? { cursor } : {});
    expect(ListTasksResultV1Schema.safeParse(result).error).toBe(undefined);
    expect(result).not.toHaveProperty('_meta');
    found.push(...result.tasks.map(({ taskId }: { taskId: string }) => taskId));
    cursor = result.nextCursor;
    pages++;
  }
  expect(pages).toBe(3);
  expect([...found].sort()).toEqual([...made].sort());
});

test('S2025-87: a cursor that was changed, made up, or made for another caller is refused', async () => {
  const { peer, url } = await served({ tokens });
  await Promise.all(Array.from({ length: 60 }, () => peer.start('big', { bytes: 1 })));
  const { nextCursor } = (await peer.request('tasks/list')).result;
  const bob = new Peer(url, { token: 'token-of-bob' });
  await bob.open();
  expect((await bob.request('tasks/list', { cursor: nextCursor })).error.code).toBe(-32602);
  const changed = `${nextCursor.slice(0, -3)}AAA`;
  for (const cursor of ['rubbish', changed, 5])
    expect((await peer.request('tasks/list', { cursor })).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('cursor'),
    });
  expect((await peer.request('tasks/list', { cursor: nextCursor })).result.tasks).toHaveLength(10);
});

test('S2025-95 S2025-100 S2025-101: whose task it is not cannot see, wait for, cancel or list it', async () => {
  const { peer: ada, url } = await served({ tokens });
  const bob = new Peer(url, { token: 'token-of-bob' });
  await bob.open();
  const taskId = await ada.start('nap', { ms: 60_000 });
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    const { error } = await bob.request(method, { taskId });
    const { error: unknown } = await bob.request(method, { taskId: 'nobody' });
    expect(error).toEqual({ ...unknown, message: unknown.message.replace('nobody', taskId) });
  }
  expect((await bob.request('tasks/list')).result.tasks).toEqual([]);
  expect((await ada.request('tasks/list')).result.tasks).toHaveLength(1);
});

test('S2025-85: cancelling the request that made it does nothing to a task', async () => {
  const { peer } = await served();
  const { message } = await peer.send('tools/call', { name: 'nap', arguments: { ms: 60_000 }, task: {} });
  await peer.post({ method: 'notifications/cancelled', params: { requestId: message.id } });
  expect((await peer.get(message.result.task.taskId)).result.status).toBe('working');
});

test('a ttl that is over takes the finished task with it, and the message says that it may have been', async () => {
  const { peer } = await served();
  const taskId = await peer.start('big', { bytes: 1 }, { ttl: 1 });
  await peer.until(taskId, 'completed');
  await expect.poll(async () => (await peer.get(taskId)).error?.code).toBe(-32602);
  expect((await peer.get(taskId)).error.message).toContain('purged');
});
