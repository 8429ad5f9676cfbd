import { expect, test } from 'vitest';
import { openEar, relatedTask } from '../revision-2025-11-25/peer.ts';
import { ask, join, node, start, wait } from './grown-tools.ts';
import { children, grow, isDone, listed, look, served } from './served.ts';

const links = ['parentTaskId', 'childTaskIds'];

/** One that asks, and one that is done already. */
const asking = node('a', [
  start(node('b', [start(node('c', [ask('ok', 'update')])), join(0)])),
  start(node('d')),
  join(0),
]);

test('S2268-35: clients of both revisions that do not know subtasks see one task with the questions of all, while others see each', async () => {
  const { aware, unaware, later, laterUnaware } = await served();
  const [peer, plain] = [await aware(), await unaware()];
  const rootId = await grow(peer, asking);
  const [child = ''] = await children(peer, rootId, 2);
  const [grandchild = ''] = await children(peer, child);
  await look(peer, grandchild, ({ status }) => status === 'input_required');

  const seen = await plain.get(rootId);
  expect(seen.result).toMatchObject({ taskId: rootId, status: 'input_required' });
  const collapsed = (await laterUnaware().get(rootId)).result;
  expect(collapsed).toMatchObject({ taskId: rootId, status: 'input_required' });
  expect(Object.keys(collapsed.inputRequests)).toEqual(['1.1/ok']);
  for (const shown of [seen.result, collapsed, ...(await listed(plain))])
    for (const link of links) expect(shown).not.toHaveProperty(link);
  expect((await listed(plain)).map(({ taskId }) => taskId)).toEqual([rootId]);

  // At the same moment, to those who know:
  expect((await peer.get(rootId)).result).toMatchObject({
    status: 'working',
    childTaskIds: [child, expect.any(String)],
  });
  expect((await later().get(rootId)).result).toMatchObject({ status: 'working' });
  expect(Object.keys((await later().get(grandchild)).result.inputRequests)).toEqual(['ok']);
  expect(await listed(peer)).toHaveLength(4);

  await laterUnaware().update(rootId, { '1.1/ok': { action: 'accept', content: { ok: true } } });
  expect(await look(plain, rootId, isDone)).toMatchObject({ status: 'completed' });
  const [one, other] = await Promise.all(
    [plain, peer].map((who) => who.request('tasks/result', { taskId: rootId })),
  );
  expect(one!.result).toEqual(other!.result);
  expect(one!.result.content[0].text).toBe('a (b (c accept))');
  // What is said of a done task is remembered, for each kind of caller its own.
  const views = [];
  for (const who of [laterUnaware(), later(), laterUnaware(), later()])
    views.push((await who.get(rootId)).result);
  expect(views.map((view) => 'childTaskIds' in view)).toEqual([false, true, false, true]);
});

test('to them a child id is an id like any that does not exist', async () => {
  const { aware, unaware, laterUnaware } = await served();
  const [peer, plain, later] = [await aware(), await unaware(), laterUnaware()];
  const rootId = await grow(peer, asking);
  const [child = ''] = await children(peer, rootId);
  const [grandchild = ''] = await children(peer, child);
  await look(peer, grandchild, ({ status }) => status === 'input_required');
  const unknown = (id: string) => ({ code: -32602, message: expect.stringContaining(id) });
  for (const taskId of [child, grandchild]) {
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/result'])
      expect((await plain.request(method, { taskId })).error).toMatchObject(unknown(taskId));
    const answer = { ok: { action: 'accept', content: { ok: true } } };
    for (const reply of [
      await later.get(taskId),
      await later.cancel(taskId),
      await later.update(taskId, answer),
    ])
      expect(reply.error).toMatchObject(unknown(taskId));
    const heard = await later.listen([taskId]);
    expect((await heard.next())?.params?.notifications).toEqual({ taskIds: [] });
    heard.close();
  }
  expect((await peer.get(grandchild)).result.status).toBe('input_required');
});

test('S2268-35: a subtask asks a client that does not know subtasks in the name of the root', async () => {
  const { aware, unaware } = await served();
  const [peer, plain] = [await aware(), await unaware()];
  await using ear = await openEar(plain);
  const rootId = await grow(plain, node('a', [start(node('b', [ask('ok')])), join(0)]));
  const question = await ear.until(({ method }) => method === 'elicitation/create');
  expect(question.params._meta[relatedTask]).toEqual({ taskId: rootId });
  expect(await plain.get(rootId)).toMatchObject({ result: { status: 'input_required' } });
  await plain.answer(question.id, { action: 'accept', content: { ok: true } });
  await look(plain, rootId, isDone);
  await ear.until(({ params }) => params.status === 'completed');
  const news = ear.heard.filter(({ method }) => method === 'notifications/tasks/status');
  expect(news.map(({ params }) => [params.taskId, params.status])).toEqual([
    [rootId, 'input_required'],
    [rootId, 'working'],
    [rootId, 'completed'],
  ]);
  for (const { params } of news) for (const link of links) expect(params).not.toHaveProperty(link);
  expect((await peer.get(rootId)).result.childTaskIds).toHaveLength(1);
});

test('a session that knows subtasks and one that does not hear of the same tree, each in its own way', async () => {
  const { aware, unaware, tasks } = await served();
  const [peer, plain] = [await aware(), await unaware()];
  await using ours = await openEar(peer);
  await using theirs = await openEar(plain);
  const rootId = await grow(peer, node('a', [start(node('b', [wait()])), join(0)]));
  const [child = ''] = await children(peer, rootId);
  await plain.get(rootId);
  await tasks.sendEvent(child, 'go');
  for (const ear of [ours, theirs]) await ear.until(({ params }) => params.taskId === rootId);
  expect(ours.heard.map(({ params }) => params.taskId)).toEqual([child, rootId]);
  expect(theirs.heard.map(({ params }) => params.taskId)).toEqual([rootId]);
});

test('a flag of the client alone, or of the server alone, shows nothing', async () => {
  const { aware, laterUnaware, later } = await served({ drafts: ['sep-2229'] });
  const peer = await aware();
  const rootId = await grow(peer, node('a', [start(node('b')), join(0)]));
  await look(peer, rootId, isDone);
  for (const link of links) {
    expect((await peer.get(rootId)).result).not.toHaveProperty(link);
    expect((await later().get(rootId)).result).not.toHaveProperty(link);
  }
  expect(await listed(peer)).toHaveLength(1);
  expect((await later().get(rootId)).result).toEqual((await laterUnaware().get(rootId)).result);
});
