import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { inLanes, times } from '../../kit/lanes.ts';
import { Peer } from './peer.ts';
import { ServerUnderLoad } from './under-load.ts';

/** Hangs up on each of 500 requests a little later than on the one before, from at once to well after its answer. */
async function hangUpOnMany(request: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  await inLanes(times(500), 32, async (n) => {
    const caller = new AbortController();
    const answered = request(caller.signal).catch(() => {});
    await pause(n / 10);
    caller.abort();
    await answered;
  });
}

test('a subscriber that hangs up leaves nothing behind, whenever it does so', async () => {
  const server = await ServerUnderLoad.start({ lookMs: 10, readMs: 5 });
  const rest = await server.atRest();
  const peer = new Peer(server.url);
  const { taskId } = await peer.call('ask_name');
  await hangUpOnMany((signal) => peer.listen([taskId], signal));
  peer.close();
  await server.isBackAt(rest);
});

test('a caller that hangs up before it has its plain result leaves nothing behind, whenever it does so', async () => {
  const server = await ServerUnderLoad.start({ lookMs: 10, readMs: 5 });
  const rest = await server.atRest();
  const peer = new Peer(server.url, { takesTasks: false });
  await hangUpOnMany((signal) => peer.call('nap', { ms: 3_600_000 }, signal));
  peer.close();
  await server.isBackAt(rest);
});

test('500 callers that wait for a plain result at the same time hang up, and nothing of them is left', async () => {
  const server = await ServerUnderLoad.start({ concurrency: 500 });
  const rest = await server.atRest();
  const peer = new Peer(server.url, { connections: 500, takesTasks: false });
  const calls = times(500).map(() => peer.call('nap', { ms: 3_600_000 }).catch((error: Error) => error));
  await expect.poll(() => server.ask('held')).toMatchObject({ watchers: 500 });
  peer.close();
  for (const call of calls) expect(await call).toBeInstanceOf(Error);
  await server.isBackAt(rest);
});
