import { durableTool } from 'holdfast';
import { describe, expect, test } from 'vitest';
import { Peer } from '../revision-2025-11-25/peer.ts';
import { Peer as Later, withoutTasks, withTasks } from '../revision-2026-07-28/peer.ts';
import { created, related, relatedTask, serving, sessionOn, taskKey } from './requestor.ts';

const text = (words: string) => ({ content: [{ type: 'text', text: words }] });

test.each(['2025-11-25', '2025-06-18'])(
  'S1686-05: a server that takes such requests declares tasks when a session of %s is opened',
  async (protocolVersion) => {
    const { url } = await serving();
    const { capabilities } = await new Peer(url, { protocolVersion }).open();
    expect(capabilities.tasks.requests.tools.call).toEqual({});
  },
);

test('S1686-13 S1686-14 S1686-46: the requestor is told of its task with its name and nothing else', async () => {
  const { requestor } = await serving();
  const exchange = await requestor.start('one', 'nap', { ms: 60_000 });
  expect(exchange.messages).toEqual([
    { jsonrpc: '2.0', method: created, params: { _meta: { [relatedTask]: { taskId: 'one' } } } },
  ]);
});

test('S1686-15: whoever has been told of a task finds it, however soon it asks', async () => {
  const { requestor } = await serving();
  const looks = Array.from({ length: 30 }, async (_, n) => {
    await requestor.start(`task ${n}`, 'nap', { ms: 60_000 });
    return requestor.get(`task ${n}`);
  });
  for (const { error } of await Promise.all(looks)) expect(error).toBe(undefined);
});

test('S1686-12 S1686-46: the request itself is answered with the ordinary result, which names the task', async () => {
  const { requestor } = await serving();
  const { reply } = requestor.begin('one', 'slow_compute', { seconds: 0.1 });
  expect((await reply).result).toEqual({ ...text('done'), _meta: related('one') });
});

test('S1686-12: a request that fails is answered with its ordinary error', async () => {
  const { requestor } = await serving();
  const { error } = await requestor.begin('one', 'protocol_error_job').reply;
  expect(error).toEqual({ code: -32603, message: 'The job broke the protocol, as it always does.' });
});

test('S1686-97: a request gives the same with and without the metadata', async () => {
  const { requestor } = await serving();
  for (const [name, input] of [
    ['big', { bytes: 5 }],
    ['throws', {}],
    ['nap', { ms: 'no number' }],
  ] as const) {
    const plain = await requestor.request('tools/call', { name, arguments: input });
    const { _meta, ...result } = (await requestor.begin(name, name, input).reply).result;
    expect(result).toEqual(plain.result);
  }
});

test('a call whose arguments do not fit makes no task, so that its name is still free', async () => {
  const { requestor } = await serving();
  const refused = requestor.begin('one', 'nap', { ms: 'no number' });
  expect((await refused.reply).result.isError).toBe(true);
  expect(refused.messages).toHaveLength(1);
  expect((await requestor.get('one')).error.code).toBe(-32602);
  expect((await requestor.begin('one', 'nap', { ms: 1 }).reply).result).toMatchObject(text('woke'));
});

test('S1686-21 S1686-22 S1686-70: a name that was used is refused with a message that has it', async () => {
  const { requestor } = await serving();
  await requestor.start('the first', 'nap', { ms: 60_000 });
  const { error } = await requestor.begin('the first', 'nap', { ms: 1 }).reply;
  expect(error).toMatchObject({
    code: -32602,
    message: expect.stringContaining('Task ID already exists: the first'),
  });
});

test('S1686-22: a name stays taken after the end of its task, whatever asks for it', async () => {
  const { requestor } = await serving();
  await requestor.begin('one', 'big', { bytes: 1 }).reply;
  const letter = { name: 'letter', arguments: { to: 'Bob' } };
  for (const { reply } of [
    requestor.begin('one', 'big', { bytes: 1 }),
    requestor.begin('one', 'nap', { ms: 1 }),
    requestor.augment('prompts/get', letter, { taskId: 'one' }),
  ])
    expect((await reply).error.code).toBe(-32602);
});

