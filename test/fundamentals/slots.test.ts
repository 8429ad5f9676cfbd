/** A worker runs as many tasks as it was told to, and never more; owners take turns, and nobody jumps the queue. */
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks, durableTool, type LogEntry } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { withCommands } from '../../src/engine/database/decorator.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { kinds, open } from '../stores/kinds.ts';

/** Counts how many run at the same time. */
function counter() {
  let now = 0;
  const seen = { most: 0, began: 0 };
  return {
    seen,
    during: async (work: Promise<unknown>) => {
      seen.began++;
      seen.most = Math.max(seen.most, ++now);
      await work;
      now--;
    },
  };
}

test('cancelled steps that ignore their signal keep their slot until they settle', async () => {
  const { seen, during } = counter();
  const release = Promise.withResolvers<void>();
  const stubborn = durableTool('stubborn', { concurrency: 1 }, async (_, task) => {
    await task.step('works on', () => during(release.promise));
  });
  const tasks = createTasks({ store: sqlite('memory:'), tools: [stubborn] });
  onTestFinished(() => tasks.close());
  await tasks.work();
  const first = await tasks.create(stubborn);
  await expect.poll(() => seen.began).toBe(1);
  for (let n = 0; n < 20; n++) {
    const { id } = await tasks.create(stubborn);
    await tasks.cancel(id);
  }
  await tasks.cancel(first.id);
  const last = await tasks.create(stubborn);
  await pause(50);
  expect(seen).toEqual({ most: 1, began: 1 });
  release.resolve();
  await tasks.outcome(last.id);
  expect(seen).toEqual({ most: 1, began: 2 });
});

test.each(kinds)(
  'on $name a step that outlives its worker does not begin again while it runs',
  async (kind) => {
    const { seen, during } = counter();
    const release = Promise.withResolvers<void>();
    const stubborn = durableTool('stubborn', {}, async (_, task) => {
      await task.step('works on', () => during(release.promise));
    });
    const quick = durableTool('quick', {}, async () => 'done');
    const place = await kind.place();
    const tasks = createTasks({ store: () => open(place), tools: [stubborn, quick] });
    onTestFinished(() => tasks.close());
    const first = await tasks.work({ grace: 0 });
    const { id } = await tasks.create(stubborn);
    await expect.poll(() => seen.began).toBe(1);
    await first.stop();
    await tasks.work();
    // Others can still be claimed.
    const other = await tasks.create(quick);
    await tasks.outcome(other.id);
    expect(seen.began).toBe(1);
    release.resolve();
    await tasks.outcome(id);
    expect(seen).toEqual({ most: 1, began: 2 });
  },
);

test('a tool with a concurrency of one runs one at a time, also while others are being claimed', async () => {
  const { seen, during } = counter();
  const one = durableTool('one', { concurrency: 1 }, async (_, task) => {
    await task.step('short', () => during(pause(1)));
  });
  const tasks = createTasks({ store: sqlite('memory:'), tools: [one] });
  onTestFinished(() => tasks.close());
  await tasks.work({ concurrency: 4 });
  const made: Promise<unknown>[] = [];
  for (let n = 0; n < 200; n++) {
    made.push(tasks.create(one).then(({ id }) => tasks.outcome(id)));
    if (n % 3 === 0) await pause(1);
  }
  await Promise.all(made);
  expect(seen).toEqual({ most: 1, began: 200 });
});

test.each(kinds)('$name: owners take turns, however many tasks one of them has', async (kind) => {
  const place = await kind.place();
  const order: string[] = [];
  const work = durableTool('work', {}, async (_, task) => {
    const { owner } = (await tasks.get(task.id))!;
    await task.step('note', () => void order.push(owner));
  });
  const tasks = createTasks({ store: () => open(place), tools: [work] });
  onTestFinished(() => tasks.close());
  await Promise.all(Array.from({ length: 100 }, () => tasks.create(work, undefined, { owner: 'greedy' })));
  const modest = await Promise.all(
    ['ann', 'zoe'].flatMap((owner) => [1, 2].map(() => tasks.create(work, undefined, { owner }))),
  );
  await tasks.work({ concurrency: 2 });
  await Promise.all(modest.map(({ id }) => tasks.outcome(id)));
  expect(order.length).toBeLessThan(20);
});

