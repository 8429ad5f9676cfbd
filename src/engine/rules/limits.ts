/** How large, how long and how far: limits of tasks and stores. A handler in a loop must not fill the store. */
import { type Duration, type Size, toBytes, toMs } from '../../model/duration.ts';
import { InvalidOptions, InvalidValue } from '../../model/errors.ts';

/** In characters of JSON. */
export const defaultMaxValueSize = 16 * 2 ** 20;

export interface LimitOptions {
  /** How long a finished task is kept at least, however short a ttl its requestor wished. Default `'60s'`. */
  readonly minRetention?: Duration;
  /** The longest ttl that a requestor is granted. Default `'30d'`. */
  readonly maxRetention?: Duration;
  /**
   * What the store should hold at most, such as `'2 GB'`: beyond it the finished trees that ended first are removed
   * before their time. By default it may grow without limit.
   */
  readonly maxStoreSize?: Size;
  /** The largest argument, step value or result, in characters of JSON. Default 16 Mi. */
  readonly maxValueSize?: number;
  /** How far one task may spread: depth of its tree, subtasks, open questions. */
  readonly taskLimits?: Partial<TaskLimits>;
}

export interface TaskLimits {
  /** How deep subtasks may start subtasks. */
  readonly maxDepth: number;
  /** Subtasks that one task may start in its life. */
  readonly maxSubtasks: number;
  /** Questions of one task that may be open at a time. */
  readonly maxOpenQuestions: number;
  /** Calls on `task` that one handler may have open at a time: steps, sleeps, subtasks it waits for, and so on. */
  readonly maxOpenCalls: number;
}

export const defaultTaskLimits: TaskLimits = {
  maxDepth: 16,
  maxSubtasks: 10_000,
  maxOpenQuestions: 100,
  maxOpenCalls: 20_000,
};

/** The handler went too far; it may catch this and do without. */
function outOfBounds(what: string, bound: keyof TaskLimits, limit: number): InvalidValue {
  return new InvalidValue('OUT_OF_BOUNDS', `${what}: at most ${limit} (${bound}).`);
}

/** Refuses one more than a handler may have. */
export function checkTaskLimit(
  bounds: TaskLimits,
  bound: keyof TaskLimits,
  count: number,
  what: string,
): void {
  if (count >= bounds[bound]) throw outOfBounds(what, bound, bounds[bound]);
}

/** The numbers behind the options of the same names; times in milliseconds, and Infinity for none. */
export interface EngineLimits extends TaskLimits {
  readonly maxValueSize: number;
  readonly minRetention: number;
  readonly maxRetention: number;
  readonly maxStoreSize: number;
}

function storeTooSmall(given: Size): InvalidOptions {
  return new InvalidOptions(
    'STORE_TOO_SMALL',
    `A store of at most ${JSON.stringify(given)} would hold next to nothing: maxStoreSize is at least 1 MB.`,
  );
}

const smallestStore = 1_000_000;

export function engineLimits(options: LimitOptions): EngineLimits {
  const { maxStoreSize: size } = options;
  const maxStoreSize = size === undefined ? Number.POSITIVE_INFINITY : toBytes(size);
  if (maxStoreSize < smallestStore) throw storeTooSmall(size!);
  return {
    ...defaultTaskLimits,
    ...options.taskLimits,
    maxValueSize: options.maxValueSize ?? defaultMaxValueSize,
    minRetention: toMs(options.minRetention ?? '60s'),
    maxRetention: toMs(options.maxRetention ?? '30d'),
    maxStoreSize,
  };
}
