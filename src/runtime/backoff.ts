/** The bounds of the pauses between retries. */
export interface Backoff {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * How long to pause before the next retry: `minMs` before the first one, then twice as long each time, up to `maxMs`.
 */
export function backoffMs({ minMs, maxMs }: Backoff, retriesSoFar: number): number {
  // 2 ** 1024 is infinite, and zero times infinity is not a number.
  return Math.min(maxMs, minMs * 2 ** Math.min(retriesSoFar, 52));
}
