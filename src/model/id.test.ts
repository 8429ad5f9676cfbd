import { expect, test, vi } from 'vitest';
import { newId, newTaskId } from './id.ts';

test.each([
  { what: '160 random bits', make: newId, from: 0 },
  { what: 'a time and 145 random bits', make: newTaskId, from: 3 },
])('S2025-25 S2663-96: an id of $what is safe in a terminal and a URL', ({ make, from }) => {
  const ids = Array.from({ length: 20_000 }, make);
  for (const id of ids) expect(id).toMatch(/^[a-z2-7]{32}$/);
  // At every position, each of the 32 characters must be equally likely: 20,000 / 32 = 625.
  for (let position = from; position < 32; position++) {
    const counts = Map.groupBy(ids, (id) => id[position]);
    expect(counts.size).toBe(32);
    for (const [, same] of counts) expect(Math.abs(same.length - 625)).toBeLessThan(180);
  }
});

test('S2025-27: ids are unique', () => {
  expect(new Set(Array.from({ length: 100_000 }, newTaskId)).size).toBe(100_000);
});

test('ids of tasks that are created one after the other sort next to each other', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const ids = Array.from({ length: 2 ** 15 }, (_, n) => {
    vi.setSystemTime(32 * (2 ** 36 + n));
    return newTaskId();
  });
  vi.useRealTimers();
  expect(ids).toEqual(ids.toSorted());
});
