/** How long a call by a client without tasks is kept open, what it is told then, and what it gets in the end. */
import type { Client } from '@modelcontextprotocol/client';
import type { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test } from 'vitest';
import { createTasks, durablePrompt, durableResource } from '../../src/index.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { ManualClock } from '../../src/testing.ts';
import { attached } from '../kit/attached.ts';
import { serve, servedOnPipe } from '../kit/serve.ts';
import { textOf } from '../kit/text.ts';
import { headersOf, type Message } from '../kit/wire.ts';
import { callParams, rawMessage } from '../serving/raw-client.ts';
import { answeringOf, idIn, isHandedOver, Stage } from './stage.ts';
import { handOverTools } from './tools.ts';

const made = async (stage: Stage) => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const stop = await stage.tasks.subscribe(({ taskId, events }) => {
    if (events.some(({ type }) => type === 'parked')) resolve(taskId);
  });
  return promise.finally(stop);
};

test('a call that ends within the window is answered with its result, and leaves nothing behind', async () => {
  const stage = await Stage.open();
  const waiting = made(stage);
  const reply = stage.raw().call('held_auto', { word: 'tide' });
  const id = await waiting;
  stage.clock.advance(24_999);
  await stage.release(id);
  const { result } = await reply;
  expect(result.structuredContent).toEqual({ word: 'tide' });
  expect(isHandedOver(result)).toBe(false);
  await expect.poll(() => stage.tasks.get(id)).toBeUndefined();
});

test('after 25 s it is handed over: the answer names the task, its status, and what to call next', async () => {
  const stage = await Stage.open();
  const waiting = made(stage);
  const reply = stage.raw().call('reporting');
  const id = await waiting;
  stage.clock.advance(25_000);
  const { result } = await reply;
  expect(result).toMatchObject({ resultType: 'complete' });
  expect(result).not.toHaveProperty('isError');
  expect(result.structuredContent).toEqual({
    taskId: id,
    tool: 'reporting',
    status: 'working',
    progress: { done: 1, total: 2, message: 'Half of it' },
    createdAt: '2026-07-28T00:00:00.000Z',
    next: { tool: 'task_wait', arguments: { taskId: id } },
  });
  expect(textOf(result).split('\n')).toEqual([
    'The tool is still running. It continues in the background as a task.',
    `Task ${id} (reporting): working.`,
    'Progress: 1 of 2, Half of it',
    `Next: call task_wait with {"taskId":"${id}"} to get the result.`,
    'Do not call the original tool again: that would start the work a second time.',
    `If the user no longer wants the result, call task_cancel with {"taskId":"${id}"}.`,
  ]);
});

test('the window is what the author says', async () => {
  const stage = await Stage.open({ attach: { plainClients: { window: '5s' } } });
  const waiting = made(stage);
  const reply = stage.raw().call('held_auto', { word: 'tide' });
  const id = await waiting;
  stage.clock.advance(5_000);
  expect(idIn((await reply).result)).toBe(id);
});

test('the window is longer where progress flows: 50 s, or what the author says', async () => {
  for (const [attach, windowMs] of [
    [{}, 50_000],
    [{ plainClients: { windowWithProgress: '30s' } }, 30_000],
  ] as const) {
    const stage = await Stage.open({ attach });
    const waiting = made(stage);
    const reply = stage.raw().call('held_auto', { word: 'tide' }, { meta: { progressToken: 1 } });
    const id = await waiting;
    stage.clock.advance(windowMs - 1);
    expect(await stage.tasks.get(id)).toHaveProperty('unpublished');
    stage.clock.advance(1);
    expect(idIn((await reply).result)).toBe(id);
  }
});

test('the window counts from the arrival of the call, whatever kept it from beginning', async () => {
  const clock = new ManualClock();
  const store = await openSqlite('memory:', { clock });
  const tasks = createTasks({ store, clock, tools: handOverTools });
  await tasks.work({ grace: '50ms' });
  const { promise: isReady, resolve: ready } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const { url } = await serve(tasks, { grace: '50ms' }, async () => {
    arrive();
    await isReady;
    return attached(tasks)();
  });
  const stage = new Stage(tasks, clock, url);
  const waiting = made(stage);
  const reply = stage.raw().call('held_auto', { word: 'tide' });
  await arrived;
  clock.advance(20_000);
  ready();
  const id = await waiting;
  clock.advance(4_999);
  expect(await tasks.get(id)).toHaveProperty('unpublished');
  clock.advance(1);
  expect(idIn((await reply).result)).toBe(id);
});

