/** Our client negotiates the revision with a server. */
import { expect, test } from 'vitest';
import { connectOurClient } from '../dialects/interop/our-client.ts';
import { toyProcess } from '../gateway/processes.ts';
import { textOf } from '../kit/text.ts';

test('a server of 2025-11-25 over HTTP gets no metadata of 2026-07-28 after the probe', async () => {
  await using server = await toyProcess('--tasks').start();
  await using client = await connectOurClient(server.url, { isModern: true });
  expect(client.tasks.client.getNegotiatedProtocolVersion()).toBe('2025-11-25');
  expect(textOf(await client.tasks.callTool({ name: 'pid' }))).toBe(String(server.pid));
  const handle = await client.tasks.call('work', { file: '/dev/null', ms: 50 });
  expect(handle.taskId).toBeDefined();
  expect(textOf(await handle.result())).toBe('worked');
});
