import { expect, test } from 'vitest';
import { sweepUnderTraffic } from './sweep.ts';

test('while 200,000 expired trees are removed, one of them of 2,000 subtasks, calls go on and the event loop is not held', async () => {
  const { removed, calls, longestHoldMs, usualHoldMs, mostAhead } = await sweepUnderTraffic(200_000, 2_000);
  expect(removed).toBe(200_000 + 2_000 + 1_999 * 20);
  expect(calls).toBeGreaterThan(1_000);
  expect(mostAhead).toBeLessThanOrEqual(2_000 + 64);
  // Generous: a commit waits for a disk that others may keep busy.
  expect(longestHoldMs).toBeLessThan(2_000);
  expect(usualHoldMs).toBeLessThan(500);
});
