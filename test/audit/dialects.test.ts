/** What the log says of the life of a task, whichever dialect its requestor speaks. */
import { McpServer } from '@modelcontextprotocol/server';
import { type AuditEntry, createTasks, durableTool } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { expect, test } from 'vitest';
import { Peer, served } from '../dialects/revision-2025-11-25/peer.ts';
import { newest, Requestor } from '../dialects/sep-1686/requestor.ts';
import { storeFrom } from '../fixture/server.ts';
import { accept, RawClient } from '../serving/raw-client.ts';
import { logOf, story } from './log.ts';

const tokens = { 'token-of-ada': 'ada', 'token-of-bob': 'bob' };
const options = { tokens, audit: true, drafts: 'all' } as const;

async function serving() {
  const { url, tasks, peer } = await served(options);
  return { url, tasks, peer, ada: new RawClient(url, { token: 'token-of-ada' }) };
}

/** The parts that say who it was. */
const who = ({ owner, dialect, session }: AuditEntry) => ({ owner, dialect, session });
const hash = expect.stringMatching(/^[0-9a-f]{16}$/);

test('2026-07-28: a task is created, answered, ended and read, and each entry names its owner', async () => {
  const begun = Date.now();
  const { tasks, ada } = await serving();
  const { taskId } = (await ada.call('ask_name')).result;
  await ada.until(taskId, 'input_required');
  await ada.update(taskId, { name: accept({ name: 'Ada' }) });
  await ada.until(taskId, 'completed');
  const log = await logOf(tasks, { taskId });
  expect(story(log)).toEqual([
    'created by caller',
    'answered by caller',
    'ended by engine',
    'result-read by caller',
  ]);
  for (const entry of log) {
    expect(entry).toMatchObject({ owner: 'owner:ada', tool: 'ask_name', dialect: '2026-07-28' });
    expect(entry.at).toBeGreaterThanOrEqual(begun);
  }
  expect(log[1]).toMatchObject({ details: { keys: ['name'] } });
  expect(log[2]).toMatchObject({ details: { outcome: 'result' } });
  // What was asked, answered and returned is nobody's business here.
  expect(JSON.stringify(log)).not.toContain('Ada');
});

test('S2025-109 S2025-110: in 2025-11-25 creation, completion and retrieval are logged with owner and session', async () => {
  const { tasks, peer } = await serving();
  const taskId = await peer.start('slow_compute', { seconds: 0 });
  await peer.until(taskId, 'completed');
  // There a look shows no result: only tasks/result gives it.
  expect(story(await logOf(tasks, { taskId }))).toEqual(['created by caller', 'ended by engine']);
  await peer.request('tasks/result', { taskId });
  const log = await logOf(tasks, { taskId });
  expect(story(log)).toEqual(['created by caller', 'ended by engine', 'result-read by caller']);
  const [created, ended, read] = log.map(who);
  expect(created).toEqual({ owner: 'owner:ada', dialect: '2025-11-25', session: hash });
  expect(read).toEqual(created);
  expect(ended).toEqual({ owner: 'owner:ada', dialect: '2025-11-25' });
  // An id of a session may be all that it takes to enter it.
  expect(JSON.stringify(log)).not.toContain(peer.sessionId);
});

test('2025-11-25: a tasks/result that waited is one reading, and an answer to what was pushed is one too', async () => {
  const { tasks, peer } = await serving();
  const taskId = await peer.start('ask_name');
  for await (const message of peer.result(taskId))
    if (message.method === 'elicitation/create') await peer.answer(message.id, accept({ name: 'Ada' }));
  const log = await logOf(tasks, { taskId });
  expect(story(log)).toEqual([
    'created by caller',
    'answered by caller',
    'ended by engine',
    'result-read by caller',
  ]);
  expect(who(log[1]!)).toEqual({ owner: 'owner:ada', dialect: '2025-11-25', session: hash });
});

test('S1686-84 S1686-85: in SEP-1686 creation, completion, retrieval and deletion are logged with owner and session', async () => {
  const { tasks, peer } = await serving();
  const requestor = new Requestor(peer);
  const exchange = await requestor.start('mine', 'slow_compute', { seconds: 0 });
  const taskId = await newest(tasks, 'owner:ada');
  // The ordinary answer is one reading, tasks/result another; within a minute they are one entry and a count.
  await exchange.reply;
  await requestor.until('mine', 'completed');
  await requestor.result('mine');
  await requestor.delete('mine');
  const log = await logOf(tasks, { taskId });
  expect(story(log).slice(0, 2)).toEqual(['created by caller', 'ended by engine']);
  // Readings are written when some have been gathered, or after a while.
  expect(story(log).slice(2).sort()).toEqual([
    'deleted by caller',
    'result-read by caller',
    'result-read by caller',
  ]);
  for (const entry of log.filter(({ by }) => by === 'caller'))
    expect(who(entry)).toEqual({ owner: 'owner:ada', dialect: 'sep-1686', session: hash });
  expect(log.find(({ action }) => action === 'deleted')).toMatchObject({ details: { tasks: 1 } });
});

