import { expect, onTestFinished, test } from 'vitest';
import { times } from '../../kit/lanes.ts';
import { expectWithin } from '../../kit/within.ts';
import { Peer, type Stream } from './peer.ts';
import { farewellTo, ServerUnderLoad, waysToStop } from './under-load.ts';

test.each(Object.entries(waysToStop))(
  'S2026-09: on %s each of 200 streams gets the answer to its request in the middle of the news, and the process exits with 0',
  async (_, stop) => {
    const server = await ServerUnderLoad.start();
    const peer = new Peer(server.url);
    onTestFinished(() => peer.close());
    const busy = await Promise.all(times(4).map(() => peer.call('chatter', { times: 100_000, bytes: 100 })));
    const asking = await peer.call('ask_name');
    const streams = await Promise.all(
      times(200).map((n) => peer.listen([busy[n % 4]!.taskId, asking.taskId])),
    );
    await Promise.all(streams.map((stream) => stream.until(({ messages }) => messages.length > 20)));

    stop(server);
    expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(times(200).map(() => true));
    for (const stream of streams) expectFarewell(stream);
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(server.complaints).toBe('');
  },
);

test('a stream whose news is just being read from the store ends like the others, and holds up nothing', async () => {
  const server = await ServerUnderLoad.start({ readMs: 3, grace: '1h' });
  const peer = new Peer(server.url);
  onTestFinished(() => peer.close());
  const { taskId } = await peer.call('chatter', { times: 100_000, bytes: 100 });
  const streams = await Promise.all(times(20).map(() => peer.listen([taskId])));
  await Promise.all(streams.map((stream) => stream.until(({ messages }) => messages.length > 5)));

  server.process.kill('SIGTERM');
  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(times(20).map(() => true));
  for (const stream of streams) expectFarewell(stream);
  expect(await server.exit).toEqual({ code: 0, signal: null });
});

test('a reader that has stopped reading holds up the end of the others not at all, and that of the process no longer than its grace', async () => {
  const server = await ServerUnderLoad.start({ grace: '1s' });
  const peer = new Peer(server.url);
  onTestFinished(() => peer.close());
  const { taskId } = await peer.call('chatter', { times: 400, bytes: 40 * 2 ** 10 });
  const stuck = await peer.listen([taskId]);
  stuck.pause();
  const reader = await peer.listen([taskId]);
  await reader.until(({ latest }) => latest.get(taskId)?.status === 'completed');

  const started = performance.now();
  server.process.kill('SIGTERM');
  expect(await reader.ended).toBe(true);
  expectFarewell(reader);
  expect(await server.exit).toEqual({ code: 0, signal: null });
  expectWithin(5_000, performance.now() - started);
});

function expectFarewell({ id, messages }: Stream): void {
  expect(messages.at(-1)).toEqual(farewellTo(id));
  expect(messages.filter((message) => 'result' in message)).toHaveLength(1);
}
