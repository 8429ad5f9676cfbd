import { InvalidValue } from '../model/errors.ts';
/** How far one task may spread: a handler in a loop must not fill the store. */

export interface Bounds {
  /** How deep subtasks may start subtasks. */
  readonly deepestTree: number;
  /** Subtasks that one task may start in its life. */
  readonly mostSubtasks: number;
  /** Questions of one task that may be open at a time. */
  readonly mostOpenQuestions: number;
  /** Calls on `task` that one handler may have open at a time: steps, sleeps, subtasks it waits for, and so on. */
  readonly mostOpenCalls: number;
}

export const defaultBounds: Bounds = {
  deepestTree: 16,
  mostSubtasks: 10_000,
  mostOpenQuestions: 100,
  mostOpenCalls: 20_000,
};

/** The handler went too far; it may catch this and do without. */
function outOfBounds(what: string, bound: keyof Bounds, limit: number): InvalidValue {
  return new InvalidValue('OUT_OF_BOUNDS', `${what}: at most ${limit} (${bound}).`);
}

/** Refuses one more than a handler may have. */
export function checkBound(bounds: Bounds, bound: keyof Bounds, count: number, what: string): void {
  if (count >= bounds[bound]) throw outOfBounds(what, bound, bounds[bound]);
}