test('S1686-20 S1686-22: of many requests with one name, sent at once, one makes a task and the others are refused', async () => {
  const { requestor, tasks } = await serving({ works: false });
  const made: string[] = [];
  await tasks.subscribe(({ taskId }) => made.push(taskId));
  const all = Array.from({ length: 20 }, () => requestor.begin('one', 'nap', { ms: 1 }));
  const refused = await Promise.all(
    all.map(({ reply, next }, n) => Promise.race([reply, next.call(all[n], created)])),
  );
  expect(refused.filter(({ error }) => error?.code === -32602)).toHaveLength(19);
  expect(refused.filter(({ method }) => method === created)).toHaveLength(1);
  expect(new Set(made).size).toBe(1);
});

test('S1686-20: the same name in two sessions stands for two tasks', async () => {
  const { requestor, url, tasks } = await serving();
  const other = await sessionOn(url);
  const made = new Set<string>();
  await tasks.subscribe(({ taskId }) => made.add(taskId));
  await requestor.start('one', 'ask_name');
  expect((await other.begin('one', 'big', { bytes: 2 }).reply).result).toMatchObject(text('xx'));
  expect(made.size).toBe(2);
  expect((await requestor.get('one')).result.status).toBe('input_required');
  expect((await other.get('one')).result.status).toBe('completed');
});

test('S1686-19: names are strings in every message, also those that look like numbers', async () => {
  const { requestor } = await serving({ tokens: { secret: 'ada' } });
  const exchange = requestor.begin('42', 'big', { bytes: 1 });
  await exchange.reply;
  const [told, reply] = exchange.messages;
  const [listed] = await requestor.listAll();
  const looked = await requestor.get('42');
  const result = await requestor.result('42');
  const ids = [told!.params, reply!.result, looked.result, result.result].map(
    ({ _meta }) => _meta[relatedTask].taskId,
  );
  expect([...ids, looked.result.taskId, listed!.taskId]).toEqual(Array(6).fill('42'));
});

test('a tool that asks before there is a task is told of it after the answers', async () => {
  const { requestor } = await serving();
  const exchange = requestor.begin('one', 'test_tool_with_task');
  const question = await exchange.next('elicitation/create');
  expect((await requestor.get('one')).error.code).toBe(-32602);
  await requestor.answer(question.id, { action: 'accept', content: { name: 'Ada' } });
  expect((await exchange.reply).result).toEqual({ ...text('Hello, Ada!'), _meta: related('one') });
  expect(exchange.messages.map(({ method }) => method)).toEqual(['elicitation/create', created, undefined]);
});

test('a tool that must be called as a task can be called so', async () => {
  const { requestor } = await serving();
  expect((await requestor.begin('one', 'failing_job').reply).result.isError).toBe(true);
  expect((await requestor.request('tools/call', { name: 'failing_job' })).error.code).toBe(-32601);
});

describe('requests that cannot be tasks', () => {
  const never = durableTool('never', { description: 'Never a task.', task: 'never' }, async () => 'at once');

  test('S1686-03 S1686-07 S1686-16 S1686-17 S1686-18 S1686-98: a tool that is not durable is called as if the metadata were not there, beside others that take it', async () => {
    const { requestor } = await serving();
    const exchange = requestor.begin('one', 'greet', { name: 'Ada' });
    expect((await exchange.reply).result).toEqual(text('Hello, Ada!'));
    expect(exchange.messages).toHaveLength(1);
    expect((await requestor.get('one')).error.code).toBe(-32602);
    expect((await requestor.begin('one', 'big', { bytes: 1 }).reply).result._meta).toEqual(related('one'));
  });

  test('S1686-17: so is a durable tool that never becomes a task', async () => {
    const { requestor } = await serving({ more: [never] });
    const exchange = requestor.begin('one', 'never');
    const { result } = await exchange.reply;
    expect(result).toEqual(text('at once'));
    expect(exchange.messages).toHaveLength(1);
    expect((await requestor.get('one')).error.code).toBe(-32602);
  });

  test('S1686-17: the metadata is passed over even if nothing in it makes sense', async () => {
    const { requestor } = await serving({ more: [never] });
    const call = { name: 'never', arguments: {} };
    for (const wish of [null, {}, { taskId: 7 }, 'a task'])
      expect((await requestor.augment('tools/call', call, wish).reply).result).toEqual(text('at once'));
  });

  test.each([
    ['tools/list', {}, 'tools'],
    ['resources/templates/list', {}, 'resourceTemplates'],
    ['prompts/list', {}, 'prompts'],
  ])('S1686-07 S1686-17: %s gives its list', async (method, params, key) => {
    const { requestor } = await serving();
    const exchange = requestor.augment(method, params, { taskId: 'one' });
    expect((await exchange.reply).result[key].length).toBeGreaterThan(0);
    expect(exchange.messages).toHaveLength(1);
  });

  test('S1686-03: a request that carries no metadata makes no task that could be seen', async () => {
    const { requestor } = await serving({ tokens: { secret: 'ada' } });
    await requestor.request('tools/call', { name: 'big', arguments: { bytes: 1 } });
    expect(await requestor.listAll()).toEqual([]);
  });
});

