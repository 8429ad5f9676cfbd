/** Who was refused: strangers, those without a token, those who ask for too much. However many, the log stays short. */
import { createTasks } from 'holdfast';
import { openSqlite, sqlite } from 'holdfast/sqlite';
import { expect, test } from 'vitest';
import { Peer, served } from '../dialects/revision-2025-11-25/peer.ts';
import { Requestor, related } from '../dialects/sep-1686/requestor.ts';
import { encryption } from '../encryption/keys.ts';
import { Place } from '../serving/place.ts';
import { RawClient } from '../serving/raw-client.ts';
import { logOf } from './log.ts';

const tokens = { 'token-of-ada': 'ada', 'token-of-bob': 'bob' };

async function serving(more: Parameters<typeof served>[0] = {}) {
  const { url, tasks, peer } = await served({ tokens, audit: true, drafts: 'all', ...more });
  const bob = new Peer(url, { token: 'token-of-bob' });
  await bob.open();
  return { url, tasks, ada: peer, bob, laterBob: new RawClient(url, { token: 'token-of-bob' }) };
}

test.each([
  ['2026-07-28', 'tasks/get'],
  ['2026-07-28', 'tasks/update'],
  ['2026-07-28', 'tasks/cancel'],
  ['2025-11-25', 'tasks/get'],
  ['2025-11-25', 'tasks/result'],
  ['2025-11-25', 'tasks/cancel'],
  ['sep-1686', 'tasks/get'],
  ['sep-1686', 'tasks/result'],
  ['sep-1686', 'tasks/delete'],
])('%s: %s of a stranger’s task and of none leave the same trace', async (dialect, method) => {
  const { tasks, ada, bob, laterBob } = await serving();
  const foreign = await ada.start('nap', { ms: 60_000 });
  const ids = [foreign, 'a'.repeat(32)];
  for (const taskId of ids) {
    const params = { taskId, inputResponses: {} };
    if (dialect === '2026-07-28') await laterBob.open(method, params).reply;
    else if (dialect === '2025-11-25') await bob.request(method, { taskId });
    else await new Requestor(bob).request(method, { taskId, _meta: related(taskId) });
  }
  const denied = await logOf(tasks, { action: 'denied' });
  const traces = denied.map(({ at: _, taskId: _id, ...trace }) => trace);
  expect(denied.map(({ taskId }) => taskId)).toEqual(ids);
  expect(traces[0]).toEqual(traces[1]);
  expect(traces[0]).toMatchObject({ owner: 'owner:bob', by: 'caller', dialect });
  expect(traces[0]!.reason).toBe(`${method}: this owner has no such task.`);
});

test('the log of a task shows who asked for it in vain', async () => {
  const { tasks, ada, laterBob } = await serving();
  const taskId = await ada.start('nap', { ms: 60_000 });
  await laterBob.get(taskId);
  expect(await logOf(tasks, { taskId })).toMatchObject([
    { action: 'created', owner: 'owner:ada' },
    { action: 'denied', owner: 'owner:bob' },
  ]);
});

test('a subscription to a stranger’s task is denied', async () => {
  const { tasks, ada, laterBob } = await serving();
  const taskId = await ada.start('nap', { ms: 60_000 });
  const subscription = await laterBob.listen([taskId]);
  await subscription.next();
  subscription.close();
  const reason = 'subscriptions/listen: this owner has no such task.';
  expect(await logOf(tasks, { taskId, action: 'denied' })).toMatchObject([{ owner: 'owner:bob', reason }]);
});

test('a token that is not good is denied, and nobody knows whose request it was', async () => {
  const { tasks, url } = await serving();
  await new RawClient(url, { token: 'stolen' }).open('tasks/get', { taskId: 'any' }).reply.catch(() => {});
  expect(await logOf(tasks, { action: 'denied' })).toMatchObject([
    { owner: null, taskId: null, reason: 'No valid token for this request (401).' },
  ]);
});

test('the session of another is denied', async () => {
  const { tasks, url, ada } = await serving();
  const mallory = new Peer(url, { token: 'token-of-bob' });
  mallory.sessionId = ada.sessionId;
  await mallory.request('tasks/list');
  expect(await logOf(tasks, { action: 'denied' })).toMatchObject([
    { owner: 'owner:bob', taskId: null, reason: 'This owner has no such session.' },
  ]);
});

test('who meets a limit is in the log, with the limit', async () => {
  const { tasks, ada } = await serving({ limits: { liveTasksPerOwner: 1, listsPerMinute: 1 } });
  await ada.start('nap', { ms: 60_000 });
  await ada.call('nap', { ms: 60_000 }, { task: {} });
  for (let n = 0; n < 3; n++) await ada.request('tasks/list');
  const limited = await logOf(tasks, { action: 'limited' });
  expect(limited.map(({ owner, details }) => [owner, details])).toEqual([
    ['owner:ada', { limit: 'liveTasksPerOwner' }],
    ['owner:ada', { limit: 'listsPerMinute' }],
    ['owner:ada', { limit: 'listsPerMinute' }],
  ]);
});

test('10,000 denials leave a few rows that count them all', async () => {
  const { tasks, ada, bob } = await serving();
  const ask = async (times: number, id: (n: number) => string) => {
    for (let sent = 0; sent < times; sent += 50)
      await Promise.all(Array.from({ length: 50 }, (_, n) => bob.get(id(sent + n))));
  };
  await ask(5_000, () => 'always the same');
  await ask(5_000, (n) => `another ${n}`);
  await ada.get('mistyped');
  const denied = await logOf(tasks, { action: 'denied' });
  expect(denied.length).toBeLessThan(30);
  expect(sum(denied.filter(({ owner }) => owner === 'owner:bob'))).toBe(10_000);
  // Who is not part of the flood is told of as ever.
  expect(denied.filter(({ owner }) => owner === 'owner:ada')).toMatchObject([{ taskId: 'mistyped' }]);
});

function sum(entries: readonly { readonly times?: number }[]): number {
  return entries.reduce((total, { times = 1 }) => total + times, 0);
}

test('what is still being gathered when the server stops is written before the store closes', async () => {
  const place = new Place();
  const { peer, stop } = await served({ store: sqlite(place.database), audit: true });
  await peer.get('nobody');
  await peer.get('nobody');
  await stop();
  await using tasks = createTasks({ store: sqlite(place.database) });
  expect(await logOf(tasks)).toMatchObject([{ taskId: 'nobody' }, { taskId: 'nobody' }]);
});

test('whatever is asked for, it spoils nothing: of a long id the beginning is kept, of a broken one the whole parts', async () => {
  const { tasks, bob } = await serving({
    store: () => openSqlite('memory:', { encryption: encryption('first') }),
  });
  for (const id of ['x'.repeat(100_000), `${'x'.repeat(127)}😀`, 'half \ud83d', 'zero \0']) await bob.get(id);
  const denied = await logOf(tasks, { action: 'denied' });
  expect(denied.map(({ taskId }) => taskId)).toEqual([
    'x'.repeat(128),
    `${'x'.repeat(127)}\ufffd`,
    'half \ufffd',
    'zero \ufffd',
  ]);
});
