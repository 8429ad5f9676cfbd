/** Peers that say things where they mean nothing: they get a clear answer, and never what is not theirs. */
import { createTasks, HoldfastError } from 'holdfast';
import { describe, expect, test } from 'vitest';
import { storeFrom } from '../../fixture/server.ts';
import { extension, subtasks } from '../../kit/wire.ts';
import { withCode } from '../../kit/with-code.ts';
import { type Message, Peer } from '../revision-2025-11-25/peer.ts';
import { Peer as LaterPeer } from '../revision-2026-07-28/peer.ts';
import { flagging, serving } from './peer.ts';

const flags = ['sep-2229', 'sep-2268', 'sep-2339'];
const tree = { children: 1, depth: 1, delayMs: 3_600_000 };

/** A client that opens its session as it is told. */
class Opener extends Peer {
  readonly #opening: { protocolVersion: string };

  constructor(url: string, opening: { protocolVersion: string; capabilities: object }) {
    super(url);
    this.#opening = opening;
  }

  override headers(): Record<string, string> {
    return { ...super.headers(), 'mcp-protocol-version': this.#opening.protocolVersion };
  }

  override async open(): Promise<Message> {
    const clientInfo = { name: 'opener', version: '1' };
    const { message } = await this.send('initialize', { clientInfo, ...this.#opening });
    if (message.result) await this.post({ method: 'notifications/initialized' });
    return message;
  }
}

describe('flags in a session of a revision without tasks', () => {
  const older = async (drafts: Parameters<typeof serving>[0]['drafts']) => {
    const { url, open, tasks } = await serving({ drafts: drafts! });
    const peer = new Opener(url, { protocolVersion: '2025-06-18', capabilities: flagging(...flags) });
    expect((await peer.open()).result.protocolVersion).toBe('2025-06-18');
    return { peer, open, tasks };
  };

  test('switch nothing on: calls have ordinary results, whatever they wish', async () => {
    const { peer } = await older('all');
    for (const more of [{}, { task: {} }, { task: { ttl: 60_000 } }])
      expect((await peer.call('big', { bytes: 2 }, more)).result).toEqual({
        content: [{ type: 'text', text: 'xx' }],
      });
    const { result } = await peer.request('resources/read', { uri: 'report://daily' });
    expect(Object.keys(result)).toEqual(['contents']);
  });

  test('a tool that must be a task is refused, with the revision that could have it', async () => {
    const { peer } = await older('all');
    const { error } = await peer.call('failing_job');
    expect(error).toMatchObject({ code: -32601, message: expect.stringContaining('2025-11-25') });
  });

  test.each(['tasks/continue', 'tasks/update', 'tasks/cancel'])('%s is not there', async (method) => {
    const { peer, open } = await older('all');
    const taskId = await (await open()).start('nap', { ms: 3_600_000 });
    const params = { taskId, inputResponses: {} };
    expect((await peer.request(method, params)).error.code).toBe(-32601);
  });

  test.each(['get', 'result', 'list', 'delete', 'cancel', 'update', 'continue'])(
    'without SEP-1686 tasks/%s is not there',
    async (method) => {
      const { peer, open } = await older(['sep-2229', 'sep-2268', 'sep-2339']);
      const taskId = await (await open()).start('nap', { ms: 3_600_000 });
      expect((await peer.request(`tasks/${method}`, { taskId })).error.code).toBe(-32601);
    },
  );
});

test.each([
  ...[true, 'yes', 1, null, []].map((flag) => ({ 'sep-2229': flag, 'sep-2339': {} })),
  ...[7, 'sep-2339', ['sep-2339'], null],
])('a client that flags with %j opens no session', async (experimental) => {
  const { url } = await serving({ drafts: 'all' });
  const capabilities = { experimental };
  const peer = new Opener(url, { protocolVersion: '2025-11-25', capabilities });
  expect((await peer.open()).error.message).toBeTruthy();
  expect(peer.sessionId).toBe(undefined);
});

test('a flag of a draft that the server has off, and of one that there is not, flags nothing', async () => {
  const { open } = await serving({ drafts: ['sep-2268'] });
  const peer = await open([...flags, 'sep-9999', '__proto__', 'constructor']);
  const taskId = await peer.start('fan_out', tree);
  await expect.poll(async () => (await peer.get(taskId)).result.childTaskIds).toHaveLength(1);
  expect((await peer.request('tasks/continue', { taskId })).error.code).toBe(-32601);
  expect(Object.keys((await peer.call('big', { bytes: 1 })).result)).toEqual(['content']);
});

test.each(['toString', 'constructor', '__proto__', 'hasOwnProperty'])(
  'tasks/%s is no method',
  async (name) => {
    const { open } = await serving({ drafts: 'all' });
    const peer = await open(flags);
    for (const method of [`tasks/${name}`, name])
      expect((await peer.request(method, { taskId: 'x' })).error.code).toBe(-32601);
  },
);

describe('methods of a draft on a session that does not have it', () => {
  test('tasks/continue is not there without its flag, and answers nothing', async () => {
    const { open } = await serving({ drafts: 'all' });
    const peer = await open(['sep-2229', 'sep-2268']);
    const taskId = await peer.start('ask_name');
    await peer.until(taskId, 'input_required');
    const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } };
    for (const params of [{ taskId }, { taskId, inputResponses }])
      expect((await peer.request('tasks/continue', params)).error.code).toBe(-32601);
    expect((await peer.get(taskId)).result.status).toBe('input_required');
  });

  test('tasks/delete is not there with SEP-1686 off, and deletes nothing', async () => {
    const { open } = await serving({ drafts: ['sep-2229', 'sep-2268', 'sep-2339'] });
    const peer = await open(flags);
    const taskId = await peer.start('nap', { ms: 3_600_000 });
    const _meta = { 'modelcontextprotocol.io/related-task': { taskId } };
    expect((await peer.request('tasks/delete', { taskId, _meta })).error.code).toBe(-32601);
    expect((await peer.get(taskId)).result.status).toBe('working');
  });

  test('the metadata of SEP-1686 means nothing with it off', async () => {
    const { open } = await serving({ drafts: ['sep-2229', 'sep-2268', 'sep-2339'] });
    const peer = await open();
    const _meta = { 'modelcontextprotocol.io/task': { taskId: 'mine' } };
    expect((await peer.call('big', { bytes: 1 }, { _meta })).result).not.toHaveProperty('_meta');
    expect((await peer.get('mine')).error.code).toBe(-32602);
  });

  test('a request that asks for a task in two ways is refused', async () => {
    const { open } = await serving({ drafts: 'all' });
    const _meta = { 'modelcontextprotocol.io/task': { taskId: 'mine' } };
    for (const peer of [await open(), await open(flags)])
      expect((await peer.call('nap', { ms: 1 }, { task: {}, _meta })).error.code).toBe(-32602);
  });

  test.each(['tasks/continue', 'tasks/delete', 'tasks/list', 'tasks/result'])(
    '%s is not there on 2026-07-28, whatever is flagged',
    async (method) => {
      const { url } = await serving({ drafts: 'all' });
      const capabilities = { ...flagging(...flags), extensions: { [extension]: {} } };
      const peer = new LaterPeer(url, capabilities);
      const taskId = await peer.start('ask_name');
      await peer.until(taskId, 'input_required');
      const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } };
      const { error } = await peer.request(method, { taskId, inputResponses });
      expect(error.code).toBe(-32601);
      expect((await peer.get(taskId)).result.status).toBe('input_required');
    },
  );
});

