import { expect } from 'vitest';

/** Bounds in milliseconds are asserted in the long lane only: elsewhere other tests share the machine. */
export const assertsBounds = process.env.HOLDFAST_LANE === 'long';

export function expectWithin(boundMs: number, ms: number): void {
  if (assertsBounds) expect(ms).toBeLessThan(boundMs);
}
