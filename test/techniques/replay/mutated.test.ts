import { expect, test } from 'vitest';
import { Pass } from '../../../src/engine/replay/pass.ts';
import { seedOfThisRun } from '../../kit/random.ts';
import { howToRepeat } from './checks.ts';
import { checkChanges, mutationKinds } from './mutations.ts';
import { programs, withDistinctNames } from './program.ts';

const seed = seedOfThisRun();
const count = process.env.HOLDFAST_LANE === 'quick' ? 150 : 1_000;

test('a random change of a random handler is detected, or lies ahead of everything that is recorded', {
  timeout: 120_000,
}, async () => {
  const changed = programs(seed, count, withDistinctNames);
  const { detected, harmless, problems } = await checkChanges({ Pass }, changed);
  console.log(`detected: ${detected}; ahead: ${harmless}\n${howToRepeat(seed, problems)}`);
  expect(problems.slice(0, 10)).toEqual([]);
  expect([...detected.keys()].sort()).toEqual(mutationKinds);
});
