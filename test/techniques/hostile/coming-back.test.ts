/** Calls of which nobody knows what became of them, and hosts that come back for them. */
import { Client } from '@modelcontextprotocol/client';
import { ConnectionLost, connectTasks, memoryCallRegistry, TaskLost } from 'holdfast/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MalformedAnswer } from '../../../src/remote-tasks/errors.ts';
import { meet, pace } from './meeting.ts';
import { complete, completed, created, done, hangUp, type Says, silence } from './server.ts';

const extensions = { 'io.modelcontextprotocol/tasks': {}, 'dev.holdfast/idempotency-key': {} };
const askedFirst = {
  resultType: 'input_required',
  requestState: 'sealed',
  inputRequests: { name: { method: 'elicitation/create', params: { message: 'Name?' } } },
};

/** Another process of the same host. */
async function anotherHost(url: string, options: object) {
  const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const tasks = await connectTasks(client, url, { pace, reconnectTimeout: '20s', ...options });
  onTestFinished(() => tasks.close());
  return tasks;
}

describe('a call that was sent by a host that is gone', () => {
  async function interrupted(says: Record<string, Says>, capabilities: object) {
    const handles = memoryCallRegistry();
    const first = await meet(
      '2026-07-28',
      { 'tasks/get': () => completed('root'), ...says },
      { registry: handles, capabilities },
    );
    const calling = first.tasks.call('t').catch((error: unknown) => error);
    await expect.poll(() => first.server.count('tools/call')).toBeGreaterThan(0);
    await first.tasks.close();
    await calling;
    return { ...first, handles };
  }

  test('is sent again with its key, if the server knows such keys', async () => {
    const { server, handles } = await interrupted(
      { 'tools/call': ({ before }) => (before === 0 ? silence : created('2026-07-28', 'root')) },
      { extensions },
    );
    const tasks = await anotherHost(server.url, { registry: handles });
    const [handle] = await tasks.resumeAll();
    expect(await handle!.result()).toMatchObject(done);
    const keys = server.asked
      .filter(({ method }) => method === 'tools/call')
      .map(({ params }) => params._meta['dev.holdfast/idempotency-key']);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(await tasks.resumeAll()).toEqual([]);
  });

  test('is lost, if nobody can say whether it was carried out', async () => {
    const { server, handles } = await interrupted({ 'tools/call': () => silence }, {});
    const tasks = await anotherHost(server.url, { registry: handles });
    const [handle] = await tasks.resumeAll();
    await expect(handle!.result()).rejects.toThrow(TaskLost);
    expect(server.count('tools/call')).toBe(1);
  });

  test('does not keep the others from being taken up, if its server does not answer', async () => {
    const { server, handles } = await interrupted({ 'tools/call': () => silence }, { extensions });
    const { id } = handles.list()[0]!;
    handles.save({ ...handles.get(id)!, id: 'other', taskId: 'root', dialect: '2026-07-28' });
    const tasks = await anotherHost(server.url, { registry: handles });
    const resumed = await tasks.resumeAll();
    expect(resumed.map((handle) => handle.id)).toEqual([id, 'other']);
    expect(await resumed[1]!.result()).toMatchObject(done);
  });

  test('does not put its question again, if it was answered before there was a task', async () => {
    const { server, handles, questions } = await interrupted(
      {
        'tools/call': ({ params, before }) =>
          params.inputResponses ? (before < 2 ? silence : complete(done)) : askedFirst,
      },
      { extensions },
    );
    await expect.poll(() => questions).toEqual(['name']);
    const tasks = await anotherHost(server.url, {
      registry: handles,
      answer: () => {
        questions.push('again');
        return { action: 'decline' };
      },
    });
    const [handle] = await tasks.resumeAll();
    expect(await handle!.result()).toMatchObject(done);
    expect(questions).toEqual(['name']);
    expect(server.asked.at(-1)!.params.inputResponses.name.action).toBe('accept');
  });
});

test('a call that met a lost connection keeps its handle', async () => {
  const handles = memoryCallRegistry();
  const { tasks } = await meet('2026-07-28', { 'tools/call': () => hangUp }, { registry: handles });
  await expect(tasks.call('t')).rejects.toThrow(ConnectionLost);
  expect(handles.list({ onlyOpen: true })).toHaveLength(1);
});

test('a call that its server refused keeps none', async () => {
  const handles = memoryCallRegistry();
  const { tasks } = await meet('2026-07-28', { 'tools/call': () => complete({}) }, { registry: handles });
  await expect(tasks.call('t')).rejects.toThrow(MalformedAnswer);
  expect(handles.list()).toEqual([]);
});

test('a call that its host aborts keeps its handle, for it may have been carried out', async () => {
  const handles = memoryCallRegistry();
  const over = new AbortController();
  const { tasks, server } = await meet('2026-07-28', { 'tools/call': () => silence }, { registry: handles });
  const calling = tasks.call('t', {}, { signal: over.signal });
  calling.catch(() => {});
  await expect.poll(() => server.count('tools/call')).toBe(1);
  over.abort(new Error('Enough.'));
  await expect(calling).rejects.toThrow('Enough.');
  expect(handles.list({ onlyOpen: true })).toHaveLength(1);
});

test('a handle in a dialect that nobody knows is not taken up, and the others are', async () => {
  const handles = memoryCallRegistry();
  const { tasks } = await meet('2026-07-28', { 'tasks/get': () => completed('root') }, { registry: handles });
  const handle = await tasks.call('t');
  await handle.result();
  const record = { ...handles.get(handle.id)!, ending: undefined as never, isDelivered: false };
  delete (record as { ending?: unknown }).ending;
  handles.save({ ...record, id: 'strange', dialect: 'sep-9999' });
  handles.save({ ...record, id: 'known' });
  const [strange, known] = await tasks.resumeAll();
  await expect(strange!.result()).rejects.toThrow(TaskLost);
  expect(await known!.result()).toMatchObject(done);
});
