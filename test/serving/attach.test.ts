/** Durable tools on servers of the SDK, however their authors write them. */
import { createServer } from 'node:http';
import { McpServer, Server } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createTasks, durableTool, type Tasks } from '../../src/index.ts';
import { McpHandler } from '../../src/server.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { originOf } from '../kit/serve.ts';
import { withCode } from '../kit/with-code.ts';
import { RawClient } from './raw-client.ts';

const durable = durableTool(
  'durable',
  { description: 'Durable.', task: 'always', inputSchema: z.object({ word: z.string() }) },
  async ({ word }) => `durable ${word}`,
);

async function tasksForTest(): Promise<Tasks> {
  const tasks = createTasks({ store: await openSqlite('memory:'), tools: [durable] });
  await tasks.work();
  onTestFinished(() => tasks.close());
  return tasks;
}

/** Serves what the factory makes, until the test is over. */
async function clientOf(tasks: Tasks, factory: () => McpServer | Server): Promise<RawClient> {
  const handler = new McpHandler(tasks, factory);
  const server = createServer(handler.node);
  return new RawClient(await originOf(server));
}

const introduction = { name: 'attach', version: '1' };
const plainTool = { name: 'plain', inputSchema: { type: 'object' as const } };

async function namesOf(client: RawClient): Promise<string[]> {
  const { result } = await client.open('tools/list', {}).reply;
  return (result.tools as { name: string }[]).map(({ name }) => name);
}

async function durableWorks(client: RawClient): Promise<void> {
  const { result } = await client.call('durable', { word: 'yes' });
  expect(result).toMatchObject({ resultType: 'task' });
  expect(await client.until(result.taskId, 'completed')).toMatchObject({
    result: { content: [{ text: 'durable yes' }] },
  });
}

test('an McpServer lists and serves its own tools beside the durable ones', async () => {
  const tasks = await tasksForTest();
  const client = await clientOf(tasks, () => {
    const mcp = new McpServer(introduction);
    tasks.attach(mcp);
    mcp.registerTool('plain', {}, async () => ({ content: [{ type: 'text', text: 'plain' }] }));
    return mcp;
  });
  expect(await namesOf(client)).toEqual(['durable', 'plain']);
  expect((await client.call('plain')).result).toMatchObject({ content: [{ text: 'plain' }] });
  await durableWorks(client);
});

test('a low-level Server keeps its own handlers for tools/list and tools/call', async () => {
  const tasks = await tasksForTest();
  const client = await clientOf(tasks, () => {
    const server = new Server(introduction);
    tasks.attach(server);
    server.setRequestHandler('tools/list', () => ({ tools: [plainTool] }));
    server.setRequestHandler('tools/call', ({ params }) => ({
      content: [{ type: 'text', text: `own ${params.name}` }],
    }));
    return server;
  });
  expect(await namesOf(client)).toEqual(['plain', 'durable']);
  expect((await client.call('plain')).result).toMatchObject({ content: [{ text: 'own plain' }] });
  await durableWorks(client);
});

test('a low-level Server without handlers of its own has the durable tools alone', async () => {
  const tasks = await tasksForTest();
  const client = await clientOf(tasks, () => {
    const server = new Server(introduction);
    tasks.attach(server);
    return server;
  });
  expect(await namesOf(client)).toEqual(['durable']);
  expect((await client.call('plain')).error).toMatchObject({ code: -32602 });
  await durableWorks(client);
});

test('a low-level Server shows the durable tools once, on the last page of its own', async () => {
  const tasks = await tasksForTest();
  const client = await clientOf(tasks, () => {
    const server = new Server(introduction);
    tasks.attach(server);
    server.setRequestHandler('tools/list', ({ params }) =>
      params?.cursor === 'two'
        ? { tools: [{ ...plainTool, name: 'second' }] }
        : { tools: [plainTool], nextCursor: 'two' },
    );
    return server;
  });
  const page = async (cursor?: string) =>
    (await client.open('tools/list', cursor === undefined ? {} : { cursor }).reply).result;
  expect(await page()).toMatchObject({ tools: [{ name: 'plain' }], nextCursor: 'two' });
  expect(await page('two')).toMatchObject({ tools: [{ name: 'second' }, { name: 'durable' }] });
});

test.each([
  ['an McpServer', () => new McpServer(introduction)],
  ['a low-level Server', () => new Server(introduction)],
])('attaching to %s twice is the same as once', async (_, make) => {
  const tasks = await tasksForTest();
  const client = await clientOf(tasks, () => {
    const server = make();
    tasks.attach(server);
    tasks.attach(server);
    return server;
  });
  expect(await namesOf(client)).toEqual(['durable']);
  await durableWorks(client);
});

const tooLate =
  'This server already answers tools/call. Attach tasks to it before its first tool is registered, and do not declare capabilities.tools in its constructor.';

test('attaching after a tool was registered is refused, with what to do instead', async () => {
  const tasks = await tasksForTest();
  const mcp = new McpServer(introduction);
  mcp.registerTool('plain', {}, async () => ({ content: [] }));
  expect(() => tasks.attach(mcp)).toThrow(withCode('ATTACHED_TOO_LATE'));
  expect(() => tasks.attach(mcp)).toThrow(tooLate);
});

test('attaching to an McpServer whose constructor declares tools is refused', async () => {
  const tasks = await tasksForTest();
  const mcp = new McpServer(introduction, { capabilities: { tools: {} } });
  expect(() => tasks.attach(mcp)).toThrow(tooLate);
});

test('attaching to a low-level Server that already answers tools/call is refused', async () => {
  const tasks = await tasksForTest();
  const server = new Server(introduction, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/call', () => ({ content: [] }));
  expect(() => tasks.attach(server)).toThrow(tooLate);
});

test('attaching to a low-level Server that already answers tools/list is refused: its tools would vanish', async () => {
  const tasks = await tasksForTest();
  const server = new Server(introduction, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools: [plainTool] }));
  expect(() => tasks.attach(server)).toThrow(withCode('ATTACHED_TOO_LATE'));
});

test('attaching a second set of tasks to the same server is refused', async () => {
  const [tasks, others] = [await tasksForTest(), await tasksForTest()];
  const mcp = new McpServer(introduction);
  tasks.attach(mcp);
  expect(() => others.attach(mcp)).toThrow(withCode('ATTACHED_TOO_LATE'));
});

test('a plain tool beside durable ones may have the name of none of them', async () => {
  const tasks = await tasksForTest();
  const mcp = new McpServer(introduction);
  tasks.attach(mcp);
  expect(() => mcp.registerTool('durable', {}, async () => ({ content: [] }))).toThrow(/durable/);
});
