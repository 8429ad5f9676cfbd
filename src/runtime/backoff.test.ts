import { expect, test } from 'vitest';
import { backoffMs } from './backoff.ts';

test('pauses double from the minimum to the maximum', () => {
  const pauses = [0, 1, 2, 3, 4, 5].map((retries) => backoffMs({ minMs: 20, maxMs: 500 }, retries));
  expect(pauses).toEqual([20, 40, 80, 160, 320, 500]);
});

test('a minimum above the maximum is capped', () => {
  expect(backoffMs({ minMs: 500, maxMs: 20 }, 0)).toBe(20);
});

test('a pause is a number after any number of retries', () => {
  expect(backoffMs({ minMs: 1, maxMs: 1_000 }, 5_000)).toBe(1_000);
  expect(backoffMs({ minMs: 0, maxMs: 1_000 }, 5_000)).toBe(0);
});
