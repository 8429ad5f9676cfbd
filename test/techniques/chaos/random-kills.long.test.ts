import { expect, test } from 'vitest';
import { temporaryFile } from '../../kit/lifetime.ts';
import { seedOfThisRun } from '../../kit/random.ts';
import { killAtRandom } from './kills.ts';

test('five hundred kills under load from three processes lose nothing that was acknowledged', async () => {
  const seed = seedOfThisRun();
  const report = await killAtRandom({ file: temporaryFile(), seed, kills: 500, processes: 3 });
  console.log(report);
  expect(report.kills).toBeGreaterThanOrEqual(500);
  expect(report.acknowledged).toBeGreaterThan(5_000);
});
