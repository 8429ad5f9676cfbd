import { expect, test } from 'vitest';
import { Pass } from '../../src/engine/pass.ts';
import { seedOfThisRun } from './chance.ts';
import { checkChanges } from './mutations.ts';
import { randomPrograms } from './program.ts';

const seed = seedOfThisRun();

test('a random change of a random handler is detected, or lies ahead of everything that is recorded', {
  timeout: 120_000,
}, async () => {
  const programs = randomPrograms(seed, 1_000, 'distinct');
  const { detected, harmless, problems } = await checkChanges({ Pass }, { programs, atOnce: 50 });
  console.log(
    `detected: ${[...detected].map(([kind, count]) => `${kind} ${count}`).join(', ')}; ahead: ${harmless}`,
  );
  console.log(`seed ${seed}; to repeat: HOLDFAST_SEED=${problems[0]?.seed ?? seed} npm test -- test/replay`);
  expect(problems.slice(0, 10)).toEqual([]);
  expect([...detected.keys()].sort()).toEqual([
    'added before',
    'added beside',
    'removed',
    'renamed',
    'swapped',
  ]);
});