test('S2663-87: the key of the extension means nothing in a session, with drafts or without', async () => {
  const { url } = await serving({ drafts: 'all' });
  const extensions = { [extension]: {}, [subtasks]: {} };
  const peer = new Peer(url, { capabilities: { ...flagging(), extensions } });
  await peer.open();
  expect((await peer.call('big', { bytes: 1 })).result).toEqual({ content: [{ type: 'text', text: 'x' }] });
  const taskId = await peer.start('fan_out', tree);
  const { result } = await peer.get(taskId);
  for (const key of ['ttlMs', 'resultType', 'childTaskIds']) expect(result).not.toHaveProperty(key);
  const params = { taskId, inputResponses: {} };
  expect((await peer.request('tasks/update', params)).error.code).toBe(-32601);
});

test('flags mean nothing in a request of 2026-07-28', async () => {
  const { url } = await serving({ drafts: 'all' });
  const plain = new LaterPeer(url, flagging(...flags));
  expect((await plain.call('big', { bytes: 1 })).result).toMatchObject({
    resultType: 'complete',
    content: [{ type: 'text', text: 'x' }],
  });
  const peer = new LaterPeer(url, { ...flagging(...flags), extensions: { [extension]: {} } });
  const taskId = await peer.start('fan_out', { ...tree, ask: true });
  expect((await peer.get(taskId)).result).not.toHaveProperty('childTaskIds');
  const { result } = await peer.call('nap', { ms: 3_600_000 }, { task: { ttl: 1_000 } });
  expect(result).toMatchObject({ resultType: 'task', ttlMs: 90_000_000 });
  const uri = 'report://daily';
  // The name is there for the header, which repeats what is read.
  expect((await peer.request('resources/read', { uri, name: uri })).result.contents).toHaveLength(1);
});

