import { expect } from 'vitest';

/** Looks again and again until it is so; the machine may be busy with other tests. */
export function eventually<T>(look: () => T) {
  return expect.poll(look, { interval: 10 });
}
