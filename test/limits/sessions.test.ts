/** Sessions of 2025-11-25 over HTTP: what nobody uses goes before there are too many. */
import { McpHandler } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { telemetry } from 'holdfast/telemetry';
import { expect, onTestFinished, test } from 'vitest';
import { Peer, served } from '../dialects/revision-2025-11-25/peer.ts';
import { fixtureFactory, fixtureTasks } from '../fixture/server.ts';

const tokens = { 'token-a': 'ada', 'token-b': 'bob' };
const opening = {
  protocolVersion: '2025-11-25',
  clientInfo: { name: 'peer', version: '1' },
  capabilities: {},
};

async function opened(url: string, token: string): Promise<Peer> {
  const peer = new Peer(url, { token });
  await peer.open();
  return peer;
}

async function statusOf(peer: Peer): Promise<number> {
  const response = await peer.post({ id: 'again', method: 'tools/list' });
  await response.text();
  return response.status;
}

test('the longest unused session of an owner goes for a new one, and those of others stay', async () => {
  const seen = telemetry();
  const { url } = await served({ tokens, limits: { sessionsPerOwner: 3 }, telemetry: seen });
  // The peer that it comes with has one too.
  const bob = await opened(url, 'token-b');
  const [first, second] = [await opened(url, 'token-a'), await opened(url, 'token-a')];
  expect(await statusOf(first)).toBe(200);
  const third = await opened(url, 'token-a');
  await opened(url, 'token-a');
  expect(await statusOf(second)).toBe(404);
  for (const peer of [first, third, bob]) expect(await statusOf(peer)).toBe(200);
  expect(await seen.metrics()).toContain('holdfast_refusals_total{limit="sessionsPerOwner"} 2');
});

test('a session that was ended makes room, and one that is in use does not go', async () => {
  const { url } = await served({ tokens, limits: { sessionsPerOwner: 2 } });
  const [one, two] = [await opened(url, 'token-a'), await opened(url, 'token-a')];
  const streams = [new AbortController(), new AbortController()] as const;
  await one.listen(streams[0].signal);
  await two.listen(streams[1].signal);
  const refused = await new Peer(url, { token: 'token-a' }).request('initialize', opening);
  expect(refused.error).toMatchObject({ code: -32603, data: { reason: 'limit', limit: 'sessionsPerOwner' } });
  expect(refused.error.message).toContain('At most 2 sessions');
  await fetch(url, { method: 'DELETE', headers: one.headers() });
  expect(await statusOf(await opened(url, 'token-a'))).toBe(200);
  expect(await statusOf(two)).toBe(200);
  for (const stream of streams) stream.abort();
});

test('an answer that was read is no use of its session, also where a server is a function of requests', async () => {
  const tasks = fixtureTasks({ store: sqlite('memory:'), limits: { sessionsPerOwner: 1 } });
  const handler = new McpHandler(tasks, fixtureFactory(tasks));
  onTestFinished(async () => {
    await handler.close();
    await tasks.close();
  });
  for (let n = 0; n < 3; n++) {
    const answer = await handler.fetch(
      new Request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: opening }),
      }),
    );
    expect(await answer.text()).toContain('"serverInfo"');
  }
});

test('what a client says when it opens a session is kept, and may not be long', async () => {
  const { url } = await served({ tokens });
  const capabilities = { experimental: { much: { text: 'x'.repeat(70_000) } } };
  const { error } = await new Peer(url, { token: 'token-a', capabilities }).request('initialize', {
    ...opening,
    capabilities,
  });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('65536 characters') });
});
