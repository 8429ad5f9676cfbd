/** Our client and a server's limits: what will pass is waited for, and is never taken for the outcome of a task. */
import { Client } from '@modelcontextprotocol/client';
import {
  type CallRegistry,
  type ConnectTasksOptions,
  connectTasks,
  memoryCallRegistry,
  RemoteError,
} from 'holdfast/client';
import { expect, onTestFinished, test } from 'vitest';
import { ServerUnreachable } from '../../src/remote-tasks/errors.ts';
import type { Limits } from '../../src/task-methods/limits.ts';
import { served } from '../dialects/revision-2025-11-25/peer.ts';

async function host(limits: Partial<Limits>, options: ConnectTasksOptions = {}) {
  const { url } = await served({ limits });
  const client = new Client({ name: 'host', version: '1' });
  const pace = { floorMs: 10, ceilingMs: 50 };
  const tasks = await connectTasks(client, url, { registry: memoryCallRegistry(), pace, ...options });
  onTestFinished(() => tasks.close());
  return tasks;
}

test('a refused request for a result is asked again, and is no failure of the task', async () => {
  const handles: CallRegistry = memoryCallRegistry();
  const tasks = await host({ resultsPerMinute: 1 }, { registry: handles, reconnectTimeout: '1s' });
  await tasks.callTool({ name: 'nap', arguments: { ms: 1 } });
  const second = await tasks.call('nap', { ms: 1 });
  await expect(second.result()).rejects.toThrow(ServerUnreachable);
  // The task is completed, and can still be come back for.
  expect(handles.get(second.id)).toMatchObject({ isDelivered: false });
  expect(handles.get(second.id)).not.toHaveProperty('ending');
});

test('a limit that time alone does not lift is said at once', async () => {
  const tasks = await host({ liveTasksPerOwner: 1 });
  await tasks.call('nap', { ms: 60_000 });
  const error = await tasks.call('nap', { ms: 60_000 }).catch((refused: unknown) => refused);
  expect(error).toBeInstanceOf(RemoteError);
  expect(error).toMatchObject({ data: { limit: 'liveTasksPerOwner' } });
});
