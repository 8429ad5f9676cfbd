import { expect, test } from 'vitest';
import { temporaryFile } from '../../kit/lifetime.ts';
import { seedOfThisRun } from '../../kit/random.ts';
import { killAtRandom } from './kills.ts';

test('a hundred kills under load from two processes lose nothing that was acknowledged', {
  timeout: 600_000,
}, async () => {
  const seed = seedOfThisRun();
  const report = await killAtRandom({ file: temporaryFile(), seed, kills: 100, processes: 2 });
  console.log(report);
  expect(report.kills).toBeGreaterThanOrEqual(100);
  expect(report.acknowledged).toBeGreaterThan(1_000);
});
