import { expect, test } from 'vitest';
import { newId } from './id.ts';

test('S2025-25 S2663-96: an id is a string of 160 random bits that is safe in a terminal and a URL', () => {
  const ids = Array.from({ length: 20_000 }, newId);
  for (const id of ids) expect(id).toMatch(/^[a-z2-7]{32}$/);
  // Every one of the 32 characters must be as likely as any other, at every position: 20,000 / 32 = 625.
  for (let position = 0; position < 32; position++) {
    const counts = Map.groupBy(ids, (id) => id[position]);
    expect(counts.size).toBe(32);
    for (const [, same] of counts) expect(Math.abs(same.length - 625)).toBeLessThan(180);
  }
});

test('S2025-27: no id comes twice', () => {
  expect(new Set(Array.from({ length: 100_000 }, newId)).size).toBe(100_000);
});
