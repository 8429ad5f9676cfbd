import { expect, test } from 'vitest';
import { ownPostgres } from '../../../scripts/chaos/cluster/place.ts';
import { unleashOnCluster } from '../../../scripts/chaos/cluster/run.ts';
import { temporaryFolder } from '../../kit/lifetime.ts';
import { seedOfThisRun } from '../../kit/random.ts';

test('two hundred errands survive forty kills, two crashes of Postgres, and two workers that stop and go on', async () => {
  const seed = seedOfThisRun();
  const folder = temporaryFolder();
  const place = await ownPostgres();
  try {
    const faults = { kills: 40, restarts: 2, stops: 4, blocks: 4, jumps: 8 };
    const { report } = await unleashOnCluster({ place, folder, seed, errands: 200, faults });
    console.log(report);
    expect(report.problems).toEqual([]);
    expect(report.errands).toBeGreaterThanOrEqual(200);
    expect(report).toMatchObject({
      lost: 0,
      repeatedSteps: 0,
      brokenInvariants: 0,
      restarts: 2,
      stops: 4,
      blocks: 4,
      jumps: 8,
    });
    // The kills and the stops met work, and who was stopped found that its place was taken.
    expect(report.undisturbedTakeOvers).toBeGreaterThan(0);
    expect(report.maxTakeOverFromStoppedMs).toBeGreaterThan(0);
    expect(report.superseded).toBeGreaterThan(0);
  } catch (error) {
    console.log(`The history is left in ${folder}.`);
    throw error;
  } finally {
    await place.remove();
  }
});
