import { expect, test } from 'vitest';
import { openEar, Peer, relatedTask } from '../revision-2025-11-25/peer.ts';
import { ask, join, node, start } from './grown-tools.ts';
import { children, grow, isDone, listed, look, served } from './served.ts';

/** So large that it stands in a row of its own. */
const long = 'x'.repeat(300_000);

test('a subtask with a large error result is listed as tasks/get shows it', async () => {
  const peer = await (await served()).aware();
  const rootId = await grow(peer, node('a', [start(node(long, [], 'error')), join(0)]));
  await look(peer, rootId, isDone);
  const [child = ''] = await children(peer, rootId);
  const { result } = await peer.get(child);
  expect(result).toMatchObject({ status: 'failed', statusMessage: 'x'.repeat(500) });
  expect((await listed(peer)).find(({ taskId }) => taskId === child)).toEqual(result);
});

test('it is told of, and the questions of its siblings are put after it', async () => {
  const { aware } = await served();
  const peer = await aware();
  await using ear = await openEar(peer);
  const asking = node('b', [ask('ok')]);
  const rootId = await grow(
    peer,
    node('a', [start(node(long, [], 'error')), join(0), start(asking), join(1)]),
  );
  const [large = '', sibling = ''] = await children(peer, rootId, 2);
  const { params } = await ear.until((message) => message.params.taskId === large);
  expect(params).toMatchObject({ status: 'failed', statusMessage: 'x'.repeat(500) });
  const question = await ear.until(({ method }) => method === 'elicitation/create');
  expect(question.params._meta[relatedTask]).toEqual({ taskId: sibling, parentTaskId: rootId });
  await peer.answer(question.id, { action: 'accept', content: { ok: true } });
  await ear.until(({ params }) => params.taskId === rootId && isDone(params));
});

test('with SEP-2339 too the news of a subtask carry its result, however large', async () => {
  const { url } = await served({ drafts: ['sep-2268', 'sep-2339'] });
  const experimental = { 'sep-2268': {}, 'sep-2339': {} };
  const peer = new Peer(url, { capabilities: { experimental }, token: 'alice' });
  await peer.open();
  await using ear = await openEar(peer);
  const rootId = await grow(peer, node('a', [start(node(long)), join(0)]));
  const { params } = await ear.until((message) => message.params.parentTaskId === rootId);
  expect(params.result).toEqual({ content: [{ type: 'text', text: long }] });
});
