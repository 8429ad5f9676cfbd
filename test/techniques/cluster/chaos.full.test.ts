import { expect, test } from 'vitest';
import { ownPostgres } from '../../../scripts/chaos/cluster/place.ts';
import { unleashOnCluster } from '../../../scripts/chaos/cluster/run.ts';
import { lastLine } from '../../../scripts/chaos/report.ts';
import { temporaryFolder } from '../../kit/lifetime.ts';
import { seedOfThisRun } from '../../kit/random.ts';

/** Other tests share the machine. The long lane and `npm run chaos -- --store postgres:` assert bounds. */
const bounds = { killed: Infinity, stopped: Infinity };

test('two servers and three workers lose nothing when they are killed, cut off, and Postgres crashes', {
  timeout: 900_000,
}, async () => {
  const seed = seedOfThisRun();
  const folder = temporaryFolder();
  const place = await ownPostgres();
  try {
    const faults = { kills: 4, restarts: 1, stops: 0, blocks: 1, jumps: 2 };
    const { report } = await unleashOnCluster({ place, folder, seed, errands: 24, faults, bounds });
    console.log(report);
    expect(report.problems).toEqual([]);
    expect(lastLine(report)).toBe(
      `chaos: ${report.kills} kills, ${report.tasks} tasks, 0 lost, 0 repeated steps, 0 broken invariants`,
    );
    expect(report).toMatchObject({ restarts: 1 });
    expect(report.cuts).toBeGreaterThan(0);
    // Whether a worker took a task over from another is left to chance in so short a run.
  } catch (error) {
    console.log(`The history is left in ${folder}.`);
    throw error;
  } finally {
    await place.remove();
  }
});
