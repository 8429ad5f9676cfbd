import { expect, test } from 'vitest';
import { ManualClock } from '../../../src/testing/manual-clock.ts';
import type { Listening } from '../../kit/wire.ts';
import { openEar } from '../revision-2025-11-25/peer.ts';
import { ask, type End, join, node, start, wait } from './grown-tools.ts';
import { children, grow, isDone, listed, look, served } from './served.ts';

/** The ends of tasks as a stream tells them, up to that of the root. */
async function ends(ear: Listening, rootId: string): Promise<string[][]> {
  await ear.until(({ params }) => params.taskId === rootId && isDone(params));
  return ear.heard.filter(({ params }) => isDone(params)).map(({ params }) => [params.taskId, params.status]);
}

test('S2268-19 S2268-25: a parent that has returned goes on, and its result is waited for, until its last subtask is done', async () => {
  const { aware, tasks } = await served();
  const peer = await aware();
  const rootId = await grow(peer, node('a', [start(node('b', [wait()])), start(node('c'))]));
  const [slow = '', quick = ''] = await children(peer, rootId, 2);
  let isAnswered = false;
  const waited = peer.request('tasks/result', { taskId: rootId }).finally(() => {
    isAnswered = true;
  });
  await look(peer, quick, isDone);
  expect((await peer.get(rootId)).result.status).toBe('working');
  expect(isAnswered).toBe(false);
  await tasks.sendEvent(slow, 'go');
  expect((await waited).result.content).toEqual([{ type: 'text', text: 'a' }]);
  const [root, child] = [(await peer.get(rootId)).result, (await peer.get(slow)).result];
  expect([root.status, child.status]).toEqual(['completed', 'completed']);
  expect(child.lastUpdatedAt <= root.lastUpdatedAt).toBe(true);
});

test('S2268-19: what a parent says, it says with the results of its subtasks at hand', async () => {
  const peer = await (await served()).aware();
  const plan = node('a', [start(node('b', [{ do: 'sleep', ms: 20 }])), start(node('c')), join(0), join(1)]);
  const { result } = await peer.request('tasks/result', { taskId: await grow(peer, plan) });
  expect(result.content[0].text).toBe('a (b) (c)');
});

test.each<[string, End]>([
  ['returns an error result', 'error'],
  ['throws', 'throw'],
  ['ends with a JSON-RPC error', 'fail'],
])('S2268-26: a parent that %s ends what lives below it first', async (_, end) => {
  const { aware, tasks } = await served();
  const peer = await aware();
  await using ear = await openEar(peer);
  const rootId = await grow(
    peer,
    node('a', [start(node('b', [start(node('c', [wait()])), wait()])), wait()], end),
  );
  const [child = ''] = await children(peer, rootId);
  const [grandchild = ''] = await children(peer, child);
  await tasks.sendEvent(rootId, 'go');
  expect(await ends(ear, rootId)).toEqual([
    [grandchild, 'cancelled'],
    [child, 'cancelled'],
    [rootId, 'failed'],
  ]);
  const [root, below] = [(await peer.get(rootId)).result, (await peer.get(grandchild)).result];
  expect(below.lastUpdatedAt <= root.lastUpdatedAt).toBe(true);
});

test('S2268-26: a parent past its deadline ends what lives below it first', async () => {
  const { aware } = await served();
  const peer = await aware();
  await using ear = await openEar(peer);
  const plan = node('a', [start({ ...node('b', [wait()]), tool: 'grow' }), wait()]);
  const rootId = await grow(peer, { ...plan, tool: 'grow_briefly' });
  const [child = ''] = await children(peer, rootId);
  expect(await ends(ear, rootId)).toEqual([
    [child, 'failed'],
    [rootId, 'failed'],
  ]);
});

test('S2268-27 S2268-30: a cancelled task takes everything below it along, the deepest first; what was done stays so', async () => {
  const { aware } = await served();
  const peer = await aware();
  await using ear = await openEar(peer);
  const rootId = await grow(
    peer,
    node('a', [start(node('b')), join(0), start(node('c', [start(node('d', [wait()])), wait()])), wait()]),
  );
  const [done = '', child = ''] = await children(peer, rootId, 2);
  const [grandchild = ''] = await children(peer, child);
  await look(peer, done, isDone);
  const { result } = await peer.request('tasks/cancel', { taskId: rootId });
  expect(result.status).toBe('cancelled');
  for (const id of [child, grandchild]) expect((await peer.get(id)).result.status).toBe('cancelled');
  expect((await peer.get(done)).result.status).toBe('completed');
  expect(await ends(ear, rootId)).toEqual([
    [done, 'completed'],
    [grandchild, 'cancelled'],
    [child, 'cancelled'],
    [rootId, 'cancelled'],
  ]);
});