test('a task that is deleted while it runs is cancelled and deleted, by whom the log says', async () => {
  const { tasks, peer } = await serving();
  const requestor = new Requestor(peer);
  await requestor.start('mine', 'nap', { ms: 60_000 });
  const taskId = await newest(tasks, 'owner:ada');
  await requestor.delete('mine');
  expect(story(await logOf(tasks, { taskId }))).toEqual([
    'created by caller',
    'cancelled by caller',
    'deleted by caller',
  ]);
});

test('a cancellation names its caller and its reason, subtasks included', async () => {
  const { tasks, ada } = await serving();
  const { taskId } = (await ada.call('fan_out', { children: 2, depth: 1, delayMs: 60_000 })).result;
  await expect.poll(async () => (await tasks.get(taskId))?.childCount).toBe(2);
  await ada.cancel(taskId);
  const cancelled = await logOf(tasks, { action: 'cancelled' });
  expect(cancelled).toHaveLength(3);
  for (const entry of cancelled)
    expect(entry).toMatchObject({ owner: 'owner:ada', by: 'caller', reason: 'The client cancelled it.' });
  const [root, child] = await logOf(tasks, { action: 'created' });
  expect(root).toMatchObject({ taskId, by: 'caller' });
  expect(child).toMatchObject({ by: 'engine', tool: 'leaf', details: { parent: taskId, root: taskId } });
});

test('SEP-2339: the outcome inside the task counts as read', async () => {
  const { url, tasks } = await serving();
  const capabilities = { elicitation: {}, experimental: { 'sep-2339': {} } };
  const peer = new Peer(url, { token: 'token-of-ada', capabilities });
  await peer.open();
  const taskId = await peer.start('slow_compute', { seconds: 0 });
  await peer.until(taskId, 'completed');
  expect(story(await logOf(tasks, { taskId, action: 'result-read' }))).toContain('result-read by caller');
});

test('news that has the outcome in it is a reading', async () => {
  const { tasks, ada } = await serving();
  const { taskId } = (await ada.call('nap', { ms: 300 })).result;
  const subscription = await ada.listen([taskId]);
  await subscription.find(({ params }) => params?.status === 'completed');
  subscription.close();
  await expect
    .poll(async () => story(await logOf(tasks, { taskId, action: 'result-read' })))
    .toEqual(['result-read by caller']);
});

test('a call that was answered directly is in the log, though its task is gone', async () => {
  const quick = durableTool('quick', {}, async () => 'done');
  const tasks = createTasks({ store: storeFrom('memory:'), tools: [quick], audit: true });
  const factory = () => {
    const mcp = new McpServer({ name: 'quick', version: '1' });
    tasks.attach(mcp);
    return mcp;
  };
  await tasks.work();
  const server = await serveHttp(tasks, factory, { port: 0, stopOn: [] });
  const { result } = await new RawClient(server.url, { tasks: false }).call('quick');
  expect(result.content[0]!.text).toBe('done');
  const log = await logOf(tasks);
  await server.stop();
  expect(story(log)).toEqual(['created by caller', 'ended by engine', 'result-read by caller']);
});

test('what is done with the tasks in hand, outside the protocol, is the operator’s', async () => {
  const { tasks } = await served({ audit: true });
  const { id } = await tasks.create('ask_name');
  await expect.poll(async () => (await tasks.get(id))?.phase).toBe('waiting');
  await tasks.answer(id, { name: { action: 'decline' } });
  await tasks.outcome(id);
  const nap = await tasks.create('nap', { ms: 60_000 });
  await tasks.sendEvent(nap.id, 'the lights are off');
  await tasks.cancel(nap.id, 'Night falls.');
  expect(story(await logOf(tasks, { taskId: id }))).toEqual([
    'created by operator',
    'answered by operator',
    'ended by engine',
  ]);
  expect(await logOf(tasks, { taskId: nap.id })).toMatchObject([
    { action: 'created', by: 'operator', owner: 'local' },
    { action: 'operator', by: 'operator', details: { completed: 'the lights are off' } },
    { action: 'cancelled', by: 'operator', reason: 'Night falls.' },
  ]);
});

test('without `audit` nothing is written, and the log can be read all the same', async () => {
  const { tasks, peer } = await served();
  await peer.until(await peer.start('slow_compute', { seconds: 0 }), 'completed');
  await peer.get('nobody');
  expect(tasks.recorder).toBeUndefined();
  expect(await logOf(tasks)).toEqual([]);
});
