import { expect, test } from 'vitest';
import { extension, subtasks } from '../../kit/wire.ts';
import type { Message as Heard, RawClient, Subscription } from '../../serving/raw-client.ts';
import { rawMessage } from '../../serving/raw-client.ts';
import { fixtureOnStdio } from '../../serving/server-process.ts';
import type { Message } from '../revision-2025-11-25/peer.ts';
import { ask, join, node, type Plan, start, wait } from './grown-tools.ts';
import { isDone, type Served, served } from './served.ts';

const both = { extensions: { [extension]: {}, [subtasks]: {} }, elicitation: {} };
const accepted = { action: 'accept', content: { ok: true } };

async function plant(client: RawClient, plan: Plan): Promise<string> {
  return (await client.call('grow', { plan })).result.taskId;
}

async function childrenOf(client: RawClient, taskId: string): Promise<string[]> {
  for (;;) {
    const { childTaskIds = [] } = (await client.get(taskId)).result;
    if ((childTaskIds as string[]).length > 0) return childTaskIds as string[];
  }
}

/** A tree in which the child of a child asks, and its ids from the root down. */
async function askingTree(server: Served): Promise<{ client: RawClient; ids: [string, string, string] }> {
  const client = server.later();
  const rootId = await plant(
    client,
    node('a', [start(node('b', [start(node('c', [ask('ok'), wait()])), join(0)])), join(0)]),
  );
  const [child = ''] = await childrenOf(client, rootId);
  const [grandchild = ''] = await childrenOf(client, child);
  await client.until(grandchild, 'input_required');
  return { client, ids: [rootId, child, grandchild] };
}

test('a server with the draft advertises the extension for subtasks, and flags the draft to sessions; one without does neither', async () => {
  for (const [drafts, isThere] of [
    [['sep-2268'], true],
    [[], false],
  ] as const) {
    const { later, url } = await served({ drafts });
    const { result } = await later().open('server/discover', {}).reply;
    const capabilities = result.capabilities as { extensions: object; experimental?: object };
    expect(subtasks in capabilities.extensions).toBe(isThere);
    expect(capabilities.extensions).toHaveProperty([extension]);
    const opened = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: 'Bearer alice',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
      }),
    });
    expect((await opened.text()).includes('sep-2268')).toBe(isThere);
  }
});

test('S2268-01 S2268-31: tasks/get shows each task with its links and its own questions', async () => {
  const {
    client,
    ids: [rootId, child, grandchild],
  } = await askingTree(await served());
  const [root, middle, leaf] = await Promise.all([rootId, child, grandchild].map((id) => client.get(id)));
  expect(root!.result).toMatchObject({ status: 'working', childTaskIds: [child] });
  expect(middle!.result).toMatchObject({
    status: 'working',
    parentTaskId: rootId,
    childTaskIds: [grandchild],
  });
  expect(leaf!.result).toMatchObject({ status: 'input_required', parentTaskId: child });
  expect(Object.keys(leaf!.result.inputRequests)).toEqual(['ok']);
  for (const { result } of [root!, middle!]) expect(result).not.toHaveProperty('inputRequests');
});

test('S2268-08: tasks/update answers the question of a subtask by its id and its own key, and by no other', async () => {
  const server = await served();
  const {
    client,
    ids: [rootId, child, grandchild],
  } = await askingTree(server);
  for (const id of [rootId, child]) {
    expect(await client.update(id, { ok: accepted, '1/ok': accepted, '1.1/ok': accepted })).toMatchObject({
      status: 200,
    });
    expect((await client.get(grandchild)).result.status).toBe('input_required');
  }
  expect(
    (await client.update(grandchild, { ok: { action: 'accept', content: { ok: 'no' } } })).error?.code,
  ).toBe(-32602);
  expect((await client.update(grandchild, { ok: accepted })).error).toBeUndefined();
  expect((await client.get(grandchild)).result.status).toBe('working');
  await server.tasks.sendEvent(grandchild, 'go');
  expect((await client.until(rootId, 'completed')).result).toMatchObject({
    content: [{ text: 'a (b (c accept))' }],
  });
  expect((await client.get(grandchild)).result).toMatchObject({
    parentTaskId: child,
    result: { content: [{ text: 'c accept' }] },
  });
});

