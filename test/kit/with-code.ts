import { expect } from 'vitest';
import type { ErrorCode } from '../../src/model/errors.ts';

/** For `toThrow`: an error of Holdfast with this code. */
export function withCode(code: ErrorCode): unknown {
  return expect.objectContaining({ code });
}
