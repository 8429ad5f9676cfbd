import { isDeepStrictEqual } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { JsonObject } from '../../../src/model/json.ts';
import { inLanes, times } from '../../kit/lanes.ts';
import { Peer, type Stream } from './peer.ts';
import { progressOf, subscriptionId, taskIn, type WireTask } from './protocol.ts';
import { ServerUnderLoad } from './under-load.ts';

const yes: JsonObject = { action: 'accept', content: { confirm: true } };
const ada: JsonObject = { action: 'accept', content: { name: 'Ada' } };

test('S2026-06 S2026-07 S2026-08 S2663-66 S2663-68 S2663-70: each of 1,000 subscribers hears of its tasks, and of nothing else', async () => {
  const server = await ServerUnderLoad.start();
  const rest = await server.atRest();
  const { bytes } = await server.ask('memory');
  const peer = new Peer(server.url);
  const stranger = new Peer(server.url, { token: 'theirs' });

  const foreign = (await stranger.call('ask_name')).taskId;
  const fans = await created(peer, 10, 'fan_out', { children: 3, depth: 1, delayMs: 0, ask: true });
  const names = await created(peer, 20, 'ask_name');
  await Promise.all([...fans, ...names].map((id) => shows(peer, id, 'input_required')));
  await shows(stranger, foreign, 'input_required');
  const computing = await created(peer, 10, 'slow_compute', { seconds: 15 });

  const tasksOf = (n: number) => [fans[n % 10]!, names[n % 20]!, ...(n % 2 ? [computing[n % 10]!] : [])];
  const streams = await inLanes(times(1_000).map(tasksOf), 32, async (ids) => {
    const stream = await peer.listen([foreign, ...ids, 'no such task', ...ids]);
    await stream.until(({ latest }) => ids.every((id) => latest.has(id)));
    return stream;
  });
  for (const [n, { messages }] of streams.entries())
    expect(messages[0]).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: tasksOf(n) } },
    });
  const of = (id: string) => streams.filter((_, n) => tasksOf(n).includes(id));
  await Promise.all([...fans, ...names].map((id) => agree(peer, id, of(id))));

  const polled = pollUntilDone(peer, computing);
  for (const child of ['1', '2', '3']) {
    await Promise.all(fans.map((id) => peer.update(id, { [`${child}/confirm`]: yes })));
    await Promise.all(fans.map((id) => agree(peer, id, of(id))));
  }
  await Promise.all(names.map((id) => peer.update(id, { name: ada })));
  await stranger.update(foreign, { name: ada });
  await shows(stranger, foreign, 'completed');
  const shown = await polled;
  for (const id of [...fans, ...names, ...computing]) {
    await agree(peer, id, of(id));
    expect((await peer.get(id)).status).toBe('completed');
  }

  for (const [n, stream] of streams.entries()) checkFrames(stream, tasksOf(n));
  expect(framesThatWereAlsoPolled(streams, shown)).toBeGreaterThan(100);

  expect(await server.ask('held')).toMatchObject({ subscriptions: 1_000, watchers: 2_500 });
  for (const stream of streams) stream.close();
  peer.close();
  stranger.close();
  await server.isBackAt(rest);
  expect((await server.ask('memory')).bytes).toBeLessThan(1.5 * bytes);
  expect(server.complaints).toBe('');
});

test('subscribers that listen to changes of the tools too are as many as others may be', async () => {
  const server = await ServerUnderLoad.start();
  const peer = new Peer(server.url);
  onTestFinished(() => peer.close());
  const { taskId } = await peer.call('ask_name');
  const streams = await inLanes(times(1_100), 32, () =>
    peer.listen([taskId], undefined, { toolsListChanged: true }),
  );
  await Promise.all(streams.map((stream) => stream.until(({ latest }) => latest.has(taskId))));
  for (const { messages } of streams)
    expect(messages[0]).toMatchObject({
      params: { notifications: { toolsListChanged: true, taskIds: [taskId] } },
    });
});

async function created(peer: Peer, count: number, tool: string, input: JsonObject = {}): Promise<string[]> {
  const tasks = await Promise.all(times(count).map(() => peer.call(tool, input)));
  return tasks.map(({ taskId }) => taskId);
}

async function shows(peer: Peer, id: string, status: WireTask['status']): Promise<void> {
  await expect.poll(async () => (await peer.get(id)).status).toBe(status);
}

/** Comes true once everybody's last word on a task is what `tasks/get` says. */
async function agree(peer: Peer, id: string, streams: readonly Stream[]): Promise<void> {
  await vi.waitFor(
    async () => {
      const shown = await peer.get(id);
      const astray = streams.find(({ latest }) => !isDeepStrictEqual(latest.get(id), shown));
      expect(astray?.latest.get(id) ?? shown).toEqual(shown);
    },
    { timeout: 60_000 },
  );
}

/** Every answer to `tasks/get` until all are done. */
async function pollUntilDone(peer: Peer, ids: readonly string[]): Promise<WireTask[]> {
  const shown: WireTask[] = [];
  await Promise.all(
    ids.map(async (id) => {
      do shown.push(await peer.get(id));
      while (shown.at(-1)!.status === 'working');
    }),
  );
  return shown;
}

/** All of them carry the id of the subscription, news of a task never goes back, and its end is the last of it. */
function checkFrames(stream: Stream, ids: readonly string[]): void {
  const [, ...news] = stream.messages;
  for (const { params } of stream.messages)
    expect(params?._meta).toMatchObject({ [subscriptionId]: stream.id });
  expect(new Set(news.map(({ method }) => method))).toEqual(new Set(['notifications/tasks']));
  const frames = news.map(({ params }) => taskIn(params!));
  expect(new Set(frames.map(({ taskId }) => taskId))).toEqual(new Set(ids));
  for (const id of ids) {
    const own = frames.filter(({ taskId }) => taskId === id);
    const done = own.map(progressOf);
    expect(done).toEqual(done.toSorted((a, b) => a - b));
    expect(own.findIndex(({ status }) => status === 'completed')).toBe(own.length - 1);
  }
}

/** Compares each frame with what a poll said of the same moment of the same task, and counts those that had one. */
function framesThatWereAlsoPolled(streams: readonly Stream[], shown: readonly WireTask[]): number {
  const moment = (task: WireTask) =>
    `${task.taskId} ${task.lastUpdatedAt} ${progressOf(task)} ${task.status}`;
  const polled = new Map(shown.map((task) => [moment(task), task]));
  const frames = streams.flatMap(({ messages }) => messages.slice(1).map(({ params }) => taskIn(params!)));
  const known = frames.filter((task) => task.status === 'working' && polled.has(moment(task)));
  for (const task of known)
    if (!isDeepStrictEqual(task, polled.get(moment(task)))) expect(task).toEqual(polled.get(moment(task)));
  return known.length;
}
