/** Every commit can be observed, from another process too: each version of each task once, in order, soon. */

import { expect, test } from 'vitest';
import { openSqlite } from '../../../src/sqlite.ts';
import { Child } from '../../kit/child.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { seedOfThisRun } from '../../kit/random.ts';
import { until } from '../../kit/until.ts';
import { expectWithin } from '../../kit/within.ts';
import type { AcknowledgedWrite, Line } from './acknowledgement.ts';
import { Ledger } from './ledger.ts';
import { Observer } from './observer.ts';
import { openedPuppet } from './puppeteer.ts';
import { readSnapshot } from './snapshot.ts';

test('a subscriber hears of every version once and in order while two other processes work', async () => {
  const file = temporaryFile();
  const database = await openSqlite(file);
  const observer = new Observer(database.store);
  const ledger = new Ledger();
  const seed = seedOfThisRun();
  const workers = [seed, seed + 1].map(
    (one) => new Child<Line>('techniques/chaos/worker.ts', { file, seed: one, commits: 1_500 }, ledger.hear),
  );
  for (const worker of workers) expect(await worker.exit).toEqual({ code: 0, signal: null });

  const endedAt = performance.now();
  await until(() => ledger.writes.every(({ id, version }) => observer.has(id, version)));
  const lag = Math.round(performance.now() - endedAt);
  expect(observer.problems).toEqual([]);
  for (const [id, { version }] of readSnapshot(file).tasks) expect(observer.heard(id)).toEqual([1, version]);
  console.log(
    `${observer.notices} notices of ${ledger.writes.length} acknowledged; the last ${lag} ms late.`,
  );
  await database.close();
});

test('a subscriber hears the last words of a process that is killed, and then of the next', async () => {
  const file = temporaryFile();
  const database = await openSqlite(file);
  const observer = new Observer(database.store);
  const ledger = new Ledger();
  for (const seed of [1, 2, 3]) {
    const worker = new Child<Line>('techniques/chaos/worker.ts', { file, seed }, ledger.hear);
    const before = ledger.writes.length;
    await until(() => ledger.writes.length > before + 300);
    await worker.kill();
    await until(() => ledger.writes.every(({ id, version }) => observer.has(id, version)));
  }
  expect(observer.problems).toEqual([]);
  await database.close();
});

test('a commit of another process is heard within a second', async () => {
  const file = temporaryFile();
  const database = await openSqlite(file);
  const writes: AcknowledgedWrite[] = [];
  const writer = await openedPuppet(file, {
    hear: (line) => {
      if (line.kind === 'committed') writes.push(...line.writes);
    },
  });
  const [id] = await writer.do('create', 1);
  const [claim] = await writer.do('claim', 1, 60_000);
  const delays: number[] = [];
  const observer = new Observer(database.store, ({ at }) => delays.push(Date.now() - at));
  await writer.do('recordMany', claim!, 200, 5);
  await until(() => observer.has(id!, writes.at(-1)!.version));
  expect(observer.problems).toEqual([]);
  delays.sort((a, b) => a - b);
  console.log(`Heard after ${delays[100]} ms (median) and ${delays.at(-1)} ms (longest).`);
  expectWithin(1_000, delays.at(-1)!);
  await database.close();
});