test('resources and prompts are waited for, as tools with task: "never" are', async () => {
  const tide = durableResource('tide', { uri: 'tide://now' }, async (_, task) => {
    await task.waitForEvent('go');
    return 'high';
  });
  const ask = durablePrompt('ask', {}, async (_, task) => {
    await task.waitForEvent('go');
    return 'How high?';
  });
  const stage = await Stage.open({ resources: [tide], prompts: [ask] });
  for (const [method, params, words] of [
    ['resources/read', { uri: 'tide://now' }, 'high'],
    ['prompts/get', { name: 'ask' }, 'How high?'],
  ] as const) {
    const waiting = made(stage);
    const reply = stage.raw({ headers: { 'mcp-name': Object.values(params)[0] } }).request(method, params);
    const id = await waiting;
    stage.clock.advance(46_000);
    await stage.release(id);
    const { result } = await reply;
    expect(JSON.stringify(result)).toContain(words);
    expect(isHandedOver(result)).toBe(false);
  }
});

test("on the SDK's own handler, too, a task that was handed over outlives its request", async () => {
  const clock = new ManualClock();
  const store = await openSqlite('memory:', { clock });
  const tasks = createTasks({ store, clock, tools: handOverTools });
  await tasks.work({ grace: '50ms' });
  const handler = createMcpHandler(attached(tasks));
  onTestFinished(async () => {
    await handler.close();
    await tasks.close();
  });
  const call = async (name: string, input: object) => {
    const params = callParams(name, input);
    const request = new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: headersOf('tools/call', params),
      body: JSON.stringify(rawMessage('tools/call', params, { tasks: false, capabilities: {} })),
    });
    const authInfo = { token: 'a token', clientId: 'ada', scopes: [] };
    const response = await handler.fetch(request, { authInfo });
    return ((await response.json()) as { result: Message }).result;
  };
  const stage = new Stage(tasks, clock, '');
  const taskId = idIn(await stage.passing(call('held_auto', { word: 'tide' })));
  await expect.poll(() => answeringOf(tasks, taskId)).toBeUndefined();
  expect(await tasks.get(taskId)).toMatchObject({ phase: 'running' });
  await stage.release(taskId);
  expect((await call('task_wait', { taskId })).structuredContent).toEqual({ word: 'tide' });

  // A call that was answered in time is made a second time.
  const again = made(stage);
  const reply = call('held_auto', { word: 'ebb' });
  const answered = await again;
  await stage.release(answered);
  expect((await reply).structuredContent).toEqual({ word: 'ebb' });
  await expect.poll(() => tasks.get(answered)).toBeUndefined();
});

test('if plain clients are to wait, nothing is handed over', async () => {
  const stage = await Stage.open({ attach: { plainClients: 'wait' } });
  const waiting = made(stage);
  const reply = stage.raw().call('held_auto', { word: 'tide' });
  const id = await waiting;
  stage.clock.advance(46_000);
  await stage.release(id);
  expect((await reply).result.structuredContent).toEqual({ word: 'tide' });
});

test.each(['hand-over', 'wait'] as const)('over stdio it is the same: %s', async (plainClients) => {
  const stage = await Stage.open();
  const plain = { tasks: false, capabilities: {} };
  const { client } = servedOnPipe(stage.tasks, attached(stage.tasks, { plainClients }), plain);
  const waiting = made(stage);
  const sent = client.call('held_auto', { word: 'tide' });
  const id = await waiting;
  stage.clock.advance(46_000);
  if (plainClients === 'wait') await stage.release(id);
  const { result } = await client.answerTo(sent);
  expect(isHandedOver(result)).toBe(plainClients === 'hand-over');
});

test('a tool with task: "never" is waited for, whoever calls it', async () => {
  const stage = await Stage.open();
  const waiting = made(stage);
  const reply = stage.raw().call('held_never', { word: 'tide' });
  const id = await waiting;
  stage.clock.advance(46_000);
  await stage.release(id);
  expect((await reply).result.structuredContent).toEqual({ word: 'tide' });
});

test('S2663-09: a tool with task: "required" is refused to plain clients', async () => {
  const stage = await Stage.open();
  const { error } = await stage.raw().call('held_required', { word: 'tide' });
  expect(error).toMatchObject({ code: -32021 });
});

