import { expect, test } from 'vitest';
import { Pass } from '../../../src/engine/replay/pass.ts';
import { seedOfThisRun } from '../../kit/random.ts';
import { allKinds, checkLives, summary } from './checks.ts';
import { programs, withTimers } from './program.ts';

const seed = seedOfThisRun();
const isQuick = process.env.HOLDFAST_LANE === 'quick';

test('random handlers end the same way straight through, replayed, dying after every commit and dying at random', {
  timeout: 300_000,
}, async () => {
  const tally = await checkLives({ Pass }, programs(seed, isQuick ? 100 : 2_000));
  console.log(summary(tally, seed));
  expect(tally.problems.slice(0, 10)).toEqual([]);
  expect([...tally.settled.keys()].sort()).toEqual(allKinds);
});

test('a timer awaited outside a step with nothing open beside it changes nothing', {
  timeout: 120_000,
}, async () => {
  const tally = await checkLives({ Pass }, programs(seed, isQuick ? 30 : 200, withTimers));
  console.log(summary(tally, seed));
  expect(tally.problems.slice(0, 10)).toEqual([]);
});
