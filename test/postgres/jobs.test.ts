/** A job leads to several tasks. Whoever fetches it takes what there is a place for, and leaves the rest to others. */
import { expect, onTestFinished, test } from 'vitest';
import { claimTasks } from '../../src/engine/claims.ts';
import * as rules from '../../src/engine/transitions.ts';
import { openPostgres } from '../../src/postgres.ts';
import { aTask } from '../../src/testing/fixtures.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { create } from '../../src/testing/store-commands.ts';
import { freshDatabase } from './database.ts';
import { query } from './server.ts';

const tools = [{ tool: 'publish_report', version: '1' }];

async function twoProcesses() {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  const clock = new ManualClock();
  const [one, other] = [await openPostgres(url, { clock }), await openPostgres(url, { clock })];
  onTestFinished(() => one.close());
  onTestFinished(() => other.close());
  const claim = async (database: typeof one, limit: number) => {
    const claimed = await claimTasks(database, { tools, limit, leaseMs: 15_000, now: () => clock.now() });
    return claimed.map(({ task }) => task.id);
  };
  const jobs = async () =>
    (await query(url, 'select data from holdfast_jobs.job')).map(
      ({ data }) => (data as { tasks: string[] }).tasks.length,
    );
  const made = (count: number) =>
    Promise.all(Array.from({ length: count }, () => create(one.store, clock, aTask())));
  return { clock, one, other, claim, jobs, made };
}

test('tasks that are made together share jobs, eight to each', async () => {
  const { made, jobs } = await twoProcesses();
  await made(20);
  const sizes = await jobs();
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(20);
  expect(sizes.length).toBeLessThan(10);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(8);
});

test('a worker with few places takes as many tasks, and another gets those that are left', async () => {
  const { one, other, made, claim, jobs } = await twoProcesses();
  const all = (await made(20)).map(({ task }) => task.id);
  const mine = [...(await claim(one, 3)), ...(await claim(one, 2))];
  expect(mine).toHaveLength(5);
  await expect.poll(async () => mine.push(...(await claim(other, 20)))).toBe(20);
  expect(mine.toSorted()).toEqual(all.toSorted());
  expect(await jobs()).toEqual([]);
});

test('jobs of tasks that were cancelled do not stand in the way of the others', async () => {
  const { clock, one, other, made, claim, jobs } = await twoProcesses();
  const cancelled = await made(6);
  for (const { task } of cancelled)
    await one.store.update('family', task.id, (family) => rules.cancel(family, clock.now()));
  clock.advance(1);
  const [last] = await made(1);
  expect(await claim(other, 1)).toEqual([last!.task.id]);
  expect(await jobs()).toEqual([]);
});
