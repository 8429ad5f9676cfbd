import { expect, test } from 'vitest';
import { growTrees } from './trees.ts';

test('ten times as many random trees fit together too', async () => {
  expect((await growTrees(5_000)).get('trees')).toBe(5_000);
});
