import { expect, test } from 'vitest';
import { ManualClock } from '../../../src/testing/manual-clock.ts';
import type { Message, Peer } from '../revision-2025-11-25/peer.ts';
import { type Act, join, node, start, wait } from './grown-tools.ts';
import { children, grow, isDone, listed, look, served } from './served.ts';

const page = (peer: Peer, cursor?: string): Promise<Message> =>
  peer.request('tasks/list', cursor === undefined ? {} : { cursor });

const idsOf = ({ result }: Message): string[] => result.tasks.map(({ taskId }: Message) => taskId);

const leaves = (count: number): Act[] => Array.from({ length: count }, (_, n) => start(node(`leaf ${n}`)));

test('S2268-37: subtasks are listed too, over several pages; whose parent is on another page is found by its link', async () => {
  const peer = await (await served()).aware();
  const wide = node('b', leaves(70));
  const rootId = await grow(peer, node('a', [start(wide), join(0)]));
  await look(peer, rootId, isDone);
  const first = await page(peer);
  const second = await page(peer, first.result.nextCursor);
  expect([first, second].map(({ result }) => result.tasks.length)).toEqual([50, 22]);
  expect(second.result).not.toHaveProperty('nextCursor');
  expect(new Set([...idsOf(first), ...idsOf(second)]).size).toBe(72);
  for (const { parentTaskId, taskId } of second.result.tasks) {
    expect(idsOf(second)).not.toContain(parentTaskId);
    expect((await peer.get(parentTaskId)).result.childTaskIds).toContain(taskId);
  }
});

test('a listed task is shown as tasks/get shows it', async () => {
  const peer = await (await served()).aware();
  const rootId = await grow(
    peer,
    node('a', [start(node('b', [start(node('c', [wait()])), join(0)])), join(0)]),
  );
  const [child = ''] = await children(peer, rootId);
  await children(peer, child);
  const all = await listed(peer);
  expect(all).toHaveLength(3);
  for (const task of all) expect((await peer.get(task.taskId)).result).toEqual(task);
});

test('trees come one after the other, the newest first, however they lie across pages', async () => {
  const peer = await (await served()).aware();
  const rootIds: string[] = [];
  for (const size of [0, 30, 49, 0, 101, 3]) rootIds.unshift(await grow(peer, node('a', leaves(size))));
  for (const id of rootIds) await look(peer, id, isDone);
  const all = await listed(peer);
  expect(all).toHaveLength(6 + 30 + 49 + 101 + 3);
  expect(new Set(all.map(({ taskId }) => taskId)).size).toBe(all.length);
  const roots = all.map(({ taskId, parentTaskId }) => parentTaskId ?? taskId);
  expect(roots.filter((id, n) => id !== roots[n - 1])).toEqual(rootIds);
});

test.each([
  ['in the same millisecond', 0],
  ['after the clock has gone back', -60_000],
  ['later', 60_000],
])(
  'a tree that grows %s while it is listed shows nothing twice, and all that was there before',
  async (_, ms) => {
    const clock = new ManualClock();
    const { aware, tasks } = await served({ clock });
    const peer = await aware();
    const rootId = await grow(
      peer,
      node('a', [start(node('b', [...leaves(60), wait()])), wait(), ...leaves(10), wait()]),
    );
    const [child = ''] = await children(peer, rootId);
    const before = [rootId, child, ...(await children(peer, child, 60))];
    const first = await page(peer);
    clock.jump(ms);
    await tasks.sendEvent(rootId, 'go');
    await children(peer, rootId, 11);
    const second = await page(peer, first.result.nextCursor);
    const all = [...idsOf(first), ...idsOf(second)];
    expect(new Set(all).size).toBe(all.length);
    expect(all).toEqual(expect.arrayContaining(before));
  },
);

test('trees that grow while they are listed, by several at once, show nothing twice and nothing less', async () => {
  const { aware, tasks } = await served();
  const peer = await aware();
  const growing = node('a', [
    start(node('b', [...leaves(15), wait(), ...leaves(25)])),
    wait(),
    ...leaves(25),
  ]);
  const rootIds = await Promise.all([1, 2, 3, 4].map(() => grow(peer, growing)));
  const inner = await Promise.all(rootIds.map(async (id) => (await children(peer, id))[0]!));
  await Promise.all(inner.map((id) => children(peer, id, 15)));
  const before = await listed(peer);
  expect(before).toHaveLength(4 * 17);
  const released = Promise.all([...rootIds, ...inner].map((id) => tasks.sendEvent(id, 'go')));
  const during = await Promise.all([listed(peer), listed(peer), listed(peer)]);
  await released;
  for (const id of rootIds) await look(peer, id, isDone);
  const after = await listed(peer);
  expect(after).toHaveLength(4 * 67);
  for (const list of [...during, after]) {
    const ids = list.map(({ taskId }) => taskId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(before.map(({ taskId }) => taskId)));
  }
});

test('a tree that is purged between two pages is passed over', async () => {
  const clock = new ManualClock();
  const { aware } = await served({ clock, minRetention: '1s' });
  const peer = await aware();
  const lasting = await grow(peer, node('a', leaves(2)));
  const rootId = await grow(peer, node('b', leaves(60)), { ttl: 1_000 });
  for (const id of [lasting, rootId]) await look(peer, id, isDone);
  const { result } = await page(peer);
  clock.advance(5_000);
  await expect.poll(async () => (await peer.get(rootId)).error?.code).toBe(-32602);
  const rest = await page(peer, result.nextCursor);
  expect(idsOf(rest)).toHaveLength(3);
  expect(idsOf(rest)).toContain(lasting);
});

test('a cursor of a list with subtasks is none of a list without, and the other way round', async () => {
  const { aware, unaware } = await served();
  const [peer, plain] = [await aware(), await unaware()];
  await Promise.all(Array.from({ length: 51 }, (_, n) => grow(peer, node(`a${n}`, leaves(1)))));
  const [ours, theirs] = [await page(peer), await page(plain)];
  expect(ours.result.tasks).toHaveLength(50);
  expect(theirs.result.tasks).toHaveLength(50);
  for (const [other, cursor] of [
    [plain, ours.result.nextCursor],
    [peer, theirs.result.nextCursor],
  ])
    expect((await page(other, cursor)).error.code).toBe(-32602);
  expect(await page(peer, ours.result.nextCursor)).toHaveProperty('result');
  expect((await page(plain, theirs.result.nextCursor)).result.tasks).toHaveLength(1);
});
