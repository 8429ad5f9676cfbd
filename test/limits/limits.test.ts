/** What one owner may ask of a server, over the wire. */
import { expect, test } from 'vitest';
import type { Limits } from '../../src/task-methods/limits.ts';
import { Peer, served } from '../dialects/revision-2025-11-25/peer.ts';
import { Peer as LaterPeer, withTasks } from '../dialects/revision-2026-07-28/peer.ts';
import { withCode } from '../kit/with-code.ts';

const tokens = { 'token-a': 'ada', 'token-b': 'bob' };

async function limited(limits: Partial<Limits>) {
  const { url } = await served({ tokens, limits });
  const peers = await Promise.all(
    Object.keys(tokens).map(async (token) => {
      const peer = new Peer(url, { token });
      await peer.open();
      return peer;
    }),
  );
  return { url, ada: peers[0]!, bob: peers[1]! };
}

function overLimit(limit: string) {
  return { code: -32603, data: { reason: 'limit', limit } };
}

test('S1686-79, S2025-103: an owner has no more live tasks than it may, and another is not touched', async () => {
  const { ada, bob } = await limited({ liveTasksPerOwner: 2 });
  for (let n = 0; n < 2; n++) await ada.start('nap', { ms: 60_000 });
  const { error } = await ada.call('nap', { ms: 60_000 }, { task: {} });
  expect(error).toMatchObject(overLimit('liveTasksPerOwner'));
  expect(error.message).toContain('At most 2 live tasks');
  expect((await bob.call('nap', { ms: 60_000 }, { task: {} })).result.task.status).toBe('working');
});

test('a task that is over makes room for another', async () => {
  const { ada } = await limited({ liveTasksPerOwner: 1 });
  const id = await ada.start('nap', { ms: 60_000 });
  await ada.request('tasks/cancel', { taskId: id });
  expect((await ada.call('nap', { ms: 60_000 }, { task: {} })).result.task.status).toBe('working');
});

test('an owner has no more tasks kept than it may', async () => {
  const { ada } = await limited({ storedTasksPerOwner: 1 });
  await ada.until(await ada.start('nap', { ms: 1 }), 'completed');
  const { error } = await ada.call('nap', { ms: 1 }, { task: {} });
  expect(error).toMatchObject(overLimit('storedTasksPerOwner'));
});

test.each([
  ['readsPerMinute', (peer: Peer, taskId: string) => peer.send('tasks/get', { taskId })],
  ['listsPerMinute', (peer: Peer) => peer.send('tasks/list')],
] as const)('S1686-78: over %s an owner is asked to wait, in the way of HTTP too', async (limit, ask) => {
  const { ada, bob } = await limited({ [limit]: 2 });
  const id = await ada.start('nap', { ms: 60_000 });
  for (let n = 0; n < 2; n++) expect((await ask(ada, id)).message.error).toBe(undefined);
  const { message, response } = await ask(ada, id);
  expect(message.error).toMatchObject(overLimit(limit));
  expect(message.error.data.retryAfterMs).toBeGreaterThan(0);
  expect(response.status).toBe(429);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await ask(bob, id)).message.error?.data).toBe(undefined);
});

test('S1686-78: results and calls have rates of their own', async () => {
  const { ada } = await limited({ resultsPerMinute: 1, callsPerMinute: 1 });
  const id = await ada.start('nap', { ms: 1 });
  expect((await ada.request('tasks/result', { taskId: id })).result.content).toBeDefined();
  expect((await ada.request('tasks/result', { taskId: id })).error).toMatchObject(
    overLimit('resultsPerMinute'),
  );
  expect((await ada.call('nap', { ms: 1 }, { task: {} })).error).toMatchObject(overLimit('callsPerMinute'));
});

test('on 2026-07-28 the error has a code of its own, outside of what is reserved', async () => {
  const { url } = await served({ limits: { readsPerMinute: 1 } });
  const peer = new LaterPeer(url, withTasks);
  const { taskId } = (await peer.request('tools/call', { name: 'nap', arguments: { ms: 60_000 } })).result;
  await peer.request('tasks/get', { taskId });
  const { error } = await peer.request('tasks/get', { taskId });
  expect(error).toMatchObject({ code: -31029, data: { reason: 'limit', limit: 'readsPerMinute' } });
});

test.each([
  ['zero', { readsPerMinute: 0 }],
  ['half a look', { readsPerMinute: 0.5 }],
  ['a limit that there is not', { breathsPerMinute: 1 }],
])('%s is refused when the server is made', async (_, limits) => {
  await expect(served({ limits: limits as never })).rejects.toThrow(withCode('INVALID_LIMIT'));
});
