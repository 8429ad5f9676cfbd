/** Peers that do not know what they want, and peers that know it too well. */
import { expect, test } from 'vitest';
import { related, relatedTask, serving, sessionOn, taskKey, tokens } from './requestor.ts';

const call = { name: 'big', arguments: { bytes: 1 } };

test.each([
  ['a durable tool', call],
  ['a tool that is not durable', { name: 'greet', arguments: { name: 'Ada' } }],
])('a call of %s that asks for a task in both ways is refused, and makes none', async (_, params) => {
  const { requestor } = await serving({ tokens });
  const { error } = await requestor.augment('tools/call', { ...params, task: {} }, { taskId: 'one' }).reply;
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('but not with both') });
  expect(await requestor.listAll()).toEqual([]);
});

test('a resource that is asked for as a task in both ways is refused, too', async () => {
  const { requestor } = await serving();
  const params = { uri: 'report://x', task: {} };
  const { error } = await requestor.augment('resources/read', params, { taskId: 'one' }).reply;
  expect(error).toMatchObject({ code: -32602 });
});

test.each([
  ['missing', {}],
  ['a number', { taskId: 7 }],
  ['null', { taskId: null }],
  ['a list', { taskId: ['one'] }],
  ['empty', { taskId: '' }],
  ['too long', { taskId: 'x'.repeat(513) }],
  ['a megabyte', { taskId: 'x'.repeat(1_000_000) }],
])('S1686-19: a wish whose taskId is %s is refused, and makes no task', async (_, wish) => {
  const { requestor } = await serving({ tokens });
  const exchange = requestor.augment('tools/call', call, wish);
  const { error } = await exchange.reply;
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('"taskId"') });
  expect(error.message.length).toBeLessThan(1_000);
  expect(exchange.messages).toHaveLength(1);
  expect(await requestor.listAll()).toEqual([]);
});

test.each([null, 'one', 7, true, [], ['one']])('a wish that is %j is refused', async (wish) => {
  const { requestor } = await serving();
  expect((await requestor.augment('tools/call', call, wish).reply).error.code).toBe(-32602);
});

test.each([
  'x'.repeat(512),
  ' ',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  "'; drop table tasks; --",
  '\u0000',
  '\ud800',
  '潮汐 🌊',
  'a\nb',
  '["owner","session","name"]',
])('a name may be whatever its requestor likes: %j', async (taskId) => {
  const { requestor } = await serving({ tokens });
  const { result } = await requestor.begin(taskId, 'big', { bytes: 1 }).reply;
  expect(result._meta).toEqual(related(taskId));
  expect((await requestor.get(taskId)).result.taskId).toBe(taskId);
  expect((await requestor.listAll()).map((task) => task.taskId)).toEqual([taskId]);
  expect((await requestor.begin(taskId, 'big', { bytes: 1 }).reply).error.code).toBe(-32602);
});

test('names that differ in anything are different names', async () => {
  const { requestor } = await serving({ tokens });
  const names = ['a', 'A', 'a ', ' a', 'á', 'a\u0301', '"a"', '\ud800', '\ud801'];
  for (const name of names)
    expect((await requestor.begin(name, 'big', { bytes: 1 }).reply).error).toBe(undefined);
  expect((await requestor.listAll()).length).toBe(names.length);
});

test('unknown members of a wish are passed over', async () => {
  const { requestor } = await serving();
  const wish = { taskId: 'one', keepAlive: 60_000, ttl: 1, status: 'completed', owner: 'bob' };
  await requestor
    .augment('tools/call', { name: 'nap', arguments: { ms: 60_000 } }, wish)
    .next('notifications/tasks/created');
  expect((await requestor.get('one')).result).toMatchObject({ status: 'working', keepAlive: 60_000 });
});

test('the metadata of a look never leads to another task than its taskId', async () => {
  const { requestor } = await serving();
  await requestor.begin('done', 'big', { bytes: 1 }).reply;
  await requestor.start('alive', 'nap', { ms: 60_000 });
  const { result } = await requestor.request('tasks/get', { taskId: 'done', _meta: related('alive') });
  expect(result).toMatchObject({ taskId: 'done', status: 'completed', _meta: related('done') });
});

test('a name that is the id of a task of another owner leads to the task that was named, and never to theirs', async () => {
  const { requestor, url, peer } = await serving({ tokens });
  const bob = await sessionOn(url, { token: 'token-of-bob' });
  const theirs = await peer.start('ask_name');
  await requestor.begin('one', 'big', { bytes: 7 }).reply;
  const ids = [theirs, (await peer.request('tasks/list')).result.tasks[0].taskId];
  for (const id of ids) {
    expect((await bob.get(id)).error.code).toBe(-32602);
    expect((await bob.begin(id, 'big', { bytes: 1 }).reply).result.content[0].text).toBe('x');
    expect((await bob.result(id)).result.content[0].text).toBe('x');
    await bob.delete(id);
    expect((await bob.get(id)).error.code).toBe(-32602);
  }
  expect((await peer.get(theirs)).result.status).toBe('input_required');
  expect((await requestor.result('one')).result.content[0].text).toBe('xxxxxxx');
});