test('… unless its author lets them call it: then it is handed over at once', async () => {
  const stage = await Stage.open({ attach: { plainClients: { required: true } } });
  const { result } = await stage.raw().call('held_required', { word: 'tide' });
  expect(await stage.tasks.get(idIn(result))).toMatchObject({ tool: 'held_required' });
  const older = await stage.older();
  await older.listTools();
  expect(isHandedOver(await older.callTool({ name: 'held_required', arguments: { word: 'tide' } }))).toBe(
    true,
  );
});

test('a caller with the extension gets a task in the words of the extension', async () => {
  const stage = await Stage.open();
  const { result } = await stage.raw({ tasks: true }).call('held_always', { word: 'tide' });
  expect(result).toMatchObject({ resultType: 'task', status: 'working' });
});

test('a caller of 2025-11-25 that asks for a task gets one', async () => {
  const stage = await Stage.open();
  const older = await stage.older();
  const params = { name: 'held_auto', arguments: { word: 'tide' }, task: {} };
  const reply = await older.request({ method: 'tools/call', params }, ResultSchema);
  expect(reply).toMatchObject({ task: { status: 'working' } });
});

test('a call that goes away within the window takes its work with it', async () => {
  const stage = await Stage.open();
  const waiting = made(stage);
  const call = stage.raw().openCall('held_auto', { word: 'tide' });
  const id = await waiting;
  call.cut();
  await expect.poll(() => stage.tasks.get(id)).toMatchObject({ outcome: { kind: 'cancelled' } });
});

test.each(['older', 'later'] as const)(
  'a client of the SDK (%s) that gives a call up cancels its work, and one that gives task_wait up cancels nothing',
  async (which) => {
    const stage = await Stage.open();
    const client = await stage[which]();
    const call = (name: string, input: Record<string, unknown>, signal: AbortSignal): Promise<object> =>
      which === 'older'
        ? (client as OlderClient).callTool({ name, arguments: input }, undefined, { signal })
        : (client as Client).callTool({ name, arguments: input }, { signal });
    const never = new AbortController().signal;
    const taskId = idIn(await stage.passing(call('held_auto', { word: 'tide' }, never)));
    const { watchers } = await stage.tasks.requests();
    const waited = new AbortController();
    const wait = call('task_wait', { taskId }, waited.signal);
    await expect.poll(async () => (await stage.tasks.requests()).watchers).toBe(watchers + 1);
    waited.abort();
    await expect(wait).rejects.toThrow();
    await expect.poll(async () => (await stage.tasks.requests()).watchers).toBe(watchers);
    await stage.release(taskId);
    expect(await call('task_wait', { taskId }, never)).toMatchObject({ structuredContent: { word: 'tide' } });

    const waiting = made(stage);
    const given = new AbortController();
    const open = call('held_auto', { word: 'ebb' }, given.signal);
    const id = await waiting;
    given.abort();
    await expect(open).rejects.toThrow();
    await expect.poll(() => stage.tasks.get(id)).toMatchObject({ outcome: { kind: 'cancelled' } });
  },
);

test('a task that was handed over outlives the connection, and any session of its owner reads its result', async () => {
  const stage = await Stage.open();
  const first = await stage.older();
  const handed = await stage.passing(first.callTool({ name: 'held_auto', arguments: { word: 'tide' } }));
  const taskId = idIn(handed);
  await first.close();
  await stage.release(taskId);
  const second = await stage.older();
  const older = await second.callTool({ name: 'task_wait', arguments: { taskId } });
  const later = await (await stage.later()).callTool({ name: 'task_wait', arguments: { taskId } });
  for (const result of [older, later])
    expect(result).toMatchObject({
      content: [{ type: 'text', text: '{"word":"tide"}' }],
      structuredContent: { word: 'tide' },
    });
});

test('task_wait gives a result exactly as the plain call does', async () => {
  const stage = await Stage.open();
  const client = stage.raw();
  const plain = async (tool: string, input: object) => {
    const waiting = made(stage);
    const reply = client.call(tool, input);
    await stage.release(await waiting);
    return reply;
  };
  for (const [tool, input] of [
    ['held_auto', { word: 'tide' }],
    ['throwing', {}],
    ['refusing', {}],
  ] as const) {
    const taskId = await stage.handedOver(client, tool, input);
    await stage.release(taskId);
    const [waited, direct] = [await client.call('task_wait', { taskId }), await plain(tool, input)];
    expect(waited.result).toEqual(direct.result);
    expect(waited.error).toEqual(direct.error);
  }
});