test('S2268-28: a subtask is cancelled on its own, with what is below it; its parent and siblings work on', async () => {
  const peer = await (await served()).aware();
  const rootId = await grow(
    peer,
    node('a', [start(node('b', [start(node('c', [wait()])), wait()])), start(node('d', [wait()])), wait()]),
  );
  const [child = '', sibling = ''] = await children(peer, rootId, 2);
  const [grandchild = ''] = await children(peer, child);
  expect((await peer.request('tasks/cancel', { taskId: child })).result.status).toBe('cancelled');
  expect((await peer.get(grandchild)).result.status).toBe('cancelled');
  for (const id of [rootId, sibling]) expect((await peer.get(id)).result.status).toBe('working');
});

test.each([
  ['ends its parent', 'if that waits for it and does not catch what it hears', true, 'failed'],
  ['does not end its parent', 'if that makes do without it', false, 'completed'],
] as const)('S2268-29: a cancelled subtask %s, %s', async (_, __, orThrow, status) => {
  const peer = await (await served()).aware();
  const rootId = await grow(peer, node('a', [start(node('b', [wait()])), { do: 'join', n: 0, orThrow }]));
  const [taskId = ''] = await children(peer, rootId);
  await peer.request('tasks/cancel', { taskId });
  expect(await look(peer, rootId, isDone)).toMatchObject({ status });
});

test('S2268-31: a subtask that waits for an answer does not make its parent wait for one', async () => {
  const { aware, later, tasks } = await served();
  const peer = await aware();
  const rootId = await grow(peer, node('a', [start(node('b', [ask('ok')])), wait(), ask('own'), join(0)]));
  const [child = ''] = await children(peer, rootId);
  await look(peer, child, ({ status }) => status === 'input_required');
  expect((await peer.get(rootId)).result.status).toBe('working');
  expect((await later().get(rootId)).result).not.toHaveProperty('inputRequests');
  expect(Object.keys((await later().get(child)).result.inputRequests)).toEqual(['ok']);
  // Its own question does, and is the only one that it shows.
  await tasks.sendEvent(rootId, 'go');
  await look(peer, rootId, ({ status }) => status === 'input_required');
  expect(Object.keys((await later().get(rootId)).result.inputRequests)).toEqual(['own']);
});

test('S2268-13 S2268-14 S2268-15: all of a tree can be read until its time is over, and then nothing', async () => {
  const clock = new ManualClock();
  const { aware } = await served({ clock, minRetention: '60s' });
  const peer = await aware();
  const rootId = await grow(peer, node('a', [start(node('b', [start(node('c'))])), start(node('d'))]), {
    ttl: 90_000,
  });
  await look(peer, rootId, isDone);
  const all = (await listed(peer)).map(({ taskId }) => taskId);
  expect(all).toHaveLength(4);
  clock.advance(89_000);
  await expect.poll(() => listed(peer)).toHaveLength(4);
  for (const id of all) expect(await peer.get(id)).toHaveProperty('result');
  clock.advance(2_000);
  await expect.poll(() => listed(peer)).toEqual([]);
  for (const id of all) expect((await peer.get(id)).error).toMatchObject({ code: -32602 });
});

test('S2268-14: from the first moment that a child is named it can be read', async () => {
  const peer = await (await served()).aware();
  const leaves = Array.from({ length: 40 }, (_, n) => start(node(`b${n}`)));
  const rootId = await grow(peer, node('a', leaves));
  const read = new Set<string>();
  for (let isEnded = false; !isEnded; ) {
    const { childTaskIds = [], status } = (await peer.get(rootId)).result;
    isEnded = isDone({ status });
    const fresh = childTaskIds.filter((id: string) => !read.has(id));
    for (const { result } of await Promise.all(fresh.map((id: string) => peer.get(id)))) {
      expect(result.parentTaskId).toBe(rootId);
      read.add(result.taskId);
    }
  }
  expect(read.size).toBe(40);
});
