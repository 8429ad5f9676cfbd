import { expect } from 'vitest';
import type { Report } from './dialects.ts';
import { sessionDialects } from './session-methods.ts';

/** Every message was answered as it deserves, and the server is as it was. */
export function expectUnhurt(
  { tally, bytes: [early, late], after, complaints }: Report,
  messages: number,
): void {
  const megabytes = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
  const growth = `${megabytes(early)} MB held after a tenth, ${megabytes(late)} MB at the end`;
  console.log(`${tally.summary}; ${growth}`);
  expect(tally.problems.slice(0, 10)).toEqual([]);
  expect(tally.sent).toBeGreaterThanOrEqual(messages);
  expect(complaints).toBe('');
  for (const { name } of sessionDialects)
    if (name in after) expect([name, after[name]]).toEqual([name, 'Hello, Ada!']);
  expect(after['2026-07-28'] ?? []).toEqual([]);
  expect(late).toBeLessThanOrEqual(1.1 * early);
}
