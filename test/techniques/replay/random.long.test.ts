import { expect, test } from 'vitest';
import { Pass } from '../../../src/engine/replay/pass.ts';
import { seedOfThisRun } from '../../kit/random.ts';
import { allKinds, checkLives, summary } from './checks.ts';
import { programs, withTimers } from './program.ts';

const seed = seedOfThisRun();

test('twelve thousand random handlers end the same way however they are interrupted', async () => {
  const tally = await checkLives({ Pass }, programs(seed, 12_000));
  console.log(summary(tally, seed));
  expect(tally.problems.slice(0, 10)).toEqual([]);
  expect([...tally.settled.keys()].sort()).toEqual(allKinds);
});

test('two thousand handlers with timers of their own end the same way however they are interrupted', async () => {
  const tally = await checkLives({ Pass }, programs(seed, 2_000, withTimers));
  console.log(summary(tally, seed));
  expect(tally.problems.slice(0, 10)).toEqual([]);
});
