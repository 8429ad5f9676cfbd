import { expect, test } from 'vitest';
import { serving, sessionOn, tokens } from './requestor.ts';

const ada = { token: 'token-of-ada' };
const bob = { token: 'token-of-bob' };

test('S1686-56: a list shows each task flat, without metadata, the newest first', async () => {
  const { requestor } = await serving({ tokens });
  await requestor.begin('failed', 'protocol_error_job', {}, { keepAlive: 60_000 }).reply;
  await requestor.start('working', 'nap', { ms: 60_000 }, { keepAlive: 30_000 });
  expect((await requestor.list()).result).toEqual({
    tasks: [
      { taskId: 'working', status: 'working', keepAlive: 30_000, pollFrequency: 1_000 },
      {
        taskId: 'failed',
        status: 'failed',
        keepAlive: 60_000,
        pollFrequency: 1_000,
        error: 'The job broke the protocol, as it always does.',
      },
    ],
  });
});

test('S1686-56: a session of a revision without tasks needs no metadata to be understood', async () => {
  const { url } = await serving({ tokens });
  const requestor = await sessionOn(url, { ...ada, protocolVersion: '2025-06-18' });
  await requestor.begin('one', 'big', { bytes: 1 }).reply;
  const { result } = await requestor.request('tasks/list', {});
  expect(result.tasks).toEqual([
    { taskId: 'one', status: 'completed', keepAlive: 86_400_000, pollFrequency: 1_000 },
  ]);
});

test('S1686-57 S1686-58 S1686-60: page after page the list shows every task that a look shows, once, and then ends', async () => {
  const { requestor } = await serving({ tokens });
  const names = Array.from({ length: 120 }, (_, n) => `task ${n}`);
  await Promise.all(names.map((name) => requestor.begin(name, 'big', { bytes: 1 }).reply));
  const sizes: number[] = [];
  const listed: { taskId: string }[] = [];
  for (let cursor: string | undefined; ; ) {
    const { result } = await requestor.list(cursor);
    sizes.push(result.tasks.length);
    listed.push(...result.tasks);
    cursor = result.nextCursor;
    if (cursor === undefined) break;
  }
  expect(sizes).toEqual([50, 50, 20]);
  expect(listed.map(({ taskId }) => taskId).toSorted()).toEqual(names.toSorted());
  for (const { taskId, ...task } of listed.slice(0, 10)) {
    const { _meta, ...looked } = (await requestor.get(taskId)).result;
    expect(looked).toEqual({ taskId, ...task });
  }
});

test('S1686-58: a last page that is full has no successor', async () => {
  const { requestor } = await serving({ tokens });
  const names = Array.from({ length: 50 }, (_, n) => `task ${n}`);
  await Promise.all(names.map((name) => requestor.begin(name, 'big', { bytes: 1 }).reply));
  const { result } = await requestor.list();
  expect(result.tasks).toHaveLength(50);
  expect(result).not.toHaveProperty('nextCursor');
});

test('S1686-60: a task is in the list from the moment it can be looked at, in every status', async () => {
  const { requestor } = await serving({ tokens });
  await requestor.start('working', 'nap', { ms: 60_000 });
  await requestor.start('input_required', 'ask_name');
  const { id } = await requestor.start('cancelled', 'nap', { ms: 60_000 });
  await requestor.cancel(id);
  await requestor.begin('completed', 'throws').reply;
  await requestor.begin('failed', 'protocol_error_job').reply;
  for (const status of ['working', 'input_required', 'cancelled']) await requestor.until(status, status);
  const listed = await requestor.listAll();
  expect(listed.map(({ taskId }) => taskId).toSorted()).toEqual(
    ['working', 'input_required', 'cancelled', 'completed', 'failed'].toSorted(),
  );
  for (const { taskId, status } of listed) expect(status).toBe(taskId);
});

test('S1686-60: tasks of other revisions are in the list and can be looked at, by the ids that they have', async () => {
  const { requestor, peer } = await serving({ tokens });
  const older = await peer.start('nap', { ms: 60_000 });
  await requestor.start('mine', 'nap', { ms: 60_000 });
  const listed = await requestor.listAll();
  expect(listed.map(({ taskId }) => taskId)).toEqual(['mine', older]);
  for (const { taskId } of listed) expect((await requestor.get(taskId)).result.taskId).toBe(taskId);
});

