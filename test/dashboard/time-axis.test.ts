import { expect, test } from 'vitest';
import { axisOf, offsetLabel } from '../../dashboard/src/task/time-axis.ts';

const second = 1_000;
const hour = 3_600 * second;

test('work is drawn to scale', () => {
  const axis = axisOf({ from: 0, to: 10 * second }, [{ from: 0, to: 10 * second }]);
  expect(axis.breaks).toEqual([]);
  expect(axis.place(0)).toBe(0);
  expect(axis.place(2.5 * second)).toBeCloseTo(0.25);
  expect(axis.place(10 * second)).toBe(1);
});

test('hours without work become a short break, and the rest stays legible', () => {
  const work = [
    { from: 0, to: 4 * second },
    { from: 3 * hour, to: 3 * hour + 4 * second },
  ];
  const axis = axisOf({ from: 0, to: 3 * hour + 4 * second }, work);
  expect(axis.breaks).toMatchObject([{ from: 4 * second, to: 3 * hour }]);
  const [pause] = axis.breaks;
  expect(pause!.right - pause!.left).toBeLessThan(0.2);
  expect(axis.place(4 * second)).toBeGreaterThan(0.4);
  expect(axis.place(3 * hour)).toBeLessThan(0.6);
});

test('a step of hours is work, and is drawn to scale', () => {
  const axis = axisOf({ from: 0, to: 3 * hour }, [{ from: 0, to: 3 * hour }]);
  expect(axis.breaks).toEqual([]);
});

test('short pauses are drawn to scale', () => {
  const axis = axisOf({ from: 0, to: 12 * second }, [
    { from: 0, to: 5 * second },
    { from: 6 * second, to: 12 * second },
  ]);
  expect(axis.breaks).toEqual([]);
});

test('however many breaks there are, at least half of the axis is work', () => {
  const work = Array.from({ length: 50 }, (_, i) => ({ from: i * hour, to: i * hour + second }));
  const axis = axisOf({ from: 0, to: 50 * hour }, work);
  const squeezed = axis.breaks.reduce((total, { left, right }) => total + right - left, 0);
  expect(axis.breaks.length).toBe(50);
  expect(squeezed).toBeLessThanOrEqual(0.5 + 1e-9);
});

test('positions increase monotonically with time', () => {
  const work = [
    { from: 5, to: 900 },
    { from: 30 * second, to: 31 * second },
    { from: 30.5 * second, to: 5 * hour },
    { from: 9 * hour, to: 9 * hour },
  ];
  const axis = axisOf({ from: 0, to: 10 * hour }, work, [17, 2 * hour]);
  const places = Array.from({ length: 2_000 }, (_, i) => axis.place((i * 10 * hour) / 2_000));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(Math.max(...places)).toBeLessThanOrEqual(1);
});

test('times outside the axis map to its ends', () => {
  const axis = axisOf({ from: 100, to: 200 }, []);
  expect([axis.place(0), axis.place(500)]).toEqual([0, 1]);
});

test('ticks are round and few, and none is in a break', () => {
  const work = [
    { from: 0, to: 7 * second },
    { from: 2 * hour, to: 2 * hour + 7 * second },
  ];
  const { ticks, breaks } = axisOf({ from: 0, to: 2 * hour + 7 * second }, work);
  expect(ticks.map(({ label }) => label)).toEqual([
    '0',
    '2 s',
    '4 s',
    '6 s',
    '2:00:00',
    '2:00:02',
    '2:00:04',
    '2:00:06',
  ]);
  for (const { place } of ticks)
    expect(breaks.some(({ left, right }) => place > left && place < right)).toBe(false);
});

test.each([
  [20 * second, 5 * second, '20 s'],
  [250, 50, '250 ms'],
  [1_500, 500, '1.5 s'],
  [125 * second, 5 * second, '2:05'],
  [125 * second + 500, 500, '2:05.5'],
  [hour + 125 * second + 40, 20, '1:02:05.04'],
  [600 * second, 60 * second, '10 min'],
  [26 * hour, hour, '1 d 2 h'],
  [90 * 60 * second, 30 * 60 * second, '1:30 h'],
  [72 * hour, 24 * hour, '3 d'],
])('a tick %d ms after the start, %d ms from the next, reads %s', (offset, step, label) => {
  expect(offsetLabel(offset, step)).toBe(label);
});

test('after a long wait, ticks within one second have different labels', () => {
  const end = 4 * 60 * second;
  const work = [
    { from: 0, to: 300 },
    { from: end, to: end + 900 },
  ];
  const labels = axisOf({ from: 0, to: end + 900 }, work).ticks.map(({ label }) => label);
  expect(labels.at(-1)).toBe('4:00.8');
  expect(new Set(labels).size).toBe(labels.length);
});

test('on narrow screens, ticks that are close together are hidden', () => {
  const { ticks } = axisOf({ from: 0, to: 7 * second }, [{ from: 0, to: 7 * second }]);
  const major = ticks.filter(({ isMinor }) => !isMinor).map(({ place }) => place);
  expect(major.length).toBeGreaterThan(2);
  for (const [i, place] of major.slice(1).entries()) expect(place - major[i]!).toBeGreaterThan(0.199);
});

test('a task that was just created has an axis', () => {
  const axis = axisOf({ from: 7, to: 7 }, []);
  expect(axis.place(7)).toBe(0);
  expect(axis.ticks.length).toBeGreaterThan(0);
});
