import { CreateTaskResultV2Schema, GetTaskResultV2Schema } from '@modelcontextprotocol/ext-tasks/core/v2';
import { expect, test } from 'vitest';
import { extension, Peer, served, withTasks } from './peer.ts';

test('S2663-92 S2663-93: the server advertises the extension, and nothing of the tasks of 2025-11-25', async () => {
  const { peer } = await served();
  const { result } = await peer.request('server/discover');
  expect(result.capabilities.extensions).toEqual({
    [extension]: {},
    'dev.holdfast/idempotency-key': {},
    'dev.holdfast/limits': expect.any(Object),
  });
  expect(result.capabilities).not.toHaveProperty('tasks');
  const { result: list } = await peer.request('tools/list');
  expect(list.tools.every((tool: object) => !('execution' in tool))).toBe(true);
});

test('S2663-25 S2663-26: a task can be read by the time its id arrives', async () => {
  const { peer, tasks } = await served();
  for (let n = 0; n < 50; n++) {
    const { result } = await peer.call('nap', { ms: 60_000 });
    expect(CreateTaskResultV2Schema.safeParse(result).error).toBe(undefined);
    expect((await tasks.get(result.taskId))?.id).toBe(result.taskId);
    expect((await peer.get(result.taskId)).result.status).toBe('working');
  }
});

test('S2663-06: a call is answered with a task only if this very call declares the extension', async () => {
  const { peer, plain } = await served();
  expect((await peer.call('big', { bytes: 3 })).result.resultType).toBe('task');
  expect((await plain.call('big', { bytes: 3 })).result).toMatchObject({
    resultType: 'complete',
    content: [{ type: 'text', text: 'xxx' }],
  });
});

test('S2663-88: tasks of 2025-11-25 among the capabilities do not count', async () => {
  const { url } = await served();
  const legacy = new Peer(url, { tasks: { requests: { tools: { call: {} } } } });
  expect((await legacy.call('big', { bytes: 1 })).result.resultType).toBe('complete');
  expect((await legacy.call('failing_job')).error.code).toBe(-32021);
});

test('S2663-91: a `task` parameter is passed over', async () => {
  const { plain, peer } = await served();
  expect((await plain.call('big', { bytes: 1 }, { task: { ttl: 5 } })).result.resultType).toBe('complete');
  expect((await peer.call('big', { bytes: 1 }, { task: { ttl: 5 } })).result.resultType).toBe('task');
});

test('S2663-09 S2026-02: a tool that needs tasks refuses a client without them, with HTTP 400 and what is missing', async () => {
  const { plain } = await served();
  const { status, error } = await plain.call('failing_job');
  expect(status).toBe(400);
  expect(error).toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { extensions: { [extension]: {} } } },
  });
  expect(error.message).toContain('failing_job');
});

test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
  'S2663-76 S2026-02: %s without the extension is refused, even for a task that exists',
  async (method) => {
    const { peer, plain } = await served();
    const taskId = await peer.start('ask_name');
    const { status, error } = await plain.request(method, { taskId, inputResponses: {} });
    expect(status).toBe(400);
    expect(error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [extension]: {} } } },
    });
  },
);

test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
  'S2663-54 S2663-60 S2663-73 S2663-74 S2663-77: %s of an unknown task is -32602, and the message names it',
  async (method) => {
    const { peer } = await served();
    const { error } = await peer.request(method, { taskId: 'nobody', inputResponses: {} });
    expect(error.code).toBe(-32602);
    expect(error.message).toContain('nobody');
  },
);

test.each(['tasks/result', 'tasks/list'])('S2663-90: %s is gone', async (method) => {
  const { peer } = await served();
  expect((await peer.request(method, { taskId: 'any' })).error.code).toBe(-32601);
});

test('S2663-13 S2663-52 S2663-57 S2663-59 S2026-11: only the call that makes a task says "task"; every other result is complete', async () => {
  const { peer } = await served();
  const taskId = await peer.start('ask_name');
  await peer.until(taskId, 'input_required');
  const replies = [
    await peer.get(taskId),
    await peer.request('tasks/update', { taskId, inputResponses: {} }),
    await peer.request('tasks/cancel', { taskId }),
    await peer.get(taskId),
    await peer.request('tools/list'),
    await peer.request('server/discover'),
  ];
  expect(replies.map(({ result }) => result.resultType)).toEqual(Array(6).fill('complete'));
  const [, update, cancel] = replies;
  for (const { result } of [update!, cancel!])
    expect(Object.keys(result).filter((key) => key !== '_meta')).toEqual(['resultType']);
});

