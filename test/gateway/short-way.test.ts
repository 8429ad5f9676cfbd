/** Fast calls need neither a task nor an SDK server, and their answers are the same. */
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
    // Soon after its start the server asks for roots, outside any call. This call gets the question.
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

  test('content other than text arrives unchanged', async () => {
    const { content } = await client.callTool({ name: 'get-tiny-image' });
    expect(content).toContainEqual(expect.objectContaining({ type: 'image', mimeType: 'image/png' }));
  });

  test('a slower call is executed once, and answered', async () => {
    const { file, lines } = notes();
    const { content } = await client.callTool({ name: 'write', arguments: { file, ms: 400 } });
    expect(content).toEqual([{ type: 'text', text: 'worked' }]);
    expect(lines()).toEqual(['begun', 'done']);
  });

  test.each([
    ['at once', 0],
    ['after a while', 400],
  ])('a call that is cancelled %s is cancelled at the upstream', async (_, afterMs) => {
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

test.each(['auto', 'legacy'] as const)('calls beyond the limit are rejected (%s)', async (mode) => {
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
