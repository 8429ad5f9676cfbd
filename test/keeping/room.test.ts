import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import {
  createTasks,
  durableTool,
  type LogEntry,
  type TaskId,
  type Tasks,
  type TasksOptions,
} from '../../src/index.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { ManualClock } from '../../src/testing.ts';
import { withCode } from '../kit/with-code.ts';
import { kinds, open } from '../stores/kinds.ts';

const minute = 60_000;

/** Takes 100,000 bytes, and ends once it is told to. */
const hoard = durableTool(
  'hoard',
  { inputSchema: z.object({ text: z.string() }) },
  async (_, task) => void (await task.waitForEvent('enough')),
);
/** Postgres would compress anything else. */
const text = randomBytes(75_000).toString('base64');

async function ended(tasks: Tasks): Promise<TaskId> {
  const { id } = await tasks.create(hoard, { text });
  await tasks.sendEvent(id, 'enough');
  await tasks.outcome(id);
  return id;
}

/** A worker whose lease ran out while it was still at it may be asked after seconds later: they must be able to pass. */
async function outcomeOf(tasks: Tasks, clock: ManualClock, id: TaskId) {
  const timer = setInterval(() => clock.advance(1_000), 1_000);
  try {
    return await tasks.outcome(id);
  } finally {
    clearInterval(timer);
  }
}

/** A round begins with what has expired, once the round before has ended. */
async function aRound(tasks: Tasks, clock: ManualClock): Promise<void> {
  const { id } = await tasks.create(hoard, { text: '' }, { ttlMs: 1_000 });
  await tasks.sendEvent(id, 'enough');
  await tasks.outcome(id);
  clock.advance(2 * minute);
  await expect.poll(() => tasks.get(id)).toBe(undefined);
}

describe.each(kinds)('on $name', ({ place }) => {
  async function hoarding(limit: Pick<TasksOptions, 'maxStoreSize'> = { maxStoreSize: '1 MB' }) {
    const clock = new ManualClock();
    const entries: LogEntry[] = [];
    const database = await open(await place(), { clock });
    const tasks = createTasks({
      store: database,
      tools: [hoard],
      clock,
      log: (entry) => entries.push(entry),
      ...limit,
    });
    onTestFinished(() => tasks.close());
    await tasks.work({ concurrency: 100 });
    const events = (name: string) => entries.filter(({ event }) => event === name);
    return { tasks, clock, events, size: () => database.store.size() };
  }

  test('beyond its largest size a store lets go of what ended first, and the log says why', async () => {
    const { tasks, clock, events } = await hoarding();
    const made: TaskId[] = [];
    for (let n = 0; n < 15; n++) {
      made.push(await ended(tasks));
      clock.advance(1);
    }
    clock.advance(2 * minute);
    await expect.poll(() => tasks.get(made[4]!)).toBe(undefined);
    const removed = events('removed');
    expect(removed.map(({ task }) => task)).toEqual(made.slice(0, removed.length));
    for (const { detail } of removed) expect(detail).toMatchObject({ why: 'crowdedOut' });
    expect(await tasks.outcome(made.at(-1)!)).toMatchObject({ kind: 'result' });
    expect(events('overfull')).toEqual([]);
  });

  test('a result can be fetched for a minute, however full the store is', async () => {
    const { tasks, clock, events } = await hoarding();
    const made: TaskId[] = [];
    for (let n = 0; n < 15; n++) made.push(await ended(tasks));
    clock.advance(minute - 1_000);
    await expect.poll(() => events('overfull').length).toBe(1);
    for (const id of made) expect(await tasks.outcome(id)).toMatchObject({ kind: 'result' });
    clock.advance(2_000);
    await expect.poll(() => events('removed').length).toBeGreaterThan(3);
  });

  test('live work alone may be more than the largest size: that is logged once, and calls go on', async () => {
    const { tasks, clock, events, size } = await hoarding();
    const made: TaskId[] = [];
    for (let n = 0; n < 15; n++) made.push((await tasks.create(hoard, { text })).id);
    clock.advance(5 * minute);
    await expect.poll(() => events('overfull').length).toBe(1);
    expect(events('overfull')[0]).toMatchObject({
      level: 'warn',
      detail: { largest: 1_000_000, size: expect.any(Number) },
    });
    made.push((await tasks.create(hoard, { text })).id);
    clock.advance(5 * minute);
    for (const id of made) {
      await tasks.sendEvent(id, 'enough');
      expect(await outcomeOf(tasks, clock, id)).toMatchObject({ kind: 'result' });
    }
    expect(events('overfull').length).toBe(1);
    expect(events('removed')).toEqual([]);

    clock.advance(5 * minute);
    // It stops once a tenth is free again.
    await expect.poll(size).toBeLessThanOrEqual(900_000);
    await aRound(tasks, clock);
    for (let n = 0; n < 15; n++) await tasks.create(hoard, { text });
    clock.advance(minute);
    await expect.poll(() => events('overfull').length).toBe(2);
  });

  test('a store that was told nothing lets go of nothing', async () => {
    const { tasks, clock, events } = await hoarding({});
    for (let n = 0; n < 15; n++) await ended(tasks);
    clock.advance(60 * minute);
    await ended(tasks);
    expect([...events('removed'), ...events('overfull')]).toEqual([]);
  });
});

test('a size that is none, or next to nothing, is refused with a sentence', () => {
  const store = () => openSqlite('memory:');
  expect(() => createTasks({ store, maxStoreSize: '2 gigs' as never })).toThrow(withCode('INVALID_SIZE'));
  expect(() => createTasks({ store, maxStoreSize: 2 })).toThrow(withCode('STORE_TOO_SMALL'));
  expect(() => createTasks({ store, maxStoreSize: 2 })).toThrow(withCode('STORE_TOO_SMALL'));
});