describe('with the draft off', () => {
  test.each(['2025-11-25', '2025-06-18'])(
    'S1686-06 S1686-16 S1686-17: in a session of %s the metadata is passed over, and tasks/get says that there is no such task',
    async (protocolVersion) => {
      const { url } = await serving({ drafts: [] });
      const requestor = await sessionOn(url, { protocolVersion });
      const exchange = requestor.begin('one', 'big', { bytes: 1 });
      expect((await exchange.reply).result).toEqual(text('x'));
      expect(exchange.messages).toHaveLength(1);
      const { error } = await requestor.get('one');
      expect(error.code).toBe(protocolVersion === '2025-11-25' ? -32602 : -32601);
    },
  );

  test('metadata that makes no sense is passed over as well', async () => {
    const { requestor } = await serving({ drafts: [] });
    const call = { name: 'big', arguments: { bytes: 1 } };
    expect((await requestor.augment('tools/call', call, null).reply).result).toEqual(text('x'));
  });

  test('both ways to ask for a task at once are the one way that there is', async () => {
    const { requestor } = await serving({ drafts: [] });
    const params = { name: 'big', arguments: { bytes: 1 }, task: {} };
    const { result } = await requestor.augment('tools/call', params, { taskId: 'one' }).reply;
    expect(result.task.status).toBe('working');
  });

  test.each(['2025-11-25', '2025-06-18'])(
    'tasks/delete does not exist in a session of %s',
    async (protocolVersion) => {
      const { url } = await serving({ drafts: [] });
      const requestor = await sessionOn(url, { protocolVersion });
      expect((await requestor.delete('one')).error.code).toBe(-32601);
    },
  );

  test('the other drafts do not bring it along', async () => {
    const { requestor } = await serving({ drafts: ['sep-2229', 'sep-2268', 'sep-2339'] });
    const exchange = requestor.begin('one', 'big', { bytes: 1 });
    expect((await exchange.reply).result).not.toHaveProperty('_meta');
    expect((await requestor.delete('one')).error.code).toBe(-32601);
  });
});

test('a later request is not led astray by the metadata', async () => {
  const { url } = await serving();
  const later = new Later(url, withTasks);
  const _meta = { [taskKey]: { taskId: 'one' } };
  const { result } = await later.call('nap', { ms: 1 }, { _meta });
  expect(result).toMatchObject({ resultType: 'task', taskId: expect.stringMatching(/^[a-z2-7]{32}$/) });
  expect((await later.get('one')).error.code).toBe(-32602);
  const looked = await later.request('tasks/get', { taskId: result.taskId, _meta: related('one') });
  expect(looked.result).toMatchObject({ resultType: 'complete', taskId: result.taskId });
  expect((await later.request('tasks/delete', { taskId: result.taskId })).error.code).toBe(-32601);
  const plain = await new Later(url, withoutTasks).call('big', { bytes: 1 }, { task: {}, _meta });
  expect(plain.result).toMatchObject({ resultType: 'complete', ...text('x') });
});