test('S1686-74 S1686-76: the tasks of one session are neither listed nor found in another of the same owner', async () => {
  const { requestor, url } = await serving({ tokens });
  const other = await sessionOn(url, ada);
  await requestor.begin('one', 'big', { bytes: 1 }).reply;
  await other.begin('two', 'big', { bytes: 1 }).reply;
  for (const look of [other.get('one'), other.result('one'), other.delete('one'), requestor.get('two')])
    expect((await look).error.code).toBe(-32602);
  expect((await requestor.listAll()).map(({ taskId }) => taskId)).toEqual(['one']);
  expect((await other.listAll()).map(({ taskId }) => taskId)).toEqual(['two']);
});

test('S1686-74 S1686-76: not even by the ids that they have on other revisions', async () => {
  const { requestor, url, peer } = await serving({ tokens });
  const other = await sessionOn(url, ada);
  await requestor.begin('one', 'big', { bytes: 1 }).reply;
  const [{ taskId }] = (await peer.request('tasks/list')).result.tasks;
  for (const look of [other.get(taskId), other.result(taskId), other.delete(taskId)])
    expect((await look).error.code).toBe(-32602);
  expect((await requestor.get(taskId)).result.taskId).toBe('one');
});

test('S1686-75 S1686-76: the tasks of one owner are neither listed nor found by another', async () => {
  const { requestor, url, peer } = await serving({ tokens });
  const stranger = await sessionOn(url, bob);
  await requestor.begin('one', 'big', { bytes: 1 }).reply;
  const [{ taskId }] = (await peer.request('tasks/list')).result.tasks;
  for (const name of ['one', taskId])
    for (const look of [stranger.get(name), stranger.result(name), stranger.delete(name)])
      expect((await look).error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(name),
      });
  expect(await stranger.listAll()).toEqual([]);
  expect((await requestor.get('one')).result.status).toBe('completed');
});

test('S1686-75: a session that is used with the token of another owner is not found', async () => {
  const { requestor, peer, url } = await serving({ tokens });
  await requestor.begin('one', 'big', { bytes: 1 }).reply;
  const params = { taskId: 'one' };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      ...peer.headers(),
      authorization: 'Bearer token-of-bob',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params }),
  });
  expect(response.status).toBe(404);
});

test('S1686-74 S1686-76: without tokens, sessions are told apart all the same, and there is no list', async () => {
  const { requestor, url } = await serving();
  const other = await sessionOn(url);
  await requestor.begin('one', 'big', { bytes: 1 }).reply;
  for (const look of [other.get('one'), other.result('one'), other.delete('one')])
    expect((await look).error.code).toBe(-32602);
  for (const session of [requestor, other]) expect((await session.list()).error.code).toBe(-32601);
});

test.each(['garbage', '', 7, null, {}])('S1686-68: the cursor %j is refused', async (cursor) => {
  const { requestor } = await serving({ tokens });
  expect((await requestor.list(cursor)).error).toMatchObject({
    code: -32602,
    message: expect.stringContaining('cursor'),
  });
});

test('S1686-68: the cursor of another owner is refused', async () => {
  const { requestor, url } = await serving({ tokens });
  const stranger = await sessionOn(url, bob);
  const names = Array.from({ length: 51 }, (_, n) => `task ${n}`);
  await Promise.all(names.map((name) => requestor.begin(name, 'big', { bytes: 1 }).reply));
  const { nextCursor } = (await requestor.list()).result;
  expect((await stranger.list(nextCursor)).error.code).toBe(-32602);
  expect((await requestor.list(nextCursor)).result.tasks).toHaveLength(1);
});

test('S1686-57: a session whose tasks lie far back behind those of another still comes to them, page by page', async () => {
  const { requestor, url } = await serving({ tokens });
  const busy = await sessionOn(url, ada);
  await requestor.begin('mine', 'big', { bytes: 1 }).reply;
  await Promise.all(Array.from({ length: 60 }, (_, n) => busy.begin(`task ${n}`, 'big', { bytes: 1 }).reply));
  expect((await requestor.listAll()).map(({ taskId }) => taskId)).toEqual(['mine']);
});
