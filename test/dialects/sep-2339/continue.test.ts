/** SEP-2339: the whole conversation about a task by one method, over HTTP and on a pipe. */
import { GetTaskResultV1Schema } from '@modelcontextprotocol/ext-tasks/core/v1';
import { serveHttp } from 'holdfast/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixtureFactory, fixtureTasks, storeFrom } from '../../fixture/server.ts';
import { fixtureOnStdio } from '../../serving/server-process.ts';
import { flagging, opened } from '../drafts/peer.ts';
import type { Message } from '../revision-2025-11-25/peer.ts';
import { accept, type Carrier, type Continuing, continuing, draft } from './peer.ts';

interface Way {
  readonly carrier: Carrier;
  /** What the server said without being asked. */
  readonly unasked: readonly Message[];
  close(): Promise<void>;
}

async function overHttp(): Promise<Way> {
  const tasks = fixtureTasks({ store: storeFrom('memory:'), drafts: 'all', minRetention: '1s' });
  await tasks.work({ concurrency: 32, grace: '100ms' });
  const server = await serveHttp(tasks, fixtureFactory(tasks), { port: 0, grace: '1s', stopOn: [] });
  const peer = await opened(server.url, [draft]);
  const unasked: Message[] = [];
  const abort = new AbortController();
  const listening = (async () => {
    for await (const message of peer.standalone(abort.signal)) unasked.push(message);
  })().catch(() => {});
  // The streams of requests count too.
  const request = async (method: string, params?: object) => {
    const { message, before } = await peer.send(method, params);
    unasked.push(...before);
    return message;
  };
  const close = async () => {
    abort.abort();
    await listening;
    await server.stop();
  };
  return { carrier: { request }, unasked, close };
}

async function onPipes(): Promise<Way> {
  const server = fixtureOnStdio(['--drafts']);
  const peer = await server.client.open(flagging(draft));
  return {
    carrier: peer,
    get unasked() {
      return peer.unasked;
    },
    close: () => server[Symbol.asyncDispose](),
  };
}

const ways: [string, () => Promise<Way>][] = [
  ['over HTTP', overHttp],
  ['on a pipe', onPipes],
];

const flat = ['createdAt', 'lastUpdatedAt', 'pollInterval', 'status', 'taskId', 'ttl'];

