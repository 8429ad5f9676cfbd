import { expect, test } from 'vitest';
import { type Message, openEar, relatedTask } from '../revision-2025-11-25/peer.ts';
import { ask, gate, join, node, start, wait } from './grown-tools.ts';
import { children, grow, isDone, listed, look, served } from './served.ts';

/** Messages of a stream, to be taken one after the other. */
async function until(stream: AsyncGenerator<Message>, isIt: (message: Message) => boolean): Promise<Message> {
  for (;;) {
    const { value, done } = await stream.next();
    if (done) throw new Error('The stream ended before.');
    if (isIt(value)) return value;
  }
}

test('S2268-01: parent and children are named by tasks/get, tasks/list, tasks/cancel and the news of a task', async () => {
  const { aware } = await served();
  const peer = await aware();
  await using ear = await openEar(peer);
  const heard = ear.until(({ params }) => params.childTaskIds !== undefined && params.parentTaskId);
  const rootId = await grow(
    peer,
    node('a', [start(node('b', [start(node('c', [wait()])), join(0)])), join(0)]),
  );
  const [child = ''] = await children(peer, rootId);
  const [grandchild = ''] = await children(peer, child);
  const links = {
    [rootId]: { childTaskIds: [child] },
    [child]: { parentTaskId: rootId, childTaskIds: [grandchild] },
    [grandchild]: { parentTaskId: child },
  };
  const list = await listed(peer);
  for (const [taskId, link] of Object.entries(links)) {
    const { taskId: _, ...shown } = (await peer.get(taskId)).result;
    expect(shown).toMatchObject(link);
    expect(Object.keys(shown).filter((key) => key.endsWith('TaskId') || key.endsWith('TaskIds'))).toEqual(
      Object.keys(link),
    );
    expect(list.find((task) => task.taskId === taskId)).toMatchObject(link);
  }
  const { result } = await peer.request('tasks/cancel', { taskId: child });
  expect(result).toMatchObject({ taskId: child, status: 'cancelled', ...links[child] });
  expect((await heard).params).toMatchObject({ taskId: child, status: 'cancelled', ...links[child] });
});

test('S2268-08: a subtask is read, waited for and cancelled by its own id, like any task', async () => {
  const { aware, tasks } = await served();
  const peer = await aware();
  const rootId = await grow(
    peer,
    node('a', [start(node('b', [wait()])), start(node('c', [wait()])), wait()]),
  );
  const [first = '', second = ''] = await children(peer, rootId, 2);
  const waited = peer.request('tasks/result', { taskId: first });
  await tasks.sendEvent(first, 'go');
  expect((await waited).result.content).toEqual([{ type: 'text', text: 'b' }]);
  expect((await peer.get(first)).result.status).toBe('completed');
  expect((await peer.request('tasks/cancel', { taskId: second })).result.status).toBe('cancelled');
  const refused = await peer.request('tasks/cancel', { taskId: second });
  expect(refused.error).toMatchObject({ code: -32602 });
  expect((await peer.get(rootId)).result.status).toBe('working');
});

test('S2268-09: subtasks come without a word: the call has one answer, and no stream another', async () => {
  const { aware } = await served();
  const peer = await aware();
  await using ear = await openEar(peer);
  const plan = node('a', [start(node('b', [start(node('c'))])), start(node('d')), join(0)]);
  const { message, before } = await peer.send('tools/call', { name: 'grow', arguments: { plan }, task: {} });
  expect(before).toEqual([]);
  const { taskId } = message.result.task;
  await ear.until(({ params }) => params.taskId === taskId && isDone(params));
  expect(ear.heard.map(({ method }) => method)).toEqual(Array(4).fill('notifications/tasks/status'));
});

