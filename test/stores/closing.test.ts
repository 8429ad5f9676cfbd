/** A store that is closed in the middle of something: whoever waits is answered, or told so. Nobody waits for ever. */
import { execFile } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createTasks, durableTool, StoreClosed } from 'holdfast';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
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
  await Promise.all([expect(outcome).rejects.toThrow(StoreClosed), tasks.close()]);
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
  await expect(outcome).rejects.toThrow(StoreClosed);
});

test.each(kinds)(
  'a worker whose store is closed as it takes a subtask gives up quietly, on $name',
  async (kind) => {
    const strays: unknown[] = [];
    const stray = (error: unknown) => void strays.push(error);
    process.on('unhandledRejection', stray);
    onTestFinished(() => void process.off('unhandledRejection', stray));
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
