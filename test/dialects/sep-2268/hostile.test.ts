import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joined } from 'node:path';
import { openSqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { ask, join, node, start, wait } from './grown-tools.ts';
import { children, grow, isDone, listed, look, type Served, served } from './served.ts';

/** What a stranger hears of an id, on every way that there is; by the methods. */
async function refusals({ aware, later }: Served, token: string, taskId: string): Promise<unknown[]> {
  const [peer, client] = [await aware(token), later(token)];
  const answers = { ok: { action: 'accept', content: { ok: true } } };
  const heard = await client.listen([taskId]);
  const acknowledged = await heard.next();
  heard.close();
  const errors = [
    (await peer.get(taskId)).error,
    (await peer.request('tasks/cancel', { taskId })).error,
    (await peer.request('tasks/result', { taskId })).error,
    (await client.get(taskId)).error,
    (await client.cancel(taskId)).error,
    (await client.update(taskId, answers)).error,
  ];
  const said = errors.map((error) => ({ ...error, message: error?.message.replaceAll(taskId, 'ID') }));
  return [...said, acknowledged?.params?.notifications];
}

test('a subtask of another owner looks like one that does not exist, whatever is asked of it', async () => {
  const server = await served();
  const peer = await server.aware('alice');
  const rootId = await grow(peer, node('a', [start(node('b', [ask('ok')])), join(0)]));
  const [child = ''] = await children(peer, rootId);
  await look(peer, child, ({ status }) => status === 'input_required');
  const nobody = await refusals(server, 'bob', 'a'.repeat(child.length));
  expect(nobody).toEqual([...Array(6).fill(expect.objectContaining({ code: -32602 })), { taskIds: [] }]);
  expect(await refusals(server, 'bob', child)).toEqual(nobody);
  expect(await listed(await server.aware('bob'))).toEqual([]);
  expect((await peer.get(child)).result.status).toBe('input_required');
});

test('a subtask of a task that was never published is nobody’s, not even its owner’s', async () => {
  const server = await served();
  const started = Promise.withResolvers<string>();
  await server.tasks.subscribe(({ events }) => {
    for (const event of events) if (event.type === 'childStarted') started.resolve(event.childId);
  });
  const peer = await server.aware();
  const call = peer.call('grow_plainly', { plan: node('a', [start(node('b', [wait()])), join(0)]) });
  const child = await started.promise;
  const nobody = await refusals(server, 'alice', 'a'.repeat(child.length));
  expect(await refusals(server, 'alice', child)).toEqual(nobody);
  expect(await listed(peer)).toEqual([]);
  await server.tasks.sendEvent(child, 'go');
  expect((await call).result.content[0].text).toBe('a (b)');
  expect(await refusals(server, 'alice', child)).toEqual(nobody);
});

test('callers that nobody vouches for reach a subtask by its id alone, and list nothing', async () => {
  const server = await served({ owner: () => 'anonymous' });
  const [peer, stranger] = [await server.aware('alice'), await server.aware('bob')];
  const rootId = await grow(peer, node('a', [start(node('b', [wait()])), join(0)]));
  const [child = ''] = await children(peer, rootId);
  expect((await stranger.get(child)).result.parentTaskId).toBe(rootId);
  expect((await stranger.request('tasks/list')).error).toMatchObject({ code: -32601 });
});

test('ids that name members of every object are no tasks', async () => {
  const peer = await (await served()).aware();
  for (const taskId of ['__proto__', 'constructor', 'toString', '', ' '])
    expect((await peer.get(taskId)).error).toMatchObject({ code: -32602 });
});

test('a session that flagged subtasks sees them after a restart too, with the same links', async () => {
  const folder = await mkdtemp(joined(tmpdir(), 'holdfast-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const store = () => openSqlite(joined(folder, 'tasks.db'));
  const before = await served({ store });
  const peer = await before.aware();
  const rootId = await grow(peer, node('a', [start(node('b', [wait(), start(node('c'))])), join(0)]));
  const [child = ''] = await children(peer, rootId);
  await before.stop();

  const after = await served({ store, port: Number(new URL(before.url).port) });
  expect((await peer.get(child)).result).toMatchObject({ status: 'working', parentTaskId: rootId });
  await after.tasks.sendEvent(child, 'go');
  expect(await look(peer, rootId, isDone)).toMatchObject({ status: 'completed', childTaskIds: [child] });
  expect(await listed(peer)).toHaveLength(3);
});
