/** What a killed process held is free at once, however long its leases still run. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { record } from '../../../src/engine/rules/transitions.ts';
import { claimTasks } from '../../../src/engine/worker/claiming.ts';
import type { Claimed } from '../../../src/ports/queue.ts';
import { openSqlite, type SqliteDatabase } from '../../../src/sqlite.ts';
import { Child } from '../../kit/child.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { until } from '../../kit/until.ts';
import { expectWithin } from '../../kit/within.ts';
import type { Line } from './acknowledgement.ts';
import { problemsIn } from './check.ts';
import { Ledger } from './ledger.ts';
import { tools } from './load.ts';
import { openedPuppet } from './puppeteer.ts';
import { readSnapshot } from './snapshot.ts';

/** Longer than any test: only the death of its holder frees a task. */
const leaseMs = 3_600_000;
const boundMs = 1_000;

test('a task of a killed process is claimed by another within a second', async () => {
  const times: number[] = [];
  for (let round = 0; round < 6; round++) {
    const file = temporaryFile();
    const killed = await openedPuppet(file);
    const survivor = await openSqlite(file);
    await killed.do('create', 1);
    const [lost] = await killed.do('claim', 1, leaseMs);
    const claims = claimsOf(survivor, 1);
    await pause(55 * round);

    const { claimed, ms } = await since(killed.kill(), claims);
    times.push(Math.round(ms));
    expectWithin(boundMs, ms);
    expect(claimed).toMatchObject([{ claim: { taskId: lost!.taskId, epoch: lost!.epoch + 1 } }]);
    await survivor.close();
    expect(problemsIn(file)).toEqual([]);
  }
  console.log(`Taken over after ${times.join(', ')} ms.`);
});

test('a hundred tasks of a killed process are claimed by another within a second', async () => {
  const file = temporaryFile();
  const killed = await openedPuppet(file);
  const survivor = await openSqlite(file);
  await killed.do('create', 100);
  const lost = await killed.do('claim', 100, leaseMs);
  const claims = claimsOf(survivor, 100);

  const { claimed, ms } = await since(killed.kill(), claims);
  console.log(`100 tasks taken over ${Math.round(ms)} ms after the kill.`);
  expectWithin(boundMs, ms);
  expect(taskIds(claimed)).toEqual(lost.map(({ taskId }) => taskId).toSorted());
  await survivor.close();
  expect(problemsIn(file)).toEqual([]);
});

test('a task of a process that was killed before anyone else opened the file is claimed at once', async () => {
  const file = temporaryFile();
  const killed = await openedPuppet(file);
  await killed.do('create', 3);
  const lost = await killed.do('claim', 3, leaseMs);
  await killed.kill();

  const survivor = await openSqlite(file);
  const claimed = await claimTasks(survivor, { tools, limit: 10, leaseMs, now: Date.now });
  expect(taskIds(claimed)).toEqual(lost.map(({ taskId }) => taskId).toSorted());
  await survivor.close();
});

test('a worker that only asks now and then, without listening for work, takes over too', async () => {
  const file = temporaryFile();
  const killed = await openedPuppet(file);
  const survivor = await openSqlite(file);
  await killed.do('create', 1);
  await killed.do('claim', 1, leaseMs);
  const ask = () => claimTasks(survivor, { tools, limit: 1, leaseMs, now: Date.now });
  expect(await ask()).toEqual([]);

  const killedAt = performance.now();
  await killed.kill();
  await expect.poll(ask).toHaveLength(1);
  expectWithin(boundMs, performance.now() - killedAt);
  await survivor.close();
});

test('tasks of a killed process are claimed within a second while others load the same file', async () => {
  const file = temporaryFile();
  const ledger = new Ledger();
  const killed = await openedPuppet(file);
  await killed.do('create', 20);
  const lost = await killed.do('claim', 20, leaseMs);
  const workers = [1, 2].map(
    (seed) => new Child<Line>('techniques/chaos/worker.ts', { file, seed }, ledger.hear),
  );
  await until(() => ledger.openings === workers.length && ledger.writes.length > 100);

  const killedAt = Date.now();
  await killed.kill();
  const takenOver = () => {
    const { commits, removals } = readSnapshot(file);
    return lost
      .filter(({ taskId }) => !removals.has(taskId))
      .map(({ taskId, epoch }) => {
        const next = commits
          .get(taskId)
          ?.find(({ events }) => events.some((event) => event.type === 'claimed' && event.epoch > epoch));
        return next ? next.at - killedAt : Infinity;
      });
  };
  await expect.poll(takenOver, { interval: 200 }).not.toContain(Infinity);
  await Promise.all(workers.map((worker) => worker.kill()));
  const times = takenOver();
  expect(ledger.failures).toEqual([]);
  expect(times.length).toBeGreaterThan(0);
  console.log(`Under load ${times.length} tasks were taken over after ${Math.max(...times)} ms at most.`);
  expect(Math.min(...times)).toBeGreaterThanOrEqual(0);
  expectWithin(boundMs, Math.max(...times));
});

test('the journal of a killed process is there for the one that takes over', async () => {
  const file = temporaryFile();
  const killed = await openedPuppet(file);
  await killed.do('create', 1);
  const [lost] = await killed.do('claim', 1, leaseMs);
  await killed.do('record', lost!, ['before the kill']);
  await killed.kill();

  const survivor = await openSqlite(file);
  const [{ claim }] = (await claimTasks(survivor, { tools, limit: 1, leaseMs, now: Date.now })) as [Claimed];
  await survivor.store.update('task', claim.taskId, (task) => record(task, claim, ['after'], Date.now()));
  expect((await survivor.store.journal(claim.taskId)).slice(2)).toEqual(['before the kill', 'after']);
  await survivor.close();
});

/** Waits for work and claims it, until there are so many claims. */
function claimsOf(database: SqliteDatabase, count: number): Promise<Claimed[]> {
  const claimed: Claimed[] = [];
  return new Promise((resolve, reject) => {
    const look = async () => {
      claimed.push(...(await claimTasks(database, { tools, limit: count, leaseMs, now: Date.now })));
      if (claimed.length < count) return;
      stop();
      resolve(claimed);
    };
    const stop = database.queue.onWork(() => look().catch(reject));
    look().catch(reject);
  });
}

async function since(
  kill: Promise<unknown>,
  claims: Promise<Claimed[]>,
): Promise<{ claimed: Claimed[]; ms: number }> {
  const killedAt = performance.now();
  const [claimed] = await Promise.all([claims, kill]);
  return { claimed, ms: performance.now() - killedAt };
}

function taskIds(claimed: readonly Claimed[]): string[] {
  return claimed.map(({ claim }) => claim.taskId).toSorted();
}
