/** The status of the task of a call, by the answer of the upstream. */
import { expect, test } from 'vitest';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { openGateway, toy } from './stage.ts';

test.each([
  ['a result', 'pid', 'completed'],
  ['an error result', 'fail', 'failed'],
])('the task of a call that ends with %s has the right status', async (_, name, status) => {
  await using stage = await openGateway({ mcpServers: { toy } });
  const peer = new Peer(stage.url.href);
  await peer.open();
  const { result } = await peer.call(name, {}, { task: {} });
  const { taskId } = result.task;
  await expect.poll(async () => (await peer.request('tasks/get', { taskId })).result.status).toBe(status);
});
