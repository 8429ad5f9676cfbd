import { expect, test } from 'vitest';
import { ago, duration, intervalOnAxis, onAxis } from '../../dashboard/src/format.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

test.each([
  [0, '0 ms'],
  [0.4, '0 ms'],
  [999.4, '999 ms'],
  [999.6, '1.0 s'],
  [59.4 * second, '59 s'],
  [59.6 * second, '1 min'],
  [hour - 600, '59 min 59 s'],
  [hour - 400, '1 h'],
  [day - 40 * second, '23 h 59 min'],
  [day - 20 * second, '1 d'],
  [30 * day - 1, '30 d'],
  [400 * day + 5 * hour, '400 d 5 h'],
])('%d ms are %s', (ms, words) => {
  expect(duration(ms)).toBe(words);
});

test('the time until an event is not rounded down to a whole hour or day', () => {
  expect(ago(3 * hour - minute, 0)).toBe('in 2 h 59 min');
  expect(ago(2 * day - hour, 0)).toBe('in 1 d 23 h');
  expect(ago(5 * minute, 0)).toBe('in 5 min');
  expect(ago(0, 3 * hour - minute)).toBe('2 h ago');
});

// In the local time zone.
const night = new Date(2026, 10, 15, 23, 48).getTime();
const later = night + 365 * day;

test.each([
  ['15 minutes', 15 * minute],
  ['an hour', hour],
  ['a day', day],
  ['a week', 7 * day],
])('no two of 60 stretches of %s are called the same', (_, axisMs) => {
  const length = axisMs / 60;
  const names = Array.from({ length: 60 }, (_, index) =>
    intervalOnAxis(night + index * length, night + (index + 1) * length, axisMs, later),
  );
  expect(new Set(names).size).toBe(60);
  expect(names.every((name) => new Set(name.split(' – ')).size === 2)).toBe(true);
});

test('intervals and axes show seconds and dates only where needed, and one axis has one format', () => {
  expect(intervalOnAxis(night, night + 15 * second, 15 * minute, later)).toBe('23:48:00 – 23:48:15');
  expect(intervalOnAxis(night, night + minute, hour, later)).toBe('23:48 – 23:49');
  expect(intervalOnAxis(night, night + 24 * minute, day, later)).toBe('15 Nov, 23:48 – 16 Nov, 00:12');
  expect(intervalOnAxis(night - hour, night, 7 * day, later)).toBe('15 Nov, 22:48 – 23:48');
  expect(intervalOnAxis(night, night + minute, hour, night + second)).toBe('23:48 – now');
  expect([night - hour, night].map((at) => onAxis(at, hour))).toEqual(['22:48', '23:48']);
  expect([night - day, night].map((at) => onAxis(at, day))).toEqual(['14 Nov, 23:48', '15 Nov, 23:48']);
});