test('an error of the protocol is the same error, and an error result the same error result', async () => {
  const stage = await Stage.open();
  const client = stage.raw();
  const waited = async (tool: string) => {
    const taskId = await stage.handedOver(client, tool);
    await stage.release(taskId);
    return client.call('task_wait', { taskId });
  };
  expect((await waited('throwing')).result).toMatchObject({
    isError: true,
    content: [{ text: 'The disk is full.' }],
  });
  expect((await waited('refusing')).error).toEqual({
    code: -32099,
    message: 'Not on Sundays.',
    data: { day: 'Sunday' },
  });
});

test('task_wait waits for one more window, and for as many as it takes', async () => {
  const stage = await Stage.open();
  const client = stage.raw();
  const taskId = await stage.handedOver(client, 'held_auto', { word: 'tide' });
  for (let times = 0; times < 3; times++) {
    const { result } = await stage.passing(client.call('task_wait', { taskId }));
    expect(result.structuredContent).toMatchObject({
      taskId,
      status: 'working',
      next: { tool: 'task_wait' },
    });
    // Only the first answer says how to stop it.
    expect(textOf(result)).not.toContain('task_cancel');
  }
  const last = client.call('task_wait', { taskId });
  await stage.release(taskId);
  expect((await last).result.structuredContent).toEqual({ word: 'tide' });
});

test('a task_wait that goes away ends nothing', async () => {
  const stage = await Stage.open();
  const client = stage.raw();
  const taskId = await stage.handedOver(client, 'held_auto', { word: 'tide' });
  const { watchers } = await stage.tasks.requests();
  const wait = client.openCall('task_wait', { taskId });
  await expect.poll(async () => (await stage.tasks.requests()).watchers).toBe(watchers + 1);
  wait.cut();
  await expect.poll(async () => (await stage.tasks.requests()).watchers).toBe(watchers);
  await stage.release(taskId);
  expect((await client.call('task_wait', { taskId })).result.structuredContent).toEqual({ word: 'tide' });
});

test('a model that cancels a task too late is told that it had finished, and is not sent for the result', async () => {
  const stage = await Stage.open();
  const client = stage.raw();
  const taskId = await stage.handedOver(client, 'held_auto', { word: 'tide' });
  await stage.release(taskId);
  await client.call('task_wait', { taskId });
  expect(textOf((await client.call('task_cancel', { taskId })).result)).toBe(
    `The task had already finished, so nothing was cancelled. If the user still wants its result, call task_wait with {"taskId":"${taskId}"}.`,
  );
});

test('task_status says at once how a task stands, and task_cancel ends it', async () => {
  const stage = await Stage.open();
  const client = stage.raw();
  const taskId = await stage.handedOver(client, 'reporting');
  const standing = async (tool: string) => (await client.call(tool, { taskId })).result;
  expect((await standing('task_status')).structuredContent).toMatchObject({ status: 'working' });

  const cancelled = await standing('task_cancel');
  expect(cancelled.structuredContent).toMatchObject({ taskId, status: 'cancelled' });
  expect(cancelled.structuredContent).not.toHaveProperty('next');
  expect(await stage.tasks.get(taskId)).toMatchObject({ outcome: { kind: 'cancelled' } });
  expect(await standing('task_wait')).toMatchObject({
    isError: true,
    structuredContent: { status: 'cancelled' },
  });
  // Whoever cancels again learns how it is, and changes nothing.
  expect((await standing('task_cancel')).structuredContent).toMatchObject({ status: 'cancelled' });
});

test('a task that is done stays done: task_cancel says so, and task_status where its result is', async () => {
  const stage = await Stage.open();
  const client = stage.raw();
  const taskId = await stage.handedOver(client, 'held_auto', { word: 'tide' });
  await stage.release(taskId);
  await client.call('task_wait', { taskId });
  for (const tool of ['task_cancel', 'task_status']) {
    const { result } = await client.call(tool, { taskId });
    expect(result.structuredContent).toMatchObject({ status: 'completed', next: { tool: 'task_wait' } });
  }
  expect((await client.call('task_wait', { taskId })).result.structuredContent).toEqual({ word: 'tide' });
});