test('S2268-28 S2268-30: tasks/cancel ends a subtask with what is below it, and once more is no mistake', async () => {
  const {
    client,
    ids: [rootId, child, grandchild],
  } = await askingTree(await served());
  expect((await client.cancel(child)).result).toEqual(expect.objectContaining({ resultType: 'complete' }));
  for (const id of [child, grandchild]) expect((await client.get(id)).result.status).toBe('cancelled');
  expect((await client.cancel(grandchild)).error).toBeUndefined();
  expect((await client.until(rootId, 'completed')).result).toMatchObject({
    content: [{ text: 'a (nothing)' }],
  });
});

/** What a frame says, without what belongs to the frame. */
function told({ params }: Heard): object {
  const { _meta, ...task } = params!;
  return task;
}

function shown(result: object): object {
  const { _meta, resultType, ...task } = result as Record<string, unknown>;
  return task;
}

async function news(heard: Subscription, taskId: string, status: string): Promise<Heard> {
  return heard.find(({ params }) => params?.taskId === taskId && params.status === status);
}

test('S2268-24: a subscription to a subtask and its root tells of each what tasks/get shows, and of nothing else', async () => {
  const server = await served();
  const {
    client,
    ids: [rootId, child, grandchild],
  } = await askingTree(server);
  const heard = await client.listen([grandchild, rootId]);
  const acknowledged = await heard.next();
  expect(acknowledged?.params?.notifications).toEqual({ taskIds: [grandchild, rootId] });
  for (const [id, status] of [
    [grandchild, 'input_required'],
    [rootId, 'working'],
  ] as const)
    expect(told(await news(heard, id, status))).toEqual(shown((await client.get(id)).result));
  await client.update(grandchild, { ok: accepted });
  expect(told(await news(heard, grandchild, 'working'))).toMatchObject({ parentTaskId: child });
  await server.tasks.sendEvent(grandchild, 'go');
  const others = new Set<unknown>();
  const ends: Heard[] = [];
  while (ends.length < 2) {
    const frame = (await heard.next())!;
    others.add(frame.params!.taskId);
    if (isDone(frame.params!)) ends.push(frame);
  }
  heard.close();
  expect(ends.map(({ params }) => params!.taskId)).toEqual([grandchild, rootId]);
  for (const end of ends) {
    const { ttlMs: _, ...now } = shown((await client.get(end.params!.taskId as string)).result) as {
      ttlMs: number;
    };
    expect(told(end)).toMatchObject(now);
  }
  expect(others).not.toContain(child);
});

test('S2268-04: a subscription to a root tells of every subtask that it gains', async () => {
  const server = await served();
  const client = server.later();
  const leaf = () => start(node('leaf'));
  const rootId = await plant(client, node('a', [wait('one'), leaf(), wait('two'), leaf(), wait('three')]));
  const heard = await client.listen([rootId]);
  const having = (count: number) =>
    heard.find(({ params }) => ((params?.childTaskIds ?? []) as unknown[]).length === count);
  await heard.find(({ params }) => params?.taskId === rootId);
  await server.tasks.sendEvent(rootId, 'one');
  const { params: one } = await having(1);
  await server.tasks.sendEvent(rootId, 'two');
  const { params: two } = await having(2);
  expect((two!.childTaskIds as string[])[0]).toBe((one!.childTaskIds as string[])[0]);
  heard.close();
});

test('the extension for subtasks without the one for tasks opens nothing', async () => {
  const server = await served();
  const { ids } = await askingTree(server);
  const body = (taskId: string) =>
    rawMessage('tasks/get', { taskId }, { tasks: false, capabilities: { extensions: { [subtasks]: {} } } });
  for (const taskId of ids) {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tasks/get',
        'mcp-name': taskId,
        authorization: 'Bearer alice',
      },
      body: JSON.stringify(body(taskId)),
    });
    expect(await response.json()).toMatchObject({ error: { code: -32021 } });
  }
});

