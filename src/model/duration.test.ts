import { expect, test } from 'vitest';
import { toMs } from './duration.ts';

test.each([
  [1_500, 1_500],
  ['500ms', 500],
  ['30s', 30_000],
  ['1.5m', 90_000],
  ['24h', 86_400_000],
  ['7d', 604_800_000],
  [0, 0],
] as const)('%j is %j milliseconds', (duration, ms) => {
  expect(toMs(duration)).toBe(ms);
});

test.each([
  '30',
  '30 s',
  '-1s',
  'soon',
  '1w',
  '0.3ms',
  -1,
  0.5,
  Number.NaN,
  Infinity,
  null,
  undefined,
  '1e3s',
])('%j is refused with a sentence that shows what would do', (given) => {
  expect(() => toMs(given as never)).toThrow(expect.objectContaining({ code: 'INVALID_DURATION' }));
  expect(() => toMs(given as never)).toThrow(/'30s'/);
});