describe.each(ways)('%s', (_, open) => {
  let way: Way;
  let peer: Continuing;
  beforeAll(async () => {
    way = await open();
    peer = continuing(way.carrier);
  });
  afterAll(() => way.close());

  test('S2339-01 S2339-02: one method leads through the whole life of a task', async () => {
    const taskId = await peer.start('ask_name');
    const story: string[] = [];
    let { result } = await peer.continue(taskId);
    while (result.status !== 'completed') {
      const asked: Message | undefined = result.inputRequests;
      story.push(asked ? `asked for ${Object.keys(asked)}` : result.status);
      ({ result } = await peer.continue(taskId, asked && { name: accept({ name: 'Ada' }) }));
    }
    expect(new Set(story)).toEqual(new Set(['working', 'asked for name']));
    expect(result.result.content[0].text).toBe('Hello, Ada!');
    // What it shows of a task is what tasks/get shows.
    expect(result).toEqual(await peer.get(taskId));
  });

  test('S2339-10: of a task that works it shows the flat task, and does not wait', async () => {
    const taskId = await peer.start('nap', { ms: 3_600_000 });
    const { result } = await peer.continue(taskId);
    expect(GetTaskResultV1Schema.safeParse(result).error).toBe(undefined);
    expect(result).toMatchObject({ taskId, status: 'working' });
    expect(Object.keys(result).sort()).toEqual(flat);
  });

  test('S2339-11 S2339-13 S2339-23: of a task that asks it shows the questions by their keys, and nothing else', async () => {
    const taskId = await peer.start('multi_input');
    const question = (key: string) => ({
      method: 'elicitation/create',
      params: {
        mode: 'form',
        message: `Confirm ${key}?`,
        requestedSchema: {
          type: 'object',
          properties: { confirm: { type: 'boolean' } },
          required: ['confirm'],
        },
      },
    });
    expect(await peer.questions(taskId)).toEqual({
      inputRequests: { first: question('first'), second: question('second') },
    });
  });

  test('S2339-07 S2339-12 S2339-16: meanwhile tasks/get says input_required, as often as it is asked, without the questions', async () => {
    const taskId = await peer.start('ask_name');
    for (let n = 0; n < 5; n++) {
      await peer.questions(taskId);
      const task = await peer.get(taskId);
      expect(task.status).toBe('input_required');
      expect(Object.keys(task).sort()).toEqual(flat);
    }
  });

  test('S2339-17: repeated without answers it shows the very same questions', async () => {
    const taskId = await peer.start('multi_input');
    const first = JSON.stringify(await peer.questions(taskId));
    for (let n = 0; n < 5; n++) expect(JSON.stringify((await peer.continue(taskId)).result)).toBe(first);
    await peer.continue(taskId, {});
    expect(JSON.stringify((await peer.continue(taskId)).result)).toBe(first);
  });

  test('S2339-13 S2339-18: one of two answers leaves the other question open, as it was', async () => {
    const taskId = await peer.start('multi_input');
    const { inputRequests } = await peer.questions(taskId);
    const { result } = await peer.continue(taskId, { second: accept({ confirm: true }) });
    expect(result.status).toBe('input_required');
    expect(Object.keys(result).sort()).toEqual(flat);
    expect((await peer.continue(taskId)).result).toEqual({ inputRequests: { first: inputRequests.first } });
    // What is answered is over: another answer to it changes nothing.
    await peer.continue(taskId, { second: accept({ confirm: false }), first: accept({ confirm: true }) });
    const { text } = (await peer.end(taskId)).result.content[0];
    expect(JSON.parse(text)).toEqual([accept({ confirm: true }), accept({ confirm: true })]);
  });

  test('S2339-09 S2339-15: the answering call shows the flat task, which is no longer input_required', async () => {
    const taskId = await peer.start('leaf', { label: 'a', delayMs: 0, ask: true });
    await peer.questions(taskId);
    const { result } = await peer.continue(taskId, { confirm: accept({ confirm: true }) });
    expect(result).toMatchObject({ taskId, status: expect.stringMatching(/^(working|completed)$/) });
    expect(result).not.toHaveProperty('inputRequests');
    expect(['working', 'completed']).toContain((await peer.get(taskId)).status);
  });

  test.each([
    ['does not fit its question', { first: accept({ confirm: true }), second: accept({ confirm: 'no' }) }],
    ['is no object', { first: accept({ confirm: true }), second: 'yes' }],
    ['says neither yes nor no', { first: accept({ confirm: true }), second: { action: 'perhaps' } }],
    ['is null', { first: accept({ confirm: true }), second: null }],
  ])('an answer that %s is -32602, and nothing is applied', async (_, answers) => {
    const taskId = await peer.start('multi_input');
    const questions = await peer.questions(taskId);
    const { error } = await peer.continue(taskId, answers);
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('second') });
    expect((await peer.continue(taskId)).result).toEqual(questions);
  });

  test.each([[[]], ['yes'], [7], [null]])('answers that are %j are -32602', async (answers) => {
    const taskId = await peer.start('ask_name');
    await peer.questions(taskId);
    const { error } = await peer.continue(taskId, answers);
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('inputResponses') });
  });

  test('answers to questions that nobody asked are passed over', async () => {
    const taskId = await peer.start('ask_name');
    await peer.questions(taskId);
    const answers = { name: accept({ name: 'Ada' }), nickname: accept({}) };
    expect((await peer.continue(taskId, answers)).error).toBe(undefined);
    expect((await peer.end(taskId)).result.content[0].text).toBe('Hello, Ada!');
    const late = await peer.continue(taskId, { name: accept({ name: 'Bob' }) });
    expect(late.result.result.content[0].text).toBe('Hello, Ada!');
  });

  test.each(['decline', 'cancel'])('S2339-22: %s reaches the tool, which goes on', async (action) => {
    const taskId = await peer.start('confirm_delete', { filename: 'notes.txt' });
    await peer.questions(taskId);
    await peer.continue(taskId, { confirm: { action } });
    expect((await peer.end(taskId)).result.content[0].text).toBe('kept notes.txt');
  });

  test('questions to the model come and are answered in the same way', async () => {
    const taskId = await peer.start('sample', { prompt: 'Say hello' });
    const { inputRequests } = await peer.questions(taskId);
    expect(inputRequests.sample.method).toBe('sampling/createMessage');
    const content = { type: 'text', text: 'hello' };
    await peer.continue(taskId, { sample: { role: 'assistant', model: 'm', content } });
    expect((await peer.end(taskId)).result.content[0].text).toBe('hello');
  });

  test('a subtask asks under the task that the client knows', async () => {
    const taskId = await peer.start('fan_out', { children: 2, depth: 1, delayMs: 0, ask: true });
    await expect
      .poll(async () => Object.keys((await peer.continue(taskId)).result.inputRequests ?? {}))
      .toEqual(['1/confirm', '2/confirm']);
    const yes = accept({ confirm: true });
    await peer.continue(taskId, { '1/confirm': yes, '2/confirm': yes });
    expect((await peer.end(taskId)).result.content[0].text).toBe('parent 1 2');
  });

  test('S2339-03 S2339-19: a completed task carries its result, in tasks/continue and in tasks/get', async () => {
    const taskId = await peer.start('big', { bytes: 3 });
    const task = await peer.end(taskId);
    expect(Object.keys(task).sort()).toEqual([...flat, 'result'].sort());
    expect(task).toMatchObject({ taskId, status: 'completed' });
    expect(task.result).toEqual({ content: [{ type: 'text', text: 'xxx' }] });
    expect(await peer.get(taskId)).toEqual(task);
  });

  test('S2339-03 S2339-04: a task that failed carries its error, and no result', async () => {
    const taskId = await peer.start('protocol_error_job');
    const task = await peer.end(taskId);
    const message = 'The job broke the protocol, as it always does.';
    expect(task).toMatchObject({
      status: 'failed',
      statusMessage: message,
      error: { code: -32603, message },
    });
    expect(task).not.toHaveProperty('result');
    expect(await peer.get(taskId)).toEqual(task);
  });

  test('S2339-04: a tool that reports an error has failed, and its result is there all the same', async () => {
    const taskId = await peer.start('failing_job');
    const task = await peer.end(taskId);
    const text = 'The job failed, as it always does.';
    expect(task).toMatchObject({ status: 'failed', statusMessage: text });
    expect(task.result).toEqual({ content: [{ type: 'text', text }], isError: true });
    expect(task).not.toHaveProperty('error');
  });

  test('S2339-04: a cancelled task says why in its status message, and carries neither', async () => {
    const taskId = await peer.start('ask_name');
    await peer.questions(taskId);
    const { result: cancelled } = await peer.request('tasks/cancel', { taskId });
    expect(cancelled).toMatchObject({ status: 'cancelled', statusMessage: 'The client cancelled it.' });
    expect((await peer.continue(taskId)).result).toEqual(cancelled);
    const late = await peer.continue(taskId, { name: accept({ name: 'Ada' }) });
    expect(late.result).toEqual(cancelled);
    for (const key of ['result', 'error', 'inputRequests']) expect(cancelled).not.toHaveProperty(key);
  });

  test('S2339-05: tasks/result is not there, whatever the task', async () => {
    const [asking, done] = [await peer.start('ask_name'), await peer.start('big', { bytes: 1 })];
    await peer.end(done);
    for (const taskId of [asking, done, 'nobody'])
      expect((await peer.request('tasks/result', { taskId })).error).toMatchObject({
        code: -32601,
        message: 'Method not found',
      });
  });

  test.each([{ taskId: 'nobody' }, { taskId: 7 }, {}])('tasks/continue of %j is -32602', async (params) => {
    expect((await peer.request('tasks/continue', params)).error.code).toBe(-32602);
    const answering = { ...params, inputResponses: { name: accept({}) } };
    expect((await peer.request('tasks/continue', answering)).error.code).toBe(-32602);
  });

  // The last, when every question of the tests above has been open for a while.
  test('S2339-08: nothing is asked on any stream, and what is told names its task', async () => {
    const before = way.unasked.length;
    const _meta = { progressToken: 'mine' };
    const params = { name: 'slow_compute', arguments: { seconds: 0.8 }, task: {}, _meta };
    const { taskId } = (await peer.request('tools/call', params)).result.task;
    await peer.end(taskId);
    await expect
      .poll(() => way.unasked.slice(before).some(({ params }) => params.taskId === taskId))
      .toBe(true);
    const progress = way.unasked.filter(({ params }) => params.progressToken === 'mine');
    expect(progress.length).toBeGreaterThan(0);
    for (const { params } of progress)
      expect(params._meta['io.modelcontextprotocol/related-task']).toEqual({ taskId });
    const methods = new Set(way.unasked.map(({ method }) => method));
    expect([...methods].sort()).toEqual(['notifications/progress', 'notifications/tasks/status']);
  });

  test('S2339-03: status notifications carry the outcome', () => {
    const told = way.unasked.filter(({ method }) => method === 'notifications/tasks/status');
    const ends = (status: string) => told.filter(({ params }) => params.status === status);
    expect(ends('completed').length).toBeGreaterThan(3);
    for (const { params } of ends('completed')) expect(params.result.content).toHaveLength(1);
    expect(ends('failed').map(({ params }) => 'result' in params || 'error' in params)).toEqual([true, true]);
    for (const { params } of ends('input_required')) expect(params).not.toHaveProperty('inputRequests');
    expect(ends('input_required').length).toBeGreaterThan(3);
  });
});
