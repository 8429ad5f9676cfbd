import { createTasks } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { openSqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { slowReaderMs } from '../../../src/server/http/event-stream-body.ts';
import { fixtureFactory, withoutLimits } from '../../fixture/server.ts';
import { times } from '../../kit/lanes.ts';
import { chatter } from './chatter.ts';
import { holdings } from './holdings.ts';
import { Peer, type Stream } from './peer.ts';
import { ServerUnderLoad } from './under-load.ts';

/** Much more than the kernels between a server and its reader hold. */
const talk = { times: 2_000, bytes: 8 * 2 ** 10 };
const mebibyte = 2 ** 20;

test('readers that stop reading while a task changes thousands of times are not buffered for, and hold up nobody', async () => {
  const server = await ServerUnderLoad.start();
  const rest = await server.atRest();
  const before = await server.ask('memory');
  const peer = new Peer(server.url);
  const { taskId } = await peer.call('chatter', talk);
  const stuck = await Promise.all(times(10).map(() => stoppedReading(peer, taskId)));
  const readers = await Promise.all(times(10).map(() => peer.listen([taskId])));

  await Promise.all(readers.map((stream) => isTold(stream, taskId)));
  for (const { messages } of readers) expect(messages.length).toBeGreaterThan(100);
  const now = await server.ask('memory');
  expect(now.unsent).toBeLessThan(mebibyte / 4);
  expect(now.bytes - before.bytes).toBeLessThan(20 * mebibyte);

  // What they missed was replaced by what came after it, and the end was not.
  for (const stream of stuck) stream.resume();
  await Promise.all(stuck.map((stream) => isTold(stream, taskId)));
  for (const { messages } of stuck) expect(messages.length).toBeLessThan(talk.times / 2);

  for (const stream of [...stuck, ...readers]) stream.close();
  peer.close();
  await server.isBackAt(rest);
});

test('a reader that takes nothing for 30 seconds loses its connection, and other readers of the task do not', async () => {
  const tasks = createTasks({ store: () => openSqlite('memory:'), tools: [chatter], limits: withoutLimits });
  await tasks.work();
  const server = await serveHttp(tasks, fixtureFactory(tasks), { port: 0, stopOn: [], grace: 0 });
  onTestFinished(() => server.stop());
  const peer = new Peer(server.url, { connections: 1 });
  onTestFinished(() => peer.close());

  // Nobody's patience runs out until this clock is put forward, and nothing else here waits for it.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { taskId } = await peer.call('chatter', { times: 1_000, bytes: 100_000 });
  const stuck = await stoppedReading(peer, taskId);
  const reader = await peer.listen([taskId]);
  await isTold(reader, taskId);
  vi.advanceTimersByTime(slowReaderMs - 1);
  expect(server.handler.subscriptions).toBe(2);
  expect((await holdings()).connections).toBe(3);

  vi.advanceTimersByTime(1);
  vi.useRealTimers();
  expect(server.handler.subscriptions).toBe(1);
  expect((await tasks.requests()).watchers).toBe(1);
  await expect.poll(async () => (await holdings()).connections).toBe(2);
  stuck.resume();
  expect(await stuck.ended).toBe(false);
});

/** A subscriber that reads no further than to how the task stands. */
async function stoppedReading(peer: Peer, taskId: string): Promise<Stream> {
  const stream = await peer.listen([taskId]);
  await stream.until(({ latest }) => latest.has(taskId));
  stream.pause();
  return stream;
}

function isTold(stream: Stream, taskId: string): Promise<void> {
  return stream.until(({ latest }) => latest.get(taskId)?.status === 'completed');
}
