/** Who is listed the four tools, and what becomes of the promises of the others. */
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { McpServer, Server } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { createTasks, durableTool } from '../../src/index.ts';
import { McpHandler } from '../../src/server.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { withCode } from '../kit/with-code.ts';
import { rawMessage } from '../serving/raw-client.ts';
import { idIn, Stage } from './stage.ts';

const anything = durableTool('anything', {}, async () => 'anything');

const four = ['task_wait', 'task_status', 'task_answer', 'task_cancel'];

interface Listed {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: { readonly required?: readonly string[] };
  readonly outputSchema?: object;
  readonly annotations?: object;
  readonly execution?: object;
}

async function listed(stage: Stage, options: { tasks?: boolean } = {}): Promise<Listed[]> {
  const { result } = await stage.raw(options).open('tools/list', {}).reply;
  return result.tools as Listed[];
}

const namesOf = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name);

test('on 2026-07-28 the four tools are listed to clients that do not declare the extension, and to no others', async () => {
  const stage = await Stage.open();
  expect(namesOf(await listed(stage))).toEqual(expect.arrayContaining(four));
  const others = namesOf(await listed(stage, { tasks: true }));
  expect(others).toEqual(expect.arrayContaining(['report', 'held_never']));
  for (const name of four) expect(others).not.toContain(name);
});

test('on 2025-11-25, where nobody says it, they are listed to all', async () => {
  const stage = await Stage.open();
  const { tools } = await (await stage.older()).listTools();
  expect(namesOf(tools)).toEqual(expect.arrayContaining(four));
});

test('… unless they are turned off there: then such clients wait for the ordinary result', async () => {
  const stage = await Stage.open({ attach: { plainClients: { earlierRevisions: false } } });
  const older = await stage.older();
  const { tools } = await older.listTools();
  for (const name of four) expect(namesOf(tools)).not.toContain(name);
  expect(tools.find(({ name }) => name === 'report')).toHaveProperty('outputSchema');
  expect(namesOf(await listed(stage))).toEqual(expect.arrayContaining(four));

  const reply = older.callTool({ name: 'held_auto', arguments: { word: 'tide' } });
  const { promise: parked, resolve } = Promise.withResolvers<string>();
  await stage.tasks.subscribe(({ taskId, events }) => {
    if (events.some(({ type }) => type === 'parked')) resolve(taskId);
  });
  const id = await parked;
  stage.clock.advance(46_000);
  await stage.release(id);
  expect(await reply).toMatchObject({ structuredContent: { word: 'tide' } });
});

test('if plain clients are to wait, nothing of it is listed', async () => {
  const stage = await Stage.open({ attach: { plainClients: 'wait' } });
  for (const name of four) expect(namesOf(await listed(stage))).not.toContain(name);
});

test.each([
  ['none that may become a task', [durableTool('quick', { task: 'never' }, async () => 'quick')]],
  ['none but such as need tasks', [durableTool('needy', { task: 'required' }, async () => 'needy')]],
])('a server with %s has nothing to hand over, and lists none of them', async (_, tools) => {
  const stage = await Stage.open({ tools });
  for (const name of four) expect(namesOf(await listed(stage))).not.toContain(name);
});

test('each says what it needs and whether it changes anything', async () => {
  const stage = await Stage.open();
  const tools = new Map((await listed(stage)).map((tool) => [tool.name, tool]));
  for (const name of four) expect(tools.get(name)!.description!.length).toBeGreaterThan(80);
  expect(four.map((name) => tools.get(name)!.inputSchema.required)).toEqual([
    ['taskId'],
    ['taskId'],
    ['taskId', 'answers'],
    ['taskId'],
  ]);
  expect(four.map((name) => tools.get(name)!.annotations)).toMatchObject([
    { readOnlyHint: true },
    { readOnlyHint: true },
    { readOnlyHint: false, destructiveHint: false },
    { readOnlyHint: false, destructiveHint: true },
  ]);
});

test('a tool that may be handed over promises no output schema to plain clients, and keeps it for all others', async () => {
  const stage = await Stage.open();
  const promising = (tools: readonly Listed[]) => namesOf(tools.filter(({ outputSchema }) => outputSchema));
  expect(promising(await listed(stage))).toEqual(['held_never', 'held_required']);
  expect(promising(await listed(stage, { tasks: true }))).toContain('report');
});

test('strict clients of both revisions take the answer of a hand-over from a tool with an output schema', async () => {
  const stage = await Stage.open();
  for (const client of [await stage.older(), await stage.later()]) {
    await client.listTools();
    const call = client.callTool({ name: 'held_auto', arguments: { word: 'tide' } });
    expect(idIn(await stage.passing(call as Promise<object>))).toEqual(expect.any(String));
  }
});

test('S2025-17: a tool that needs tasks is listed as such', async () => {
  const stage = await Stage.open();
  const { tools } = await (await stage.older()).listTools();
  const required = tools.find(({ name }) => name === 'held_required');
  expect(required?.execution?.taskSupport).toBe('required');
  expect(required).toHaveProperty('outputSchema');
});

