import { expect, test } from 'vitest';
import { createTasks, durableTool } from '../../../src/index.ts';
import { openSqlite } from '../../../src/sqlite.ts';

const ways = [
  { what: 'all of them', wait: (both: Promise<string>[]) => Promise.all(both), result: 'quick,slow' },
  { what: 'the first of them', wait: (both: Promise<string>[]) => Promise.race(both), result: 'quick' },
];

test.each(ways)(
  'steps in flight beside each other all finish when the worker stops, and none runs again: a handler that waits for $what',
  async ({ wait, result }) => {
    const ran: string[] = [];
    const quick = Promise.withResolvers<void>();
    const slow = Promise.withResolvers<void>();
    const tool = durableTool('side_by_side', {}, async (_, task) => {
      const step = (name: string, end: Promise<void>) =>
        task.step(name, async () => {
          ran.push(name);
          await end;
          return name;
        });
      return String(await wait([step('quick', quick.promise), step('slow', slow.promise)]));
    });
    const tasks = createTasks({ store: await openSqlite('memory:'), tools: [tool] });
    const worker = await tasks.work();
    const { id } = await tasks.create(tool);
    await expect.poll(() => ran).toEqual(['quick', 'slow']);

    const committed = Promise.withResolvers<void>();
    await tasks.subscribe(({ events }) => {
      if (events.some(({ type }) => type === 'recorded')) committed.resolve();
    });
    const stopped = worker.stop();
    quick.resolve();
    await committed.promise;
    slow.resolve();
    await stopped;
    expect(await tasks.get(id)).not.toHaveProperty('worker');

    await tasks.work();
    expect(await tasks.outcome(id)).toMatchObject({ value: { content: [{ text: result }] } });
    expect(ran).toEqual(['quick', 'slow']);
    await tasks.close();
  },
);
