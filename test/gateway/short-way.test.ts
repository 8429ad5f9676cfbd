/** Calls that are over in a moment need neither a task nor a server of the SDK, and nobody can tell by their answers. */
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectSdk } from '../kit/sdk.ts';
import { until } from '../kit/until.ts';
import { everything, notes, openGateway, type Stage, toy } from './stage.ts';

describe.each([
  ['2026-07-28', 'auto'],
  ['2025-11-25', 'legacy'],
] as const)('for a plain client of %s', (revision, mode) => {
  let stage: Stage;
  let client: Client;

  beforeAll(async () => {
    stage = await openGateway({ mcpServers: { everything, toy } });
    client = await connectSdk(stage.url, mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    await client.listTools();
    // Soon after it has started, the server asks for folders, for no call in particular: this one is asked.
    await client.callTool({ name: 'trigger-long-running-operation', arguments: { duration: 2, steps: 1 } });
  });
  afterAll(async () => {
    await client?.close();
    await stage?.[Symbol.asyncDispose]();
  });

  test('a quick call is answered, whether it succeeds or not', async () => {
    const { content } = await client.callTool({ name: 'echo', arguments: { message: 'ebb' } });
    expect(content).toEqual([{ type: 'text', text: 'Echo: ebb' }]);
    expect(await client.callTool({ name: 'fail' })).toMatchObject({ isError: true });
  });

  test('quick calls have no task, unless a busy machine makes one of them slow', async () => {
    const created = new Set<string>();
    const stop = await stage.gateway.tasks.subscribe(({ taskId }) => created.add(taskId));
    const calls = 20;
    for (let n = 0; n < calls; n++) await client.callTool({ name: 'echo', arguments: { message: `${n}` } });
    stop();
    expect(created.size).toBeLessThan(calls);
  });

  test('what is more than text comes as the upstream gave it', async () => {
    const { content } = await client.callTool({ name: 'get-tiny-image' });
    expect(content).toContainEqual(expect.objectContaining({ type: 'image', mimeType: 'image/png' }));
  });

  test('a call that is not over in a moment is carried out once, and answered all the same', async () => {
    const { file, lines } = notes();
    const { content } = await client.callTool({ name: 'write', arguments: { file, ms: 400 } });
    expect(content).toEqual([{ type: 'text', text: 'worked' }]);
    expect(lines()).toEqual(['begun', 'done']);
  });

  test.each([
    ['at once', 0],
    ['after a while', 400],
  ])('a call that is cancelled %s is cancelled there', async (_, afterMs) => {
    const { file, lines } = notes();
    const abort = new AbortController();
    const called = client.callTool(
      { name: 'write', arguments: { file, ms: 60_000 } },
      { signal: abort.signal },
    );
    called.catch(() => {});
    await until(() => lines().includes('begun'));
    setTimeout(() => abort.abort(), afterMs);
    await expect(called).rejects.toThrow();
    await until(() => lines().includes('cancelled'));
  });
});

test.each(['auto', 'legacy'] as const)('one call more than the limit is refused (%s)', async (mode) => {
  await using stage = await openGateway({ mcpServers: { toy }, limits: { callsPerMinute: 2 } });
  const client = await connectSdk(stage.url, mode);
  const outcomes = [];
  for (let n = 0; n < 4; n++)
    outcomes.push(
      await client.callTool({ name: 'pid' }).then(
        () => 'answered',
        (error: Error) => error.message,
      ),
    );
  expect(outcomes).toEqual([
    'answered',
    'answered',
    expect.stringMatching(/calls/),
    expect.stringMatching(/calls/),
  ]);
  await client.close();
});
