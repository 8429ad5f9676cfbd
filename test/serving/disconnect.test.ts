/** Until its id was sent, a task ends with its request; from then on the connection means nothing to it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Place, standing } from './place.ts';
import { accept, type RawClient } from './raw-client.ts';
import { type HttpProcess, serve, serveOnStdio } from './server-process.ts';

const stopped = ['first', 'second', 'stopped'];

describe('a socket that is destroyed', () => {
  const place = new Place();
  let server: HttpProcess;
  let client: RawClient;
  /** Without the extension. */
  let plain: RawClient;
  beforeAll(async () => {
    server = await serve({ file: place.database, window: '1h' });
    client = server.client();
    plain = server.client({ tasks: false });
  });
  afterAll(() => server.kill());

  /** How the newest tasks of a tool stand. */
  const newest = (tool: string) => standing(place.tasks(tool).slice(-1));

  /** Whatever would run on has had its chance once other work went through the same worker. */
  async function nothingRunsOn(name: string): Promise<void> {
    place.open(name);
    await plain.call('nap', { ...place.work('other'), ms: 50 });
    expect(place.trace(name)).toEqual(stopped);
  }

  test('within the window ends the work: its handler hears of it, and nothing runs on (S2026-04)', async () => {
    const { cut } = client.openCall('work_auto', place.work('window'));
    await expect.poll(() => place.trace('window')).toContain('second');
    cut();
    await expect.poll(() => place.trace('window')).toEqual(stopped);
    expect(newest('work_auto')).toEqual(['cancelled']);
    await nothingRunsOn('window');
  });

  test.each(['auto', 'always', 'never'])(
    'during a plain wait for a tool with task: "%s" ends the work (S2026-04)',
    async (setting) => {
      const { cut } = plain.openCall(`work_${setting}`, place.work(setting));
      await expect.poll(() => place.trace(setting)).toContain('second');
      cut();
      await expect.poll(() => place.trace(setting)).toEqual(stopped);
      expect(newest(`work_${setting}`)).toEqual(['cancelled']);
      await nothingRunsOn(setting);
    },
  );

  test('while the caller is told of progress on a stream ends the work (S2026-04)', async () => {
    const meta = { progressToken: 1 };
    const { cut } = plain.openCall('work_auto', place.work('progress'), { meta });
    await expect.poll(() => place.trace('progress')).toContain('second');
    cut();
    await expect.poll(() => place.trace('progress')).toEqual(stopped);
  });

  test('during a plain wait ends the subtasks too', async () => {
    const { cut } = plain.openCall('parent', place.work('subtasks'));
    await expect.poll(() => place.trace('subtasks')).toContain('second');
    cut();
    await expect.poll(() => place.trace('subtasks')).toEqual(stopped);
    expect([newest('parent'), newest('work_auto')]).toEqual([['cancelled'], ['cancelled']]);
  });

  test('while a retry waits for the work behind a question ends the work', async () => {
    const input = place.work('retry');
    const { requestState } = (await plain.call('ask_beside_work', input)).result;
    const retry = { requestState, inputResponses: { name: accept({ name: 'Ada' }) } };
    const { cut } = plain.openCall('ask_beside_work', input, retry);
    await expect.poll(() => newest('ask_beside_work')).toEqual(['running']);
    cut();
    await expect.poll(() => place.trace('retry')).toEqual(['stopped']);
    expect(newest('ask_beside_work')).toEqual(['cancelled']);
  });

  test('after the id was sent means nothing to the task (S2026-04)', async () => {
    const { reply, cut } = client.openCall('work_always', place.work('published'));
    const { taskId } = (await reply).result;
    cut();
    await expect.poll(() => place.trace('published')).toContain('second');
    place.open('published');
    expect(await client.until(taskId, 'completed', 'cancelled')).toMatchObject({ status: 'completed' });
    expect(place.trace('published')).toEqual(['first', 'second', 'third']);
  });

  test('after a window that made a task means nothing to the task (S2026-04)', async () => {
    const own = new Place();
    const hasty = (await serve({ file: own.database, window: '50ms' })).client();
    const { reply, cut } = hasty.openCall('work_auto', own.work());
    const { taskId } = (await reply).result;
    cut();
    await expect.poll(() => own.trace()).toContain('second');
    own.open();
    expect(await hasty.until(taskId, 'completed', 'cancelled')).toMatchObject({ status: 'completed' });
  });

  test('under a subscription or a look at a task means nothing to the task', async () => {
    const { taskId } = (await client.call('work_always', place.work('watched'))).result;
    const subscription = await client.listen([taskId]);
    await subscription.next();
    subscription.close();
    client.open('tasks/get', { taskId }).cut();
    place.open('watched');
    expect(await client.until(taskId, 'completed', 'cancelled')).toMatchObject({ status: 'completed' });
  });

  test('under a second call with the key of a task means nothing to that task', async () => {
    const meta = { 'dev.holdfast/idempotency-key': 'f3a9c1d27b5e48a6b0c4d8e2' };
    const { taskId } = (await client.call('work_always', place.work('keyed'), { meta })).result;
    // Wherever in its life the second call is cut.
    for (let turn = 0; turn < 40; turn++) {
      const { reply, cut } = client.openCall('work_always', place.work('keyed'), { meta });
      for (let waited = 0; waited < turn; waited++) await new Promise(setImmediate);
      cut();
      await reply.catch(() => {});
    }
    expect((await client.get(taskId)).result).toMatchObject({ status: 'working' });
  });

  test('during a plain wait ends the work of a call with a key too: its caller can have no task', async () => {
    const meta = { 'dev.holdfast/idempotency-key': '5c8e2a7d4f1b4960938d6b2e' };
    const { cut } = plain.openCall('work_auto', place.work('keyed and plain'), { meta });
    await expect.poll(() => place.trace('keyed and plain')).toContain('second');
    cut();
    await expect.poll(() => place.trace('keyed and plain')).toEqual(stopped);
  });

  test('under one of two calls that share a key leaves the other its work', async () => {
    const meta = { 'dev.holdfast/idempotency-key': '0b9d7e5f3c1a4826a7c5e3f1' };
    const first = client.openCall('work_auto', place.work('shared'), { meta });
    await expect.poll(() => place.trace('shared')).toContain('second');
    const second = client.openCall('work_auto', place.work('shared'), { meta });
    // By the time that a later call is answered, the second one waits.
    await client.call('at_once_auto');
    second.cut();
    await client.call('at_once_auto');
    place.open('shared');
    expect((await first.reply).result).toMatchObject({ content: [{ text: 'worked' }] });
  });
});

