/** A holder that lives and keeps its lease is never robbed, however hard others try. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { release } from '../../../src/engine/rules/transitions.ts';
import { claimTasks } from '../../../src/engine/worker/claiming.ts';
import { openSqlite, type SqliteDatabase } from '../../../src/sqlite.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { problemsOf } from './check.ts';
import { tools } from './load.ts';
import { newPuppet, openedPuppet } from './puppeteer.ts';
import { readSnapshot } from './snapshot.ts';

test('a holder that renews its leases keeps its tasks while another process asks for them without a pause', async () => {
  const file = temporaryFile();
  const holder = await openedPuppet(file);
  const other = await openSqlite(file);
  await holder.do('create', 20);
  const claims = await holder.do('claim', 20, 60_000);
  await holder.do('keepRenewing', claims, 60_000, 200);

  let asked = 0;
  for (const started = performance.now(); performance.now() - started < 1_500; asked++)
    expect(await claim(other)).toEqual([]);
  console.log(`Asked ${asked} times in vain.`);
  for (const one of claims) await holder.do('complete', one, 'mine to the end');
  await other.close();
  expect(takenFromOthers(file)).toEqual([]);
});

test('a process that can open no more files takes nobody for dead', async () => {
  const file = temporaryFile();
  const holder = await openSqlite(file);
  const other = await openedPuppet(file, { maxFiles: 64 });
  await other.do('create', 3);
  const claims = await claim(holder);
  expect(claims).toHaveLength(3);
  expect(await other.do('useUpFiles')).toBeGreaterThan(0);
  expect(await other.do('claim', 3, 60_000)).toEqual([]);
  await holder.close();
  expect(takenFromOthers(file)).toEqual([]);
});

test('the lock of a process that starts is never buried by those that tidy up', async () => {
  const file = temporaryFile();
  const tidying = [newPuppet(file), newPuppet(file), newPuppet(file)].map((one) => one.do('tidyUp', 6_000));
  expect(await newPuppet(file).do('joinAndLeave', 2_000)).toBe(0);
  await Promise.all(tidying);
});

test('processes that start afresh are never taken for dead', async () => {
  const file = temporaryFile();
  const other = await openSqlite(file);
  const fresh = [await openedPuppet(file), await openedPuppet(file)];
  await fresh[0]!.do('create', 6);
  let over = false;
  const scores = Promise.all(fresh.map((puppet) => puppet.do('startAfresh', 80))).finally(() => {
    over = true;
  });
  // One instance asks all the time; others come and go, and tidy up after the dead when they come.
  const ask = async (database: SqliteDatabase) => {
    for (const { claim: taken } of await claim(database))
      await database.store.update('task', taken.taskId, (task) => release(task, taken, Date.now()));
  };
  while (!over) {
    await ask(other);
    const passing = await openSqlite(file);
    await ask(passing);
    await passing.close();
    await pause(0);
  }
  console.log(...(await scores));
  for (const { robbed, held } of await scores) {
    expect(robbed).toBe(0);
    expect(held).toBeGreaterThan(20);
  }
  await other.close();
  expect(takenFromOthers(file)).toEqual([]);
});

function claim(database: SqliteDatabase) {
  return claimTasks(database, { tools, limit: 10, leaseMs: 60_000, now: Date.now });
}

/** Nobody died here and no lease ran out: a claim that took the task from someone is a theft. */
function takenFromOthers(file: string): unknown[] {
  const snapshot = readSnapshot(file);
  expect(problemsOf(snapshot)).toEqual([]);
  const events = [...snapshot.commits.values()].flatMap((commits) =>
    commits.flatMap((commit) => commit.events),
  );
  return events.filter((event) => event.type === 'claimed' && event.takenFrom !== undefined);
}
