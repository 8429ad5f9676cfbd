import { expect } from 'vitest';

/** Bounds in milliseconds are asserted in the long lane only: elsewhere other tests share the machine. */
export function expectWithin(boundMs: number, ms: number): void {
  if (process.env.HOLDFAST_LANE === 'long') expect(ms).toBeLessThan(boundMs);
}