test('S2268-04 S2268-07 S2268-11: subtasks are started while a task works and while it waits for an answer, each behind the others', async () => {
  const { aware, tasks } = await served();
  const peer = await aware();
  const question = { ...ask('ok'), aside: true } as const;
  const leaf = node('leaf', [wait()]);
  const rootId = await grow(
    peer,
    node('a', [start(leaf), question, wait('one'), start(leaf), wait('two'), start(leaf), wait('three')]),
  );
  const isWaiting = (count: number) => (task: Message) =>
    task.status === 'input_required' && task.childTaskIds?.length === count;
  const one = await look(peer, rootId, isWaiting(1));
  await tasks.sendEvent(rootId, 'one');
  const two = await look(peer, rootId, isWaiting(2));
  await tasks.sendEvent(rootId, 'two');
  const three = await look(peer, rootId, isWaiting(3));
  expect(two.childTaskIds.slice(0, 1)).toEqual(one.childTaskIds);
  expect(three.childTaskIds.slice(0, 2)).toEqual(two.childTaskIds);
});

test('S2268-05: the children stay named when they are done, and when their parent is', async () => {
  const { aware, tasks } = await served();
  const peer = await aware();
  const rootId = await grow(peer, node('a', [start(node('b')), start(node('c', [], 'throw')), wait()]));
  const ids = await children(peer, rootId, 2);
  for (const id of ids) await look(peer, id, isDone);
  expect((await peer.get(rootId)).result).toMatchObject({ status: 'working', childTaskIds: ids });
  await tasks.sendEvent(rootId, 'go');
  expect(await look(peer, rootId, isDone)).toMatchObject({ status: 'completed', childTaskIds: ids });
});

test('S2268-02 S2268-03 S2268-06: the parent of a task is the same from its first day to its last, and never itself', async () => {
  const { aware, tasks } = await served();
  const peer = await aware();
  const rootId = await grow(peer, node('a', [start(node('b', [wait(), start(node('c'))])), join(0)]));
  const [child = ''] = await children(peer, rootId);
  const seen = [(await peer.get(child)).result];
  await tasks.sendEvent(child, 'go');
  seen.push(await look(peer, child, isDone));
  await look(peer, rootId, isDone);
  seen.push((await peer.get(child)).result);
  expect(seen.map(({ parentTaskId }) => parentTaskId)).toEqual([rootId, rootId, rootId]);
  for (const { taskId, parentTaskId, childTaskIds = [] } of await listed(peer)) {
    expect(parentTaskId).not.toBe(taskId);
    expect(childTaskIds).not.toContain(taskId);
  }
});

test('S2268-12: a handler whose task was cancelled starts nothing more', async () => {
  const { aware } = await served();
  const peer = await aware();
  const late = gate('S2268-12');
  const rootId = await grow(
    peer,
    node('a', [start(node('b', [wait()])), { do: 'step', gate: 'S2268-12' }, start(node('c'))]),
  );
  await late.reached.promise;
  const { childTaskIds } = (await peer.request('tasks/cancel', { taskId: rootId })).result;
  late.opened.resolve(true);
  // What else the server does by then is behind it.
  await look(peer, await grow(peer, node('b', [start(node('c')), join(0)])), isDone);
  expect((await peer.get(rootId)).result).toMatchObject({ status: 'cancelled', childTaskIds });
  expect(childTaskIds).toHaveLength(1);
});

test('S2268-21 S2268-22: the question of a subtask and its result name it and its parent; those of a root name no parent', async () => {
  const { aware, tasks } = await served();
  const peer = await aware();
  const rootId = await grow(peer, node('a', [start(node('b', [ask('ok')])), join(0), ask('ok'), wait()]));
  const [child = ''] = await children(peer, rootId);
  const related = { taskId: child, parentTaskId: rootId };
  const ofChild = peer.result(child);
  const question = await until(ofChild, ({ method }) => method === 'elicitation/create');
  expect(question.params._meta[relatedTask]).toEqual(related);
  await peer.answer(question.id, { action: 'accept', content: { ok: true } });
  const result = await until(ofChild, ({ result }) => result !== undefined);
  expect(result.result).toEqual({
    content: [{ type: 'text', text: 'b accept' }],
    _meta: { [relatedTask]: related },
  });

  const ofRoot = peer.result(rootId);
  const own = await until(ofRoot, ({ method }) => method === 'elicitation/create');
  expect(own.params._meta[relatedTask]).toEqual({ taskId: rootId });
  await peer.answer(own.id, { action: 'decline' });
  await tasks.sendEvent(rootId, 'go');
  const last = await until(ofRoot, ({ result }) => result !== undefined);
  expect(last.result._meta[relatedTask]).toEqual({ taskId: rootId });
});

