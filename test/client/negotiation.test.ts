/** Our client finds out what a server speaks, and keeps to it. */
import { expect, test } from 'vitest';
import { connectOurClient } from '../dialects/interop/our-client.ts';
import { toyProcess } from '../gateway/processes.ts';
import { textOf } from '../kit/text.ts';

test('a server of 2025-11-25 over HTTP that was asked for 2026-07-28 first hears of it no more', async () => {
  await using server = await toyProcess('--tasks').start();
  await using client = await connectOurClient(server.url, { isModern: true });
  expect(client.tasks.client.getNegotiatedProtocolVersion()).toBe('2025-11-25');
  expect(textOf(await client.tasks.callTool({ name: 'pid' }))).toBe(String(server.pid));
  const handle = await client.tasks.call('work', { file: '/dev/null', ms: 50 });
  expect(handle.taskId).toBeDefined();
  expect(textOf(await handle.result())).toBe('worked');
});
