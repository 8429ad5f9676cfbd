import { expect, test } from 'vitest';
import { Pass } from '../../src/engine/pass.ts';
import { seedOfThisRun } from './chance.ts';
import { checkMany } from './checks.ts';
import { randomPrograms, randomProgramsWithTimers } from './program.ts';
import { allKinds, summary } from './summary.ts';

const seed = seedOfThisRun();

test('twelve thousand random handlers end the same way however they are interrupted', async () => {
  const tally = await checkMany({ Pass }, { programs: randomPrograms(seed, 12_000), atOnce: 50 });
  console.log(summary(tally, seed));
  expect(tally.problems.slice(0, 10)).toEqual([]);
  expect([...tally.settled.keys()].sort()).toEqual(allKinds);
});

test('two thousand handlers with timers of their own end the same way however they are interrupted', async () => {
  const tally = await checkMany({ Pass }, { programs: randomProgramsWithTimers(seed, 2_000), atOnce: 50 });
  console.log(summary(tally, seed));
  expect(tally.problems.slice(0, 10)).toEqual([]);
});