test('S2663-39: looking at a task changes nothing', async () => {
  const { peer, tasks } = await served();
  const taskId = await peer.start('ask_name');
  await peer.until(taskId, 'input_required');
  // Its worker leaves it a little later.
  await expect.poll(() => tasks.get(taskId)).not.toHaveProperty('worker');
  const before = await tasks.get(taskId);
  const looks = [await peer.get(taskId), await peer.get(taskId), await peer.get(taskId)];
  for (const { result } of looks) expect(result).toEqual(looks[0]!.result);
  expect(await tasks.get(taskId)).toEqual(before);
});

test('every status is shown in the official form', async () => {
  const { peer } = await served();
  const statuses = {
    nap: ['working', { ms: 60_000 }],
    ask_name: ['input_required', {}],
    big: ['completed', { bytes: 1 }],
    failing_job: ['completed', {}],
    protocol_error_job: ['failed', {}],
  } as const;
  for (const [tool, [status, input]] of Object.entries(statuses)) {
    const shown = await peer.until(await peer.start(tool, input), status);
    expect(GetTaskResultV2Schema.safeParse(shown).error).toBe(undefined);
  }
});

test('S2663-62: cancelling a task that is done is acknowledged and changes nothing', async () => {
  const { peer } = await served();
  const taskId = await peer.start('big', { bytes: 1 });
  const before = await peer.until(taskId, 'completed');
  expect((await peer.request('tasks/cancel', { taskId })).result.resultType).toBe('complete');
  expect((await peer.get(taskId)).result).toEqual(before);
});

test('S2663-84: what a task completes with is exactly what the plain call gives', async () => {
  const { peer, plain } = await served();
  const { _meta, ...direct } = (await plain.call('big', { bytes: 5 })).result;
  const task = await peer.until(await peer.start('big', { bytes: 5 }), 'completed');
  expect(task.result).toEqual(direct);
});

test('S2663-75: when the store fails the client hears of an internal error, and of nothing inside', async () => {
  const { peer, tasks } = await served();
  const taskId = await peer.start('nap', { ms: 60_000 });
  await tasks.close();
  const { error } = await peer.get(taskId);
  expect(error.code).toBe(-32603);
  expect(error.message).not.toMatch(/memory|sqlite|closed/i);
});

test('S2663-96: no two ids are alike, and each has at least 128 bits of chance', async () => {
  const { peer } = await served();
  const ids = await Promise.all(Array.from({ length: 200 }, () => peer.start('big', { bytes: 1 })));
  expect(new Set(ids).size).toBe(200);
  for (const id of ids) expect(id).toMatch(/^[a-z2-7]{26,}$/); // The last 26 characters of base32 carry 130 bits.
  const columns = Array.from({ length: ids[0]!.length }, (_, i) => new Set(ids.map((id) => id[i])).size);
  expect(Math.min(...columns.slice(-26))).toBeGreaterThan(16);
});

test('S2026-03: a revision that the server does not know is refused with those that it knows', async () => {
  const { url } = await served();
  const version = '2031-01-01';
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'mcp-protocol-version': version,
      'mcp-method': 'server/discover',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'server/discover',
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': version,
          'io.modelcontextprotocol/clientInfo': { name: 'a', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': withTasks,
        },
      },
    }),
  });
  const { error } = (await response.json()) as { error: { code: number; data: { supported: string[] } } };
  expect(response.status).toBe(400);
  expect(error.code).toBe(-32022);
  expect(error.data.supported).toContain('2026-07-28');
});

test('an idempotency key gives the same task for the same call, and refuses another', async () => {
  const { peer } = await served();
  const _meta = { 'dev.holdfast/idempotency-key': '0123456789abcdef0123456789abcdef' };
  const [one, two] = await Promise.all([
    peer.call('nap', { ms: 60_000 }, { _meta }),
    peer.call('nap', { ms: 60_000 }, { _meta }),
  ]);
  expect(two.result.taskId).toBe(one.result.taskId);
  const { error } = await peer.call('nap', { ms: 1 }, { _meta });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('other arguments') });
});

test('an anonymous caller cannot use a key that others could guess', async () => {
  const { peer } = await served();
  const { error } = await peer.call('nap', { ms: 1 }, { _meta: { 'dev.holdfast/idempotency-key': '42' } });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('128 random bits') });
});

test('S2663-87: in a session of 2025-11-25 the extension enables nothing', async () => {
  const { url } = await served();
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  };
  let session = {};
  const send = async (message: object) => {
    const body = JSON.stringify(message);
    const response = await fetch(url, { method: 'POST', headers: { ...headers, ...session }, body });
    session = { 'mcp-session-id': response.headers.get('mcp-session-id') };
    const text = await response.text();
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
  };
  const { result: opened } = await send({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      clientInfo: { name: 'old', version: '1' },
      capabilities: withTasks,
    },
  });
  expect(opened.protocolVersion).toBe('2025-11-25');
  const params = { name: 'big', arguments: { bytes: 2 } };
  const { result } = await send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
  expect(result).toEqual({ content: [{ type: 'text', text: 'xx' }] });
});
