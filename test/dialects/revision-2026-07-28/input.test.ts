import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer, type ServerOptions } from '@modelcontextprotocol/server';
import { createTasks, durableTool } from 'holdfast';
import { McpHandler } from 'holdfast/server';
import { openSqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { Peer, served, withTasks } from './peer.ts';

const accept = (content: object) => ({ action: 'accept', content });

test('S2663-34: all open questions are shown, and each can be answered by itself', async () => {
  const { peer } = await served();
  const taskId = await peer.start('multi_input');
  const both = await peer.until(taskId, 'input_required');
  expect(Object.keys(both.inputRequests)).toEqual(['first', 'second']);
  await peer.request('tasks/update', { taskId, inputResponses: { second: accept({ confirm: true }) } });
  const one = await peer.get(taskId);
  expect(Object.keys(one.result.inputRequests)).toEqual(['first']);
  await peer.request('tasks/update', { taskId, inputResponses: { first: accept({ confirm: true }) } });
  await peer.until(taskId, 'completed');
});

test('S2663-55: answers to questions that are not open are passed over', async () => {
  const { peer } = await served();
  const taskId = await peer.start('ask_name');
  await peer.until(taskId, 'input_required');
  const answers = { nobodyAsked: accept({}), name: accept({ name: 'Ada' }) };
  expect((await peer.request('tasks/update', { taskId, inputResponses: answers })).error).toBe(undefined);
  const again = { name: accept({ name: 'Bob' }) };
  expect((await peer.request('tasks/update', { taskId, inputResponses: again })).error).toBe(undefined);
  const { result } = await peer.until(taskId, 'completed');
  expect(result.content[0].text).toBe('Hello, Ada!');
});

test('an answer that does not fit is refused with the reason, and the question stays open', async () => {
  const { peer } = await served();
  const taskId = await peer.start('multi_input');
  await peer.until(taskId, 'input_required');
  const inputResponses = { first: accept({ confirm: true }), second: accept({ confirm: 'perhaps' }) };
  const { error } = await peer.request('tasks/update', { taskId, inputResponses });
  expect(error).toMatchObject({
    code: -32602,
    message: expect.stringContaining('"confirm" must be true or false'),
  });
  expect(Object.keys((await peer.get(taskId)).result.inputRequests)).toEqual(['first', 'second']);
});

test('S2663-48 S2663-49 S2663-50: a question that is put again gets a key of its own, for as long as the task lives', async () => {
  const again = durableTool('again', { task: 'always' }, async (_, task) => {
    const schema = z.object({ n: z.number() });
    let asked = 0;
    for (let n = 0; n < 4; n++) {
      const answer = await task.ask('n', { message: 'n?', schema });
      if (answer.action === 'accept') asked += answer.content.n;
    }
    return `sum ${asked}`;
  });
  const peer = await serving([again]);
  const taskId = await peer.start('again');
  const keys: string[] = [];
  for (let n = 1; n <= 4; n++) {
    const { inputRequests } = await peer.until(taskId, 'input_required');
    const open = Object.keys(inputRequests);
    expect(open).toHaveLength(1);
    keys.push(...open);
    await peer.request('tasks/update', {
      taskId,
      inputResponses: Object.fromEntries([...keys].map((key) => [key, accept({ n })])),
    });
  }
  expect(keys).toEqual(['n', 'n~2', 'n~3', 'n~4']);
  // Each answer counted once, for the question that was open when it came.
  expect((await peer.until(taskId, 'completed')).result.content[0].text).toBe('sum 10');
});

test('a question that the client cannot answer throws into the handler, which goes on', async () => {
  const asking = durableTool('asking', { task: 'always' }, async (_, task) => {
    const url = { message: 'Look', url: 'https://example.org' };
    return task.ask('page', url).then(
      () => 'asked',
      (error: Error) => `${error.name}: ${error.message}`,
    );
  });
  const peer = await serving([asking]);
  const { result } = await peer.until(await peer.start('asking'), 'completed');
  expect(result.content[0].text).toMatch(/^CannotBeAsked: .*"page".*elicitation\.url/);
});

test('S2322-16: a handler that finds no other way ends with the capability that was missing', async () => {
  const { url, peer } = await served({ plainClients: 'wait' });
  const mute = new Peer(url, { extensions: withTasks.extensions });
  const failed = await peer.until(await mute.start('ask_name'), 'failed');
  const missing = { code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } };
  expect(failed.error).toMatchObject(missing);
  const { status, error } = await new Peer(url, {}).call('ask_name');
  expect({ status, error }).toMatchObject({ status: 400, error: missing });
});

test('a server may have states of its own, and durable tools keep theirs', async () => {
  const asking = durableTool('asking', { task: 'never' }, async (_, task) => {
    const answer = await task.ask('n', { message: 'n?', schema: z.object({ n: z.number() }) });
    return JSON.stringify(answer);
  });
  const refuse = () => {
    throw new Error('Not a state of the author.');
  };
  const peer = await serving([asking], { requestState: { verify: refuse } });
  const { result } = await peer.call('asking');
  const inputResponses = { n: accept({ n: 7 }) };
  const { result: done } = await peer.call(
    'asking',
    {},
    { requestState: result.requestState, inputResponses },
  );
  expect(done.content[0].text).toContain('7');
});

test('sampling goes through the client', async () => {
  const { peer } = await served();
  const taskId = await peer.start('sample', { prompt: 'Say hello' });
  const { inputRequests } = await peer.until(taskId, 'input_required');
  expect(inputRequests.sample).toMatchObject({ method: 'sampling/createMessage' });
  const sample = { role: 'assistant', model: 'm', content: { type: 'text', text: 'hello' } };
  await peer.request('tasks/update', { taskId, inputResponses: { sample } });
  expect((await peer.until(taskId, 'completed')).result.content[0].text).toBe('hello');
});

