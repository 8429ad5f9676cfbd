/** A store that is closed in the middle of something: whoever waits is answered, or told so. Nobody waits for ever. */
import { execFile } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { createTasks, durableTool } from 'holdfast';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { attached } from '../kit/attached.ts';
import { withCode } from '../kit/with-code.ts';
import { kinds, open } from './kinds.ts';

const wave = durableTool('wave', {}, async () => 'waved');

afterEach(() => void vi.useRealTimers());

test.each(kinds)(
  'what is under way on $name when it is closed ends, and so does the process',
  async (kind) => {
    const script = new URL('./crowded-life.ts', import.meta.url).pathname;
    const args = ['--conditions=holdfast-source', script, await kind.place()];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 100_000 });
    expect({ stdout, stderr }).toEqual({ stdout: 'done\n', stderr: '' });
  },
);

test.each(kinds)('who waits for an outcome when $name is closed is told so', async (kind) => {
  const place = await kind.place();
  const tasks = createTasks({ tools: [wave], store: () => open(place) });
  const { id } = await tasks.create(wave);
  const requests = await tasks.requests();
  const outcome = tasks.outcome(id);
  await expect.poll(() => requests.watchers).toBe(1);
  await Promise.all([expect(outcome).rejects.toThrow(withCode('STORE_CLOSED')), tasks.close()]);
});

test.each(kinds)('… also if $name is closed behind the back of the tasks', async (kind) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const database = await open(await kind.place());
  const tasks = createTasks({ tools: [wave], store: database });
  const { id } = await tasks.create(wave);
  const requests = await tasks.requests();
  const outcome = tasks.outcome(id);
  await expect.poll(() => requests.watchers).toBe(1);
  await database.close();
  vi.advanceTimersByTime(60_000);
  await expect(outcome).rejects.toThrow(withCode('STORE_CLOSED'));
});

test.each(kinds)('… also if $name answers the first look only after that', async (kind) => {
  const strays = strayRejections();
  const database = await open(await kind.place());
  const slow = Promise.withResolvers<void>();
  const { get } = database.store;
  let looks = 0;
  database.store.get = async (id, owner) => {
    looks++;
    // The first look finds the root of the task, the second one its outcome.
    if (looks === 2) await slow.promise;
    return get.call(database.store, id, owner);
  };
  const tasks = createTasks({ tools: [wave], store: database });
  const { id } = await tasks.create(wave);
  const outcome = tasks.outcome(id);
  const isTold = expect(outcome).rejects.toThrow(withCode('STORE_CLOSED'));
  await expect.poll(() => looks).toBe(2);
  await tasks.close();
  await setImmediate();
  slow.resolve();
  await isTold;
  expect(strays).toEqual([]);
});

test.each(kinds)(
  'a session whose caller has just been given a task survives when $name is closed',
  async (kind) => {
    const database = await open(await kind.place());
    const tasks = createTasks({
      tools: [durableTool('rest', { task: 'always' }, async () => 'rested')],
      store: database,
    });
    const mcp = attached(tasks)();
    const errors: Error[] = [];
    mcp.server.onerror = (error) => void errors.push(error);
    const [here, there] = InMemoryTransport.createLinkedPair();
    await mcp.connect(here);
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { tasks: {} } as never });
    await client.connect(there);
    const { onmessage } = there;
    const closed = Promise.withResolvers<void>();
    there.onmessage = (message, extra) => {
      if ('result' in message && 'task' in message.result)
        database.close().then(closed.resolve, closed.reject);
      onmessage?.(message, extra);
    };
    const call = { name: 'rest', arguments: {}, task: {} };
    await client.request(
      { method: 'tools/call', params: call } as never,
      z.looseObject({ task: z.object() }),
    );
    await closed.promise;
    await expect.poll(() => errors).toEqual([withCode('STORE_CLOSED')]);
  },
);

test.each(kinds)(
  'a worker whose store is closed as it takes a subtask gives up quietly, on $name',
  async (kind) => {
    const strays = strayRejections();
    const database = await open(await kind.place());
    const parent = durableTool('parent', {}, async (_, task) => (await task.start(wave)).result());
    const tasks = createTasks({ tools: [wave, parent], store: database });
    const closing = Promise.withResolvers<void>();
    database.store.subscribe(({ taskId, rootId, events }) => {
      const isTaken = taskId !== rootId && events.some(({ type }) => type === 'claimed');
      if (isTaken) database.close().then(closing.resolve, closing.reject);
    });
    const worker = await tasks.work();
    await tasks.create(parent);
    await closing.promise;
    await worker.stop();
    await setImmediate();
    expect(strays).toEqual([]);
  },
);

/** Those that nobody handles, until the test ends. */
function strayRejections(): readonly unknown[] {
  const strays: unknown[] = [];
  const stray = (error: unknown) => void strays.push(error);
  process.on('unhandledRejection', stray);
  onTestFinished(() => void process.off('unhandledRejection', stray));
  return strays;
}