test('new calls do not overtake those that wait', async () => {
  const order: number[] = [];
  const work = durableTool('work', { inputSchema: z.object({ n: z.number() }) }, async ({ n }, task) => {
    await task.step('note', async () => {
      order.push(n);
      await pause(1);
    });
  });
  const tasks = createTasks({ store: sqlite('memory:'), tools: [work] });
  onTestFinished(() => tasks.close());
  await tasks.work({ concurrency: 2 });
  const made = await Promise.all(Array.from({ length: 100 }, (_, n) => tasks.create(work, { n })));
  await Promise.all(made.map(({ id }) => tasks.outcome(id)));
  // Two run at a time, so neighbours may change places.
  expect(order.every((n, place) => Math.abs(n - place) <= 2)).toBe(true);
});

test('timers that come due take turns with what is ready', async () => {
  const order: string[] = [];
  const sleeper = durableTool('sleeper', {}, async (_, task) => {
    await task.sleep(30);
    await task.step('note', () => void order.push('sleeper'));
  });
  const work = durableTool('work', {}, async (_, task) => {
    await task.step('note', async () => {
      order.push('work');
      await pause(2);
    });
  });
  const tasks = createTasks({ store: sqlite('memory:'), tools: [sleeper, work] });
  onTestFinished(() => tasks.close());
  await tasks.work({ concurrency: 1 });
  const { id } = await tasks.create(sleeper, undefined, { owner: 'patient' });
  await expect.poll(async () => (await tasks.get(id))?.version).toBeGreaterThan(1);
  const busy = await Promise.all(
    Array.from({ length: 200 }, () => tasks.create(work, undefined, { owner: 'busy' })),
  );
  await tasks.outcome(id);
  expect(order.indexOf('sleeper')).toBeLessThan(190);
  await Promise.all(busy.map((task) => tasks.outcome(task.id)));
});

test('parents that keep a step running while they wait for subtasks are reported when they have all slots', async () => {
  const entries: LogEntry[] = [];
  const done = Promise.withResolvers<void>();
  const child = durableTool('child', {}, async () => 'done');
  const parent = durableTool('parent', {}, async (_, task) => {
    const subtask = await task.start(child);
    await Promise.all([task.step('keeps running', () => done.promise), subtask.result()]);
  });
  const tasks = createTasks({
    store: sqlite('memory:'),
    tools: [parent, child],
    log: (entry) => entries.push(entry),
  });
  onTestFinished(() => tasks.close());
  await tasks.work({ concurrency: 2, lease: '1s' });
  const parents = await Promise.all([tasks.create(parent), tasks.create(parent)]);
  await expect
    .poll(() => entries.find(({ event }) => event === 'slotsBlocked'))
    .toMatchObject({
      level: 'warn',
      detail: { slots: 2, message: expect.stringContaining('Raise concurrency') },
    });
  done.resolve();
  await Promise.all(parents.map(({ id }) => tasks.outcome(id)));
});

test('steps of cancelled tasks that ignore their signal are reported when they have all slots', async () => {
  const entries: LogEntry[] = [];
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const stubborn = durableTool('stubborn', {}, async (_, task) => {
    await task.step('works on', () => {
      begun.resolve();
      return release.promise;
    });
  });
  const tasks = createTasks({
    store: sqlite('memory:'),
    tools: [stubborn],
    log: (entry) => entries.push(entry),
  });
  onTestFinished(() => tasks.close());
  await tasks.work({ concurrency: 1, lease: '1s' });
  const { id } = await tasks.create(stubborn);
  await begun.promise;
  await tasks.cancel(id);
  const next = await tasks.create(stubborn);
  await expect
    .poll(() => entries.find(({ event }) => event === 'slotsBlocked'))
    .toMatchObject({
      detail: { message: expect.stringContaining('1 by steps of ended tasks that ignore their signal') },
    });
  release.resolve();
  await tasks.outcome(next.id);
});

test('a claim that fails in a way that nobody expected is reported, and asked again', async () => {
  const database = await openSqlite('memory:');
  let failures = 1;
  const faulty = withCommands(database, {
    claim: async (...args) => {
      if (failures-- > 0) throw new TypeError('Not a store error.');
      return database.store.claim(...args);
    },
  });
  const entries: LogEntry[] = [];
  const quick = durableTool('quick', {}, async () => 'done');
  const tasks = createTasks({ store: faulty, tools: [quick], log: (entry) => entries.push(entry) });
  onTestFinished(() => tasks.close());
  const { id } = await tasks.create(quick);
  await tasks.work();
  expect(await tasks.outcome(id)).toMatchObject({ kind: 'result' });
  expect(entries.map(({ event }) => event)).toContain('claimFailed');
});
