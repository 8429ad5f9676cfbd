/** What a server says of its limits, to those who ask what it has and to the program that it is part of. */
import { PassThrough } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { serveStdio } from 'holdfast/server';
import { expect, onTestFinished, test } from 'vitest';
import { defaultTaskLimits } from '../../src/engine/rules/limits.ts';
import { defaultLimits } from '../../src/task-methods/limits.ts';
import { Peer, served } from '../dialects/revision-2025-11-25/peer.ts';
import { served as servedToAll } from '../dialects/revision-2026-07-28/peer.ts';
import { fixtureFactory, fixtureTasks, storeFrom, withoutLimits } from '../fixture/server.ts';

const name = 'dev.holdfast/limits';
const day = 24 * 3_600_000;
const extents = {
  maxValueSize: 16_777_216,
  minRetention: 60_000,
  maxRetention: 30 * day,
  maxDeadline: 30 * day,
};

test('on 2026-07-28 the limits stand among the extensions', async () => {
  const { peer } = await servedToAll({ limits: {} });
  const { capabilities } = (await peer.request('server/discover')).result;
  // Of callers without a token nothing is kept for longer than an hour.
  expect(capabilities.extensions[name]).toEqual({
    ...defaultLimits,
    ...extents,
    maxRetention: 3_600_000,
  });
  expect(capabilities.experimental?.[name]).toBe(undefined);
});

test('on 2025-11-25 they stand among what is experimental', async () => {
  const tokens = { 'token-a': 'ada' };
  const { url } = await served({ tokens, limits: {}, minRetention: '60s' });
  const { capabilities } = await new Peer(url, { token: 'token-a' }).open();
  expect(capabilities.experimental[name]).toEqual({ ...defaultLimits, ...extents });
  expect(capabilities.extensions?.[name]).toBe(undefined);
});

test('only limits that there are can be met', async () => {
  const { peer } = await servedToAll({
    limits: { ...withoutLimits, callsPerMinute: 7 },
    maxDeadline: 'none',
  });
  const { maxDeadline: _, ...others } = extents;
  expect((await peer.request('server/discover')).result.capabilities.extensions[name]).toEqual({
    ...others,
    callsPerMinute: 7,
    maxRetention: 3_600_000,
  });
});

test('a server may keep them to itself', async () => {
  const { peer } = await servedToAll({ showLimits: false });
  const { capabilities } = (await peer.request('server/discover')).result;
  expect(capabilities.extensions).not.toHaveProperty([name]);
});

test('whoever started the server is not limited, and not told of limits', async () => {
  const tasks = fixtureTasks({ store: storeFrom('memory:') });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const transport = new StdioServerTransport(stdin, stdout);
  const server = serveStdio(tasks, fixtureFactory(tasks), { transport, stopOn: [] });
  onTestFinished(() => server.stop());
  const params = {
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'peer', version: '1' },
    capabilities: {},
  };
  stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  const [line] = (await stdout.take(1).toArray()) as Buffer[];
  const { capabilities } = JSON.parse(line!.toString()).result;
  expect(capabilities.tasks).toBeDefined();
  expect(JSON.stringify(capabilities)).not.toContain(name);
});

test('the program itself is told everything, limits that there are not included', async () => {
  const { tasks } = await servedToAll({
    limits: withoutLimits,
    maxValueSize: 5,
    taskLimits: { maxDepth: 2 },
  });
  expect(tasks.limits).toEqual({
    ...withoutLimits,
    ...defaultTaskLimits,
    ...extents,
    maxDepth: 2,
    maxValueSize: 5,
    maxStoreSize: Number.POSITIVE_INFINITY,
  });
});
