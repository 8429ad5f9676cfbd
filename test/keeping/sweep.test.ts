import { expect, test } from 'vitest';
import { createTasks, durableTool, type LogEntry } from '../../src/index.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { ManualClock } from '../../src/testing.ts';
import { sweepUnderTraffic } from './sweep.ts';

const minute = 60_000;

test('S1686-81 S2025-105: an expired task is gone with the next second, and not before', async () => {
  const clock = new ManualClock();
  const greet = durableTool('greet', { retention: '10m' }, async () => 'Hello!');
  const entries: LogEntry[] = [];
  await using tasks = createTasks({
    store: () => openSqlite('memory:', { clock }),
    tools: [greet],
    clock,
    log: (entry) => entries.push(entry),
  });
  const removed = Promise.withResolvers<void>();
  await tasks.subscribe(({ events }) => events.some(({ type }) => type === 'removed') && removed.resolve());
  await tasks.work();
  const { id } = await tasks.create(greet);
  await tasks.outcome(id);

  clock.advance(10 * minute - 1);
  // Housekeeping has come by six hundred times; a whole call later it would have been done.
  await tasks.outcome((await tasks.create(greet)).id);
  expect((await tasks.get(id))?.phase).toBe('done');

  clock.advance(1_000);
  await removed.promise;
  expect(await tasks.get(id)).toBe(undefined);
  expect(entries.filter(({ event }) => event === 'removed')).toEqual([
    {
      level: 'info',
      at: clock.now(),
      event: 'removed',
      task: id,
      owner: 'local',
      detail: { root: id, why: 'expired' },
    },
  ]);
});

test('a deadline that passes while many expired trees are removed does not wait for the last of them', async () => {
  const clock = new ManualClock();
  const greet = durableTool('greet', { retention: '10m' }, async () => 'Hello!');
  const slow = durableTool(
    'slow',
    { deadline: '1h' },
    async (_, task) => void (await task.waitForEvent('never')),
  );
  await using tasks = createTasks({
    store: () => openSqlite('memory:', { clock }),
    tools: [greet, slow],
    clock,
  });
  await tasks.work();
  const { id: overdue } = await tasks.create(slow);
  for (let n = 0; n < 500; n++) await tasks.outcome((await tasks.create(greet)).id);

  const over = Promise.withResolvers<number>();
  let removed = 0;
  await tasks.subscribe(({ taskId, events }) => {
    if (events.some(({ type }) => type === 'removed') && ++removed === 1)
      setImmediate(() => clock.advance(10 * minute));
    if (taskId === overdue && events.some(({ type }) => type === 'finished')) over.resolve(removed);
  });
  clock.jump(55 * minute);
  expect(await over.promise).toBeLessThan(200);
});

test('while 3,000 expired trees are removed, calls go on: none waits behind more than a few of them', async () => {
  const { removed, calls, mostAhead } = await sweepUnderTraffic(3_000, 50);
  expect(removed).toBe(3_000 + 50 + 29 * 20);
  expect(calls).toBeGreaterThan(20);
  expect(mostAhead).toBeGreaterThan(0);
  expect(mostAhead).toBeLessThanOrEqual(50 + 64);
});