test('without the draft on the server the extension is not honoured', async () => {
  const server = await served({ drafts: [] });
  const started = Promise.withResolvers<string>();
  await server.tasks.subscribe(({ events }) => {
    for (const event of events) if (event.type === 'childStarted') started.resolve(event.childId);
  });
  const client = server.later();
  const rootId = await plant(client, node('a', [start(node('b', [ask('ok')])), join(0)]));
  const child = await started.promise;
  const root = await client.until(rootId, 'input_required');
  expect(root).not.toHaveProperty('childTaskIds');
  expect(Object.keys(root.inputRequests)).toEqual(['1/ok']);
  for (const reply of [
    await client.get(child),
    await client.cancel(child),
    await client.update(child, { ok: accepted }),
  ])
    expect(reply.error?.code).toBe(-32602);
  const heard = await client.listen([child, rootId]);
  expect((await heard.next())?.params?.notifications).toEqual({ taskIds: [rootId] });
  heard.close();
});

test('S2268-01 S2268-24: the same over stdio: links, answers, cancellation and news of a subtask', async () => {
  await using server = fixtureOnStdio(['--drafts'], { tasks: false, capabilities: both });
  const pipe = server.client;
  const get = async (taskId: string) => (await pipe.request('tasks/get', { taskId })).result;
  const { result } = await pipe.request('tools/call', {
    name: 'fan_out',
    arguments: { children: 2, depth: 1, delayMs: 0, ask: true },
  });
  const rootId: string = result.taskId;
  let root = await get(rootId);
  while (root.childTaskIds?.length !== 2) root = await get(rootId);
  const [first, second] = root.childTaskIds;
  const id = pipe.send('subscriptions/listen', { notifications: { taskIds: [first, rootId] } });
  const isOf = (taskId: string, status: string) => (message: Message) =>
    message.method === 'notifications/tasks' &&
    message.params?.taskId === taskId &&
    message.params.status === status;
  const asked = await pipe.message(isOf(first, 'input_required'));
  expect(told(asked)).toEqual(shown(await get(first)));
  expect(asked.params).toMatchObject({ parentTaskId: rootId, inputRequests: { confirm: expect.anything() } });
  expect(asked.params._meta['io.modelcontextprotocol/subscriptionId']).toBe(id);
  expect((await get(rootId)).status).toBe('working');
  await pipe.request('tasks/update', {
    taskId: first,
    inputResponses: { confirm: { action: 'accept', content: { confirm: true } } },
  });
  await pipe.message(isOf(first, 'completed'));
  await pipe.request('tasks/cancel', { taskId: second });
  const end = await pipe.message(isOf(rootId, 'completed'));
  expect(told(end)).toEqual(shown(await get(rootId)));
  expect((await get(second)).status).toBe('cancelled');
  expect(pipe.unasked.some(({ params }) => params.taskId === second)).toBe(false);
});

test('over stdio without the draft nothing of a tree shows', async () => {
  await using server = fixtureOnStdio([], { tasks: false, capabilities: both });
  const pipe = server.client;
  const discovered = await pipe.request('server/discover');
  expect(discovered.result.capabilities.extensions).not.toHaveProperty([subtasks]);
  const { result } = await pipe.request('tools/call', {
    name: 'fan_out',
    arguments: { children: 2, depth: 1, delayMs: 0, ask: true },
  });
  let root = result;
  while (Object.keys(root.inputRequests ?? {}).length !== 2)
    root = (await pipe.request('tasks/get', { taskId: result.taskId })).result;
  expect(Object.keys(root.inputRequests)).toEqual(['1/confirm', '2/confirm']);
  expect(root).not.toHaveProperty('childTaskIds');
});
