/** What there may be on a server in all, and how much of it one owner can take from the others. */
import { createTasks, durableTool } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { Peer, served } from '../dialects/revision-2025-11-25/peer.ts';
import { Peer as LaterPeer, served as servedToAll, withTasks } from '../dialects/revision-2026-07-28/peer.ts';
import { fixtureFactory } from '../fixture/server.ts';

const tokens = { 'token-a': 'ada', 'token-b': 'bob' };

test('an owner that floods the server leaves the last tenth of it to others', async () => {
  const { url, peer: ada } = await served({ tokens, limits: { liveTasks: 10 } });
  const bob = new Peer(url, { token: 'token-b' });
  await bob.open();
  const call = (peer: Peer) => peer.call('nap', { ms: 60_000 }, { task: {} });
  for (let n = 0; n < 9; n++) expect((await call(ada)).error).toBe(undefined);
  const { error } = await call(ada);
  expect(error.data).toMatchObject({ limit: 'liveTasks' });
  expect(error.message).toContain('At most 10 live tasks on this server');
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
  const listen = () => peer.listen(taskIds);
  const first = await listen();
  expect(first.headers['content-type']).toContain('event-stream');
  const second = await listen();
  expect(second.status).toBe(429);
  expect(Number(second.headers['retry-after'])).toBeGreaterThan(0);
  expect((await second.next())!.error).toMatchObject({
    code: -31029,
    data: { limit: 'subscriptions' },
  });
  first.close();
  // Once the server has noticed.
  await expect.poll(async () => (await listen()).status).toBe(200);
});

test.each([
  [{}, 30 * 24 * 3_600_000],
  [{ maxDeadline: '7d' }, 7 * 24 * 3_600_000],
  [{ maxDeadline: 'none' }, null],
] as const)(
  'with %o no task that callers begin lives longer than the server lets it',
  async (options, most) => {
    const patient = durableTool('patient', { deadline: 'none' }, async (_, task) => task.sleep('365d'));
    const quick = durableTool('quick', { deadline: '1h' }, async (_, task) => task.sleep('365d'));
    const tasks = createTasks({ store: sqlite('memory:'), tools: [patient, quick], ...options });
    const server = await serveHttp(tasks, fixtureFactory(tasks), { port: 0, stopOn: [] });
    onTestFinished(() => server.stop());
    const peer = new Peer(server.url);
    await peer.open();
    const lifeOf = async (id: string) => {
      const { deadlineAt, createdAt } = (await tasks.get(id))!;
      return deadlineAt === null ? null : deadlineAt - createdAt;
    };
    expect(await lifeOf(await peer.start('patient'))).toBe(most);
    expect(await lifeOf(await peer.start('quick'))).toBe(3_600_000);
    // What the program itself begins is its own affair.
    expect(await lifeOf((await tasks.create(patient)).id)).toBe(null);
  },
);