test('S1686-20 S1686-22: a name that is the id of a task that its requestor can see already is taken', async () => {
  const { requestor, peer } = await serving({ tokens });
  const mine = await peer.start('nap', { ms: 60_000 });
  const { error } = await requestor.begin(mine, 'big', { bytes: 1 }).reply;
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(mine) });
  expect((await requestor.listAll()).map(({ taskId }) => taskId)).toEqual([mine]);
});

test('a name that is the id of a task in another session of the same owner stands for a task of its own', async () => {
  const { requestor, url, peer } = await serving({ tokens });
  const other = await sessionOn(url, { token: 'token-of-ada' });
  await requestor.start('one', 'nap', { ms: 60_000 });
  const [{ taskId }] = (await peer.request('tasks/list')).result.tasks;
  await other.begin(taskId, 'big', { bytes: 1 }).reply;
  expect((await other.get(taskId)).result.status).toBe('completed');
  await other.delete(taskId);
  expect((await requestor.get('one')).result.status).toBe('working');
});

test('an owner and a session that together read like others are not taken for them', async () => {
  const { requestor, url, peer } = await serving({ tokens });
  await requestor.start('one', 'nap', { ms: 60_000 });
  const bob = await sessionOn(url, { token: 'token-of-bob' });
  for (const name of [`${peer.sessionId}one`, `owner:ada${peer.sessionId}one`, `","${peer.sessionId}","one`])
    expect((await bob.get(name)).error.code).toBe(-32602);
});

test('in a session of 2025-11-25 what carries no metadata is understood as that revision', async () => {
  const { requestor, peer } = await serving({ tokens });
  await requestor.begin('one', 'big', { bytes: 1 }).reply;
  expect((await peer.get('one')).error.code).toBe(-32602);
  const { taskId } = (await peer.request('tasks/list')).result.tasks[0];
  expect((await peer.get(taskId)).result).toMatchObject({ taskId, ttl: expect.any(Number) });
});

test('tasks/cancel is no method of the proposal', async () => {
  const { requestor } = await serving();
  await requestor.start('one', 'nap', { ms: 60_000 });
  const { error } = await requestor.request('tasks/cancel', { taskId: 'one', _meta: related('one') });
  expect(error.code).toBe(-32601);
  expect((await requestor.get('one')).result.status).toBe('working');
});

test('in a session of 2025-06-18 every method about tasks is the proposal’s, with or without metadata', async () => {
  const { url } = await serving({ tokens });
  const requestor = await sessionOn(url, { token: 'token-of-ada', protocolVersion: '2025-06-18' });
  await requestor.begin('one', 'big', { bytes: 1 }).reply;
  const look = (method: string) => requestor.request(method, { taskId: 'one' });
  expect((await look('tasks/get')).result).toMatchObject({ taskId: 'one', keepAlive: 86_400_000 });
  expect((await look('tasks/result')).result.content[0].text).toBe('x');
  expect((await look('tasks/cancel')).error.code).toBe(-32601);
  expect((await look('tasks/delete')).result).toEqual({ _meta: related('one') });
});

test('in a session of 2025-06-18 the way of 2025-11-25 to ask for a task is passed over', async () => {
  const { url } = await serving({ tokens });
  const requestor = await sessionOn(url, { token: 'token-of-ada', protocolVersion: '2025-06-18' });
  const { result } = await requestor.request('tools/call', { ...call, task: {} });
  expect(result).toEqual({ content: [{ type: 'text', text: 'x' }] });
  expect(await requestor.listAll()).toEqual([]);
});

test.each(['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel', 'tasks/delete'])(
  'with the draft off, %s does not exist in a session of 2025-06-18',
  async (method) => {
    const { url } = await serving({ drafts: [], tokens });
    const requestor = await sessionOn(url, { token: 'token-of-ada', protocolVersion: '2025-06-18' });
    const { error } = await requestor.request(method, { taskId: 'one', _meta: related('one') });
    expect(error.code).toBe(-32601);
  },
);

test('the metadata on a notification, on a ping and on what nobody knows does no harm', async () => {
  const { requestor } = await serving({ tokens });
  const _meta = { [taskKey]: { taskId: 'one' }, [relatedTask]: { taskId: 'one' } };
  await requestor.wire.post({ method: 'notifications/initialized', params: { _meta } });
  expect((await requestor.request('ping', { _meta })).result).toEqual({});
  expect((await requestor.request('no/such', { _meta })).error.code).toBe(-32601);
  expect(await requestor.listAll()).toEqual([]);
});
