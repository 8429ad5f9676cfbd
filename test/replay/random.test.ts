import { expect, test } from 'vitest';
import { Pass } from '../../src/engine/pass.ts';
import { seedOfThisRun } from './chance.ts';
import { checkMany } from './checks.ts';
import { randomPrograms, randomProgramsWithTimers } from './program.ts';
import { allKinds, summary } from './summary.ts';

const seed = seedOfThisRun();

test('random handlers end the same way straight through, replayed, dying after every commit and dying at random', {
  timeout: 300_000,
}, async () => {
  const tally = await checkMany({ Pass }, { programs: randomPrograms(seed, 2_000), atOnce: 50 });
  console.log(summary(tally, seed));
  expect(tally.problems.slice(0, 10)).toEqual([]);
  expect([...tally.settled.keys()].sort()).toEqual(allKinds);
});

test('a timer awaited outside a step with nothing open beside it changes nothing', {
  timeout: 120_000,
}, async () => {
  const tally = await checkMany({ Pass }, { programs: randomProgramsWithTimers(seed, 200), atOnce: 50 });
  console.log(summary(tally, seed));
  expect(tally.problems.slice(0, 10)).toEqual([]);
});
