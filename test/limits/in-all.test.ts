/** What there may be on a server in all, and how much of it one owner can take from the others. */
import { createTasks, durableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { ManualClock } from 'holdfast/testing';
import { expect, onTestFinished, test } from 'vitest';
import { type Message, Peer, served } from '../revision-2025-11-25/peer.ts';
import { Peer as LaterPeer, served as servedToAll, withTasks } from '../revision-2026-07-28/peer.ts';

const tokens = { 'token-a': 'ada', 'token-b': 'bob' };

test('an owner that floods the server leaves the last tenth of it to others', async () => {
  const { url, peer: ada } = await served({ tokens, limits: { liveTasks: 10 } });
  const bob = new Peer(url, { token: 'token-b' });
  await bob.open();
  const call = (peer: Peer) => peer.call('nap', { ms: 60_000 }, { task: {} });
  for (let n = 0; n < 9; n++) expect((await call(ada)).error).toBe(undefined);
  const { error } = await call(ada);
  expect(error.data).toMatchObject({ limit: 'liveTasks' });
  expect(error.message).toContain('No more than 10 tasks at a time on this server');
  expect((await call(bob)).result.task.status).toBe('working');
  expect((await call(bob)).error.data).toMatchObject({ limit: 'liveTasks' });
});

test('subtasks are no tasks of their own to these limits', async () => {
  const { peer } = await served({ limits: { liveTasks: 2, liveTasksPerOwner: 2 } });
  const many = { children: 20, depth: 1, delayMs: 60_000 };
  for (let n = 0; n < 2; n++) await peer.start('fan_out', many);
  expect((await peer.call('fan_out', many, { task: {} })).error.data.limit).toBe('liveTasksPerOwner');
});

test('there are no more subscriptions than there may be, of all owners together', async () => {
  const { url } = await servedToAll({ limits: { subscriptions: 1 } });
  const peer = new LaterPeer(url, withTasks);
  const taskIds = [await peer.start('nap', { ms: 60_000 })];
  const listen = () => peer.post('subscriptions/listen', { notifications: { taskIds } });
  const first = await listen();
  expect(first.headers.get('content-type')).toContain('event-stream');
  const second = await listen();
  expect(second.status).toBe(429);
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(((await second.json()) as Message).error).toMatchObject({
    code: -31029,
    data: { limit: 'subscriptions' },
  });
  await first.body!.cancel();
  // Once the server has noticed.
  await expect.poll(async () => (await listen()).status).toBe(200);
});

test('no task lives longer than the server lets it, whatever its tool says', async () => {
  const clock = new ManualClock();
  const day = 24 * 3_600_000;
  const patient = durableTool('patient', { deadline: 'none' }, async (_, task) => task.sleep('365d'));
  const quick = durableTool('quick', { deadline: '1h' }, async (_, task) => task.sleep('365d'));
  const deadlines = async (options: { longestDeadline?: 'none' | '7d' }) => {
    const tasks = createTasks({ store: sqlite('memory:'), tools: [patient, quick], clock, ...options });
    onTestFinished(() => tasks.close());
    const made = [await tasks.create(patient), await tasks.create(quick)];
    return made.map(({ deadlineAt, createdAt }) => deadlineAt !== null && deadlineAt - createdAt);
  };
  expect(await deadlines({})).toEqual([30 * day, 3_600_000]);
  expect(await deadlines({ longestDeadline: '7d' })).toEqual([7 * day, 3_600_000]);
  expect(await deadlines({ longestDeadline: 'none' })).toEqual([false, 3_600_000]);
});