test('… unless its author lets plain clients call it, and the list of 2025-11-25 says so', async () => {
  const stage = await Stage.open({ attach: { plainClients: { required: true } } });
  const { tools } = await (await stage.older()).listTools();
  const support = new Map(tools.map(({ name, execution }) => [name, execution?.taskSupport]));
  expect(support.get('held_required')).toBe('optional');
  expect(support.get('held_never')).toBe('forbidden');
  expect(support.get('task_wait')).toBe('forbidden');
});

test('the prefix of their names can be chosen, and what is told to be called next bears it', async () => {
  const stage = await Stage.open({ attach: { plainClients: { prefix: 'job.', required: true } } });
  const names = namesOf(await listed(stage));
  expect(names).toEqual(expect.arrayContaining(['job.wait', 'job.status', 'job.answer', 'job.cancel']));
  const { result } = await stage.raw().call('held_required', { word: 'tide' });
  expect(result.structuredContent).toMatchObject({ next: { tool: 'job.wait' } });
  expect((await stage.raw().call('task_wait', { taskId: idIn(result) })).error).toMatchObject({
    code: -32602,
  });
});

test('a durable tool of the same name is refused when tasks are attached, with what to do instead', async () => {
  const own = durableTool('task_wait', {}, async () => 'own');
  const tasks = createTasks({ store: await openSqlite('memory:'), tools: [own] });
  const mcp = new McpServer({ name: 'taken', version: '1' });
  expect(() => tasks.attach(mcp)).toThrow(withCode('TOOL_NAME_TAKEN'));
  tasks.attach(mcp, { plainClients: { prefix: 'work_' } });
  await tasks.close();
});

test('a plain tool of the same name is refused when it is registered', async () => {
  const tasks = createTasks({ store: await openSqlite('memory:'), tools: [anything] });
  const mcp = new McpServer({ name: 'taken', version: '1' });
  tasks.attach(mcp);
  const register = () => mcp.registerTool('task_wait', {}, async () => ({ content: [] }));
  expect(register).toThrow(withCode('TOOL_NAME_TAKEN'));
  await tasks.close();
});

test.each(['handover', true, null])('plainClients: %j is refused', async (plainClients) => {
  const tasks = createTasks({ store: await openSqlite('memory:'), tools: [] });
  const mcp = new McpServer({ name: 'wrong', version: '1' });
  expect(() => tasks.attach(mcp, { plainClients: plainClients as never })).toThrow(
    withCode('INVALID_PLAIN_CLIENTS'),
  );
  await tasks.close();
});

test('a prefix that makes no name of a tool is refused', async () => {
  const tasks = createTasks({ store: await openSqlite('memory:'), tools: [] });
  const mcp = new McpServer({ name: 'wrong', version: '1' });
  expect(() => tasks.attach(mcp, { plainClients: { prefix: 'my task ' } })).toThrow(withCode('INVALID_TOOL'));
  await tasks.close();
});

test('where nothing is handed over, an own tool may have any name', async () => {
  const tasks = createTasks({ store: await openSqlite('memory:'), tools: [] });
  const mcp = new McpServer({ name: 'free', version: '1' });
  tasks.attach(mcp);
  mcp.registerTool('task_wait', {}, async () => ({ content: [] }));
  await tasks.close();
});

test('a low-level Server that lists a tool of the same name is told so, instead of hiding it', async () => {
  const tasks = createTasks({ store: await openSqlite('memory:'), tools: [anything] });
  const server = new Server({ name: 'bare', version: '1' });
  tasks.attach(server);
  server.setRequestHandler('tools/list', () => ({
    tools: [{ name: 'task_wait', inputSchema: { type: 'object' as const } }],
  }));
  const client = new Client({ name: 'plain', version: '1' });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(far), client.connect(near)]);
  await expect(client.listTools()).rejects.toThrow('The tool name "task_wait" is taken');
  await client.close();
  await tasks.close();
});

test('on a low-level Server they follow its own tools, and work', async () => {
  const tasks = createTasks({ store: await openSqlite('memory:'), tools: [anything] });
  const handler = new McpHandler(tasks, () => {
    const server = new Server({ name: 'bare', version: '1' });
    tasks.attach(server);
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'own', inputSchema: { type: 'object' as const } }],
    }));
    return server;
  });
  const send = async (method: string, params: { name?: string }, options: { tasks: boolean }) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(params.name !== undefined && { 'mcp-name': params.name }),
    };
    const body = JSON.stringify(rawMessage(method, params, options));
    const sent = new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body });
    return ((await (await handler.fetch(sent)).json()) as { result: { tools: Listed[] } }).result;
  };
  expect(namesOf((await send('tools/list', {}, { tasks: false })).tools)).toEqual([
    'own',
    'anything',
    ...four,
  ]);
  expect(namesOf((await send('tools/list', {}, { tasks: true })).tools)).toEqual(['own', 'anything']);
  expect(await send('tools/call', { name: 'task_status' }, { tasks: false })).toMatchObject({
    isError: true,
  });
  await handler.close();
  await tasks.close();
});
