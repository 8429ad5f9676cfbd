import { expect, test } from 'vitest';
import { type Size, toBytes } from './duration.ts';

test('a size is a number of bytes, or a number with a unit', () => {
  expect((['3 KB', '1.5MB', '2 GB', '1 TB', 0, 4_096] as const).map(toBytes)).toEqual([
    3_000, 1_500_000, 2_000_000_000, 1e12, 0, 4_096,
  ]);
});

test.each(['', '2', 'GB', '-1 MB', '2 gb', '2  GB', '1e3 MB', 1.5, -1, NaN, Infinity, null])(
  '%j is refused with an example of a size',
  (given) => {
    expect(() => toBytes(given as Size)).toThrow(expect.objectContaining({ code: 'INVALID_SIZE' }));
    expect(() => toBytes(given as Size)).toThrow("such as '500 MB' or '2 GB'");
  },
);
