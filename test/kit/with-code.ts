import { expect } from 'vitest';
import type { ErrorCode } from '../../src/model/errors.ts';

/** For `toThrow`: an error of Holdfast with one of these codes. */
export function withCode(...codes: readonly ErrorCode[]): unknown {
  return expect.objectContaining({ code: expect.toBeOneOf([...codes]) });
}
