/** A process dies at each named place; whoever opens the file next finds everything that it acknowledged. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openSqlite } from '../../../src/sqlite.ts';
import { type CrashPoint, crashPoints } from '../../../src/store-testing.ts';
import { Child } from '../../kit/child.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import type { Exit } from '../../kit/process.ts';
import { seedOfThisRun } from '../../kit/random.ts';
import type { Line } from './acknowledgement.ts';
import { problemsOf } from './check.ts';
import { finishEverything } from './drain.ts';
import { Ledger } from './ledger.ts';
import { readSnapshot } from './snapshot.ts';
import type { WorkerOptions } from './worker.ts';

const seed = seedOfThisRun();

/** At which times of passing there. The compiler asks for a line whenever a crash point is added. */
const times: Readonly<Record<CrashPoint, readonly number[]>> = {
  'open: instance locked': [1, 2, 3],
  'open: migrating': [1],
  'commit: begun': [1, 30, 120],
  'commit: written': [1, 30, 120],
  'commit: durable': [1, 30, 120],
  'commit: marked': [1, 30, 120],
  'claim: chosen': [1, 20, 60],
  'backup: copied': [1, 2, 3],
  'close: checkpointed': [1, 2, 3],
};

test.for(crashPoints)('a process killed at "%s" loses nothing that it acknowledged', async (place) => {
  await Promise.all(
    times[place].map(async (time) => {
      const file = temporaryFile();
      const ledger = new Ledger();
      expect(await runUntilKilled({ file, seed: seed + time, killAt: { place, time } }, ledger)).toEqual(
        killed,
      );
      // Who died before it had opened anything leaves nothing behind to read.
      if (ledger.openings > 0) expectAllThere(file, ledger);
      await expectWorkToGoOn(file, ledger);
    }),
  );
});

/** Nothing is left to migrate where somebody else has opened the file. */
const besideOthers = crashPoints.filter((place) => place !== 'open: migrating');

test.for(besideOthers)(
  'a survivor on the same file goes on after another was killed at "%s"',
  async (place) => {
    const file = temporaryFile();
    const ledger = new Ledger();
    const survivor = await openSqlite(file);
    const time = times[place][1]!;
    expect(await runUntilKilled({ file, seed, killAt: { place, time } }, ledger)).toEqual(killed);
    expectAllThere(file, ledger);
    expect(await finishEverything(survivor, ledger.hear)).toEqual([]);
    await survivor.close();
    expectAllThere(file, ledger);
  },
);

test('a back-up that was interrupted is not there, and the next one is whole', async () => {
  const file = temporaryFile();
  const ledger = new Ledger();
  await runUntilKilled({ file, seed, killAt: { place: 'backup: copied', time: 1 } }, ledger);
  const copy = `${file}.copy-1`;
  expect(existsSync(copy)).toBe(false);
  const database = await openSqlite(file);
  await database.backup(copy);
  await database.close();
  expectAllThere(copy, ledger);
});

const killed: Exit = { code: null, signal: 'SIGKILL' };

/** Opens, works, backs up and closes several times over; a place that it never comes by is a failure. */
async function runUntilKilled(options: WorkerOptions, ledger: Ledger): Promise<Exit> {
  const worker = new Child<Line>(
    'techniques/chaos/worker.ts',
    { rounds: 20, commits: 150, ...options },
    ledger.hear,
  );
  const exit = await worker.exit;
  expect([...ledger.failures, worker.complaints].join('')).toBe('');
  return exit;
}

function expectAllThere(file: string, ledger: Ledger): void {
  const snapshot = readSnapshot(file);
  expect(problemsOf(snapshot)).toEqual([]);
  expect(ledger.missingFrom(snapshot)).toEqual([]);
}

async function expectWorkToGoOn(file: string, ledger: Ledger): Promise<void> {
  const database = await openSqlite(file);
  expect(await finishEverything(database, ledger.hear)).toEqual([]);
  await database.close();
  expectAllThere(file, ledger);
}