test('the metadata of SEP-1686 means nothing in a request of 2026-07-28', async () => {
  const { url } = await serving({ drafts: 'all' });
  const peer = new LaterPeer(url, { extensions: { [extension]: {} } });
  const _meta = { 'modelcontextprotocol.io/task': { taskId: 'mine' } };
  const { result } = await peer.call('nap', { ms: 3_600_000 }, { _meta });
  expect(result.resultType).toBe('task');
  expect(result.taskId).not.toBe('mine');
});

test('subtasks are shown on 2026-07-28 only if the server has SEP-2268 on', async () => {
  const { url } = await serving({ drafts: ['sep-1686', 'sep-2229', 'sep-2339'] });
  const peer = new LaterPeer(url, { extensions: { [extension]: {}, [subtasks]: {} } });
  const taskId = await peer.start('fan_out', tree);
  expect((await peer.get(taskId)).result).not.toHaveProperty('childTaskIds');
});

test('three drafts at once: an unasked task with subtasks, each of which is continued by itself', async () => {
  const { open } = await serving({ drafts: 'all' });
  const peer = await open(flags);
  const input = { children: 2, depth: 1, delayMs: 0, ask: true };
  const { taskId } = (await peer.call('fan_out', input)).result.task;
  const at = async (id: string) => (await peer.request('tasks/continue', { taskId: id })).result;
  await expect.poll(async () => (await at(taskId)).childTaskIds).toHaveLength(2);
  const { childTaskIds } = await at(taskId);
  for (const child of childTaskIds) {
    await expect.poll(async () => Object.keys((await at(child)).inputRequests ?? {})).toEqual(['confirm']);
    // Its question is its own: the parent works on.
    expect((await at(taskId)).status).toBe('working');
    const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } };
    const { result } = await peer.request('tasks/continue', { taskId: child, inputResponses });
    expect(result).toMatchObject({ taskId: child, parentTaskId: taskId });
  }
  await expect.poll(async () => (await at(taskId)).status).toBe('completed');
  expect((await at(taskId)).result.content[0].text).toBe('parent 1 2');
  expect((await at(childTaskIds[1])).result.content[0].text).toBe('2');
});

test('a subtask cannot be continued by a session that knows no subtasks', async () => {
  const { open } = await serving({ drafts: 'all' });
  const [knowing, other] = [await open(flags), await open(['sep-2339'])];
  const taskId = await knowing.start('fan_out', tree);
  await expect.poll(async () => (await knowing.get(taskId)).result.childTaskIds).toHaveLength(1);
  const [child] = (await knowing.get(taskId)).result.childTaskIds;
  for (const method of ['tasks/continue', 'tasks/get', 'tasks/cancel'])
    expect((await other.request(method, { taskId: child })).error.code).toBe(-32602);
});

test.each([[['sep-9999']], [['sep-1686', '2025-11-25']], ['every']])(
  'a server with drafts %j is refused, with the names that there are',
  (drafts) => {
    const create = () => createTasks({ store: storeFrom('memory:'), drafts: drafts as never });
    expect(create).toThrow(withCode('UNKNOWN_DRAFT'));
    expect(create).toThrow(HoldfastError);
    expect(create).toThrow(withCode('UNKNOWN_DRAFT'));
  },
);
