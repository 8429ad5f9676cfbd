import { expect, test } from 'vitest';
import { growTrees } from './trees.ts';

const trees = 500;

test('S2268-02 S2268-03 S2268-04 S2268-05 S2268-06 S2268-07 S2268-13 S2268-14 S2268-15 S2268-22 S2268-24 S2268-25 S2268-27 S2268-30 S2268-31 S2268-34: whatever becomes of a tree, what its client is told of it fits together', async () => {
  const tally = await growTrees(trees);
  expect(tally.get('trees')).toBe(trees);
  for (const what of [
    'cancels',
    'below cancels',
    'late cancels',
    'results',
    'lists',
    'updates',
    'removals',
    'looks from outside',
  ])
    expect(tally.get(what), what).toBeGreaterThan(trees / 100);
}, 600_000);