describe('notifications/cancelled on stdio', () => {
  test.each([
    ['within the window', { tasks: true }],
    ['during a plain wait', { tasks: false }],
  ])('%s ends the work, and the call gets no answer (S2026-05)', async (_, options) => {
    const place = new Place();
    const { client } = serveOnStdio({ file: place.database, window: '1h' }, options);
    const requestId = client.call('work_auto', place.work());
    await expect.poll(() => place.trace()).toContain('second');
    client.post({ method: 'notifications/cancelled', params: { requestId } });
    await expect.poll(() => place.trace()).toEqual(stopped);
    expect(standing(place.tasks())).toEqual(['cancelled']);
    await client.request('tools/call', { name: 'at_once_auto', arguments: {} });
    expect(client.messages.map(({ id }) => id)).not.toContain(requestId);
  });

  test('of a call whose id was sent means nothing to the task', async () => {
    const place = new Place();
    const { client } = serveOnStdio({ file: place.database });
    const requestId = client.call('work_auto', place.work());
    const { result } = await client.message(({ id }) => id === requestId);
    client.post({ method: 'notifications/cancelled', params: { requestId } });
    const { taskId } = result!;
    expect(await client.request('tasks/get', { taskId })).toMatchObject({ result: { status: 'working' } });
    place.open();
    await expect.poll(() => standing(place.tasks())).toEqual(['result']);
  });
});
