/** Servers at the other end of a pipe. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type ConnectTasksOptions, connectTasks, ServerUnreachable, TaskOverdue } from 'holdfast/client';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../kit/lifetime.ts';
import { pace } from './meeting.ts';

const program = fileURLToPath(new URL('stdio-server.ts', import.meta.url));

async function meet(way: string, canReopen = true, options: ConnectTasksOptions = {}) {
  const memory = join(temporaryFolder(), 'lives');
  const open = () =>
    new StdioClientTransport({ command: process.execPath, args: [program, way, memory], stderr: 'ignore' });
  const client = new Client({ name: 'host', version: '1' });
  const tasks = await connectTasks(client, canReopen ? open : open(), {
    registry: 'memory:',
    pace,
    reconnectTimeout: '20s',
    ...options,
  });
  onTestFinished(async () => {
    await tasks.close();
    await expect.poll(() => process.getActiveResourcesInfo().includes('ProcessWrap')).toBe(false);
  });
  return { tasks, lives: () => readFileSync(memory, 'utf8').split('\n').length - 1 };
}

test('a server that says all kinds of things beside its answers is understood', async () => {
  const { tasks } = await meet('babbles');
  expect(await tasks.callTool({ name: 't' })).toMatchObject({ content: [{ text: 'done' }] });
});

test('a server that dies is started again, and its task goes on', async () => {
  const { tasks, lives } = await meet('dies');
  expect(await tasks.callTool({ name: 't' })).toMatchObject({ content: [{ text: 'done' }] });
  expect(lives()).toBe(3);
});

test('a server that dies and cannot be started again is unreachable, and it is said how it could be', async () => {
  const { tasks } = await meet('dies', false);
  const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ServerUnreachable);
  expect((error as Error).message).toContain('pass a URL, or a function that creates a transport');
});

test.each([
  ['drivels', 'has sent no valid answer', { requestTimeout: 5_000 }],
  ['dozes', 'still reports it as working', { reconnectTimeout: 300 }],
])('a server that %s is given up after the ttl, and the call can be resumed', async (way, why, options) => {
  const { tasks } = await meet(way, true, options);
  const handle = await tasks.call('t');
  const error = await handle.result().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TaskOverdue);
  expect((error as Error).message).toContain(why);
  expect((await tasks.resumeAll()).map(({ id }) => id)).toEqual([handle.id]);
});