test('S2268-22: on the stream of the session too a question carries the ids of the subtask that asks', async () => {
  const { aware } = await served();
  const peer = await aware();
  await using ear = await openEar(peer);
  const asked = ear.until(({ method }) => method === 'elicitation/create');
  const rootId = await grow(
    peer,
    node('a', [start(node('b', [start(node('c', [ask('ok')])), join(0)])), join(0)]),
  );
  const [child = ''] = await children(peer, rootId);
  const [grandchild = ''] = await children(peer, child);
  const { id, params } = await asked;
  expect(params._meta[relatedTask]).toEqual({ taskId: grandchild, parentTaskId: child });
  await peer.answer(id, { action: 'accept', content: { ok: true } });
  expect((await peer.request('tasks/result', { taskId: grandchild })).result.content[0].text).toBe(
    'c accept',
  );
});

test('S2268-23 S2268-24: news of a subtask name its parent', async () => {
  const { aware } = await served();
  const peer = await aware();
  await using ear = await openEar(peer);
  const rootId = await grow(peer, node('a', [start(node('b', [start(node('c'))])), join(0)]));
  await ear.until(({ params }) => params.taskId === rootId);
  const [child = ''] = await children(peer, rootId);
  const [grandchild = ''] = await children(peer, child);
  expect(ear.heard.map(({ params }) => [params.taskId, params.parentTaskId])).toEqual([
    [grandchild, child],
    [child, rootId],
    [rootId, undefined],
  ]);
});

test('S2268-17: all results of a tree are of one shape: that of the call', async () => {
  const peer = await (await served()).aware();
  const plan = node('a', [start(node('b', [start(node('c', [], 'error')), join(0)])), join(0)]);
  await look(peer, await grow(peer, plan), isDone);
  const all = await listed(peer);
  expect(all).toHaveLength(3);
  for (const { taskId } of all)
    expect((await peer.request('tasks/result', { taskId })).result).toMatchObject({
      content: [{ type: 'text', text: expect.any(String) }],
    });
});

test('S2268-32 S2268-33: how often to look at a subtask, and how long it is kept, need not be what it is for its parent', async () => {
  const peer = await (await served()).aware();
  const slow = node('b', [{ do: 'poll', ms: 7_000 }, { do: 'step' }, wait()]);
  const rootId = await grow(peer, node('a', [{ do: 'sleep', ms: 5 }, start(slow), wait()]));
  const [child = ''] = await children(peer, rootId);
  const shown = await look(peer, child, ({ pollInterval }) => pollInterval === 7_000);
  const root = (await peer.get(rootId)).result;
  expect(root.pollInterval).toBe(1_000);
  expect(shown.ttl).toBeLessThan(root.ttl);
});

test.each([
  ['with the default ttl', 'grow', {}],
  ['with a ttl that it has outlived', 'grow', { ttl: 1 }],
  ['with a long one', 'grow', { ttl: 3_600_000 }],
  ['without limit while it lives', 'grow_freely', {}],
] as const)('S2268-34: a subtask of a task %s goes with it', async (_, tool, wish) => {
  const { aware, tasks } = await served();
  const peer = await aware();
  const plan = node('a', [{ do: 'sleep', ms: 5 }, start({ ...node('b', [wait()]), tool: 'grow' }), join(0)]);
  const rootId = await grow(peer, { ...plan, tool }, wish);
  const [child = ''] = await children(peer, rootId);
  const nested = async () => {
    const asked = Date.now();
    // One answer, and so one moment.
    const list = await listed(peer);
    const [root, below] = [rootId, child].map((id) => list.find(({ taskId }) => taskId === id)!);
    expect(below!.ttl === null).toBe(root!.ttl === null);
    if (root!.ttl === null) return;
    const [end, endBelow] = [root!, below!].map(({ createdAt, ttl }) => Date.parse(createdAt) + ttl);
    expect(endBelow).toBeLessThanOrEqual(end!);
    expect(endBelow).toBeGreaterThan(asked);
  };
  await nested();
  await tasks.sendEvent(child, 'go');
  await look(peer, rootId, isDone);
  await nested();
});
