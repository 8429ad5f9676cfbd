import { PassThrough } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { createTasks } from 'holdfast';
import { serveStdio } from 'holdfast/server';
import { openSqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { slowReaderMs } from '../../../src/server/http/event-stream-body.ts';
import { fixtureFactory } from '../../fixture/server.ts';
import { times } from '../../kit/lanes.ts';
import { PipeClient } from '../../kit/pipe-client.ts';
import type { Message } from '../../kit/wire.ts';
import { chatter } from './chatter.ts';
import { subscriptionId } from './protocol.ts';
import { farewellTo, ServerUnderLoad, waysToStop } from './under-load.ts';

const mebibyte = 2 ** 20;

async function start() {
  const server = await ServerUnderLoad.start({ face: 'stdio' });
  return { server, peer: new PipeClient(server.process.stdout!, server.process.stdin!) };
}

/** Calls a tool, and gives the id of the task that the call became. */
async function called(peer: PipeClient, tool: string, input?: object): Promise<string> {
  return (await peer.answerTo(peer.call(tool, input))).result.taskId;
}

/** Resolves to the id of a subscription that has been told how the task stands. */
async function listening(peer: PipeClient, taskId: string): Promise<number> {
  const id = peer.send('subscriptions/listen', { notifications: { taskIds: [taskId] } });
  await peer.message((message) => message.method === 'notifications/tasks' && isOf(id, message));
  return id;
}

/** True if a message belongs to that subscription. */
function isOf(id: number, { params }: Message): boolean {
  return params?._meta?.[subscriptionId] === id;
}

test.each(Object.entries(waysToStop))(
  'S2026-09: on %s each request to listen is cancelled and then answered, once, and the process exits with 0',
  async (_, stop) => {
    const { server, peer } = await start();
    const taskId = await called(peer, 'ask_name');
    const ids = [await listening(peer, taskId), await listening(peer, taskId)];
    await peer.message((message) => message.params?.status === 'input_required' && isOf(ids[1]!, message));

    const before = peer.messages.length;
    stop(server);
    expect(await server.exit).toEqual({ code: 0, signal: null });
    const last = peer.messages.slice(before);
    for (const id of ids)
      expect(last.filter((message) => message.id === id || message.params?.requestId === id)).toEqual([
        {
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: id, reason: expect.any(String) },
        },
        farewellTo(id),
      ]);
    expect(last).toHaveLength(4);
  },
);

test('a client that stops reading is not buffered for, and hears the end of its task when it reads again', async () => {
  const { server, peer } = await start();
  const taskId = await called(peer, 'chatter', { times: 2_000, bytes: 8 * 2 ** 10 });
  const ids = await Promise.all(times(100).map(() => listening(peer, taskId)));
  const before = await server.ask('memory');
  peer.pause();
  await expect.poll(() => server.ask('idle')).toBe(true);
  const after = await server.ask('memory');
  expect(after.bytes - before.bytes).toBeLessThan(20 * mebibyte);

  peer.resume();
  await Promise.all(
    ids.map((id) => peer.message((message) => message.params?.status === 'completed' && isOf(id, message))),
  );
  expect(server.complaints).toBe('');
});

test('a client that does not read for a minute is not left to believe that it still listens', async () => {
  const tasks = createTasks({ store: () => openSqlite('memory:'), tools: [chatter] });
  await tasks.work();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = new StdioServerTransport(input, output);
  const server = serveStdio(tasks, fixtureFactory(tasks), { transport, stopOn: [] });
  onTestFinished(() => server.stop());
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());

  const peer = new PipeClient(output, input);
  const taskId = await called(peer, 'chatter', { times: 200, bytes: 2 ** 10 });
  const subscription = await listening(peer, taskId);
  peer.pause();
  await tasks.outcome(taskId);
  vi.advanceTimersByTime(2 * slowReaderMs);
  vi.useRealTimers();
  peer.resume();
  await peer.message(({ id, params }) => params?.status === 'completed' || id === subscription);
});

test('a request to listen that is refused leaves nothing behind', async () => {
  const { server, peer } = await start();
  const taskId = await called(peer, 'ask_name');
  const rest = await server.ask('held');
  const wrong = { notifications: { taskIds: [taskId], toolsListChanged: 'perhaps' } };
  expect(await peer.request('subscriptions/listen', wrong)).toMatchObject({ error: { code: -32602 } });
  expect(await server.ask('held')).toMatchObject({ watchers: rest.watchers });
});