test('S2322-10: questions of a task never come as an InputRequiredResult', async () => {
  const { peer } = await served();
  const taskId = await peer.start('ask_name');
  const shown = await peer.until(taskId, 'input_required');
  expect(shown.resultType).toBe('complete');
  expect((await peer.request('tasks/cancel', { taskId })).result.resultType).toBe('complete');
});

test('S2322-05 S2322-08: a plain call that has to ask says so with its questions and a state, and no task', async () => {
  const { plain } = await served();
  const { result } = await plain.call('ask_name');
  expect(result).toMatchObject({
    resultType: 'input_required',
    inputRequests: { name: { method: 'elicitation/create' } },
    requestState: expect.any(String),
  });
  expect(result).not.toHaveProperty('taskId');
});

test('S2322-17 S2322-18: a retry without the answer asks again, and answers to nothing are passed over', async () => {
  const { plain } = await served();
  const { result: first } = await plain.call('ask_name');
  const { requestState } = first;
  const { result: again } = await plain.call('ask_name', {}, { requestState, inputResponses: {} });
  expect(again).toMatchObject({ resultType: 'input_required', inputRequests: { name: {} } });
  const inputResponses = { name: accept({ name: 'Ada' }), other: accept({}) };
  const { result } = await plain.call('ask_name', {}, { requestState: again.requestState, inputResponses });
  expect(result.content[0].text).toBe('Hello, Ada!');
});

test('S2322-14 S2322-15: a state that was changed, or that belongs to another call, is refused', async () => {
  const { plain } = await served();
  const { result } = await plain.call('confirm_delete', { filename: 'a' });
  const { requestState } = result;
  const inputResponses = { confirm: accept({ confirm: true }) };
  const other = requestState.at(-2) === 'A' ? 'B' : 'A';
  const flipped = `${requestState.slice(0, -2)}${other}${requestState.at(-1)}`;
  for (const [filename, state] of [
    ['a', flipped],
    ['a', 'rubbish'],
    ['b', requestState],
  ] as const) {
    const { error } = await plain.call(
      'confirm_delete',
      { filename },
      { requestState: state, inputResponses },
    );
    expect(error).toMatchObject({ code: -32602, data: { reason: 'invalid_request_state' } });
  }
  const { result: done } = await plain.call(
    'confirm_delete',
    { filename: 'a' },
    { requestState, inputResponses },
  );
  expect(done.content[0].text).toBe('deleted a');
});

test('S2663-27: what a tool gathers first it gathers before there is a task', async () => {
  const { peer } = await served();
  const { result: asked } = await peer.call('test_tool_with_task');
  expect(asked).toMatchObject({ resultType: 'input_required', inputRequests: { user_name: {} } });
  const inputResponses = { user_name: accept({ name: 'Ada' }) };
  const { result } = await peer.call(
    'test_tool_with_task',
    {},
    {
      requestState: asked.requestState,
      inputResponses,
    },
  );
  expect(result.resultType).toBe('task');
  expect((await peer.until(result.taskId, 'completed')).result.content[0].text).toBe('Hello, Ada!');
});

test('S2322-16: a tool that has to ask first refuses a client that cannot answer', async () => {
  const { url } = await served();
  const mute = new Peer(url, { extensions: withTasks.extensions });
  const { status, error } = await mute.call('test_tool_with_task');
  expect(status).toBe(400);
  expect(error).toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { elicitation: { form: {} } } },
  });
});

test('a question of a subtask is answered on the root, under the way to it', async () => {
  const { peer } = await served();
  const taskId = await peer.start('fan_out', { children: 2, depth: 2, delayMs: 0, ask: true });
  const open = new Set<string>();
  while (open.size < 4)
    for (const key of Object.keys((await peer.get(taskId)).result.inputRequests ?? {})) open.add(key);
  expect([...open].sort()).toEqual(['1.1/confirm', '1.2/confirm', '2.1/confirm', '2.2/confirm']);
  const yes = accept({ confirm: true });
  const inputResponses = Object.fromEntries([...open].map((key) => [key, yes]));
  await peer.request('tasks/update', { taskId, inputResponses });
  const { result } = await peer.until(taskId, 'completed');
  expect(result.content[0].text).toBe('parent (parent 1.1 1.2) (parent 2.1 2.2)');
});

test('the id of a subtask leads nowhere', async () => {
  const { peer, tasks } = await served();
  const ids = new Set<string>();
  await tasks.subscribe(({ taskId }) => ids.add(taskId));
  const root = await peer.start('fan_out', { children: 1, depth: 1, delayMs: 0, ask: true });
  await peer.until(root, 'input_required');
  for (const id of ids) if (id !== root) expect((await peer.get(id)).error.code).toBe(-32602);
  expect(ids.size).toBe(2);
});

/** A server with these tools alone. */
async function serving(
  tools: Parameters<typeof createTasks>[0]['tools'],
  options: ServerOptions = {},
): Promise<Peer> {
  const tasks = createTasks({ store: () => openSqlite('memory:'), tools });
  await tasks.work({ grace: '100ms' });
  const handler = new McpHandler(tasks, () => {
    const mcp = new McpServer({ name: 'small', version: '1' }, options);
    tasks.attach(mcp);
    return mcp;
  });
  const server = createServer(handler.node);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await handler.close();
    await tasks.close();
  });
  return new Peer(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, withTasks);
}
