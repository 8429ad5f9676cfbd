/**
 * Limits of tasks and stores: sizes, times and counts. They prevent a handler in an endless loop from filling the
 * store.
 */
import { type Duration, type Size, toBytes, toMs } from '../../model/duration.ts';
import { InvalidOptions, InvalidValue } from '../../model/errors.ts';

/** The default of `maxValueSize`, in characters of JSON. */
export const defaultMaxValueSize = 16 * 2 ** 20;

export interface LimitOptions {
  /** The minimum time that a finished task is kept, even if the caller requests a shorter ttl. Default `'60s'`. */
  readonly minRetention?: Duration;
  /** The maximum ttl that a caller is granted. A tool's own retention may be longer. Default `'30d'`. */
  readonly maxRetention?: Duration;
  /**
   * The maximum size of the store, such as `'2 GB'`. If the store exceeds it, the trees that finished first are removed
   * before their retention ends. By default there is no limit.
   */
  readonly maxStoreSize?: Size;
  /** The maximum size of an argument, step value or result, in characters of JSON. Default 16 Mi. */
  readonly maxValueSize?: number;
  /** Limits of a single task: depth of its tree, subtasks, open questions and open calls. */
  readonly taskLimits?: Partial<TaskLimits>;
}

export interface TaskLimits {
  /** The maximum depth of a tree. The root has depth 0, its subtasks have depth 1. */
  readonly maxDepth: number;
  /** How many subtasks one task may start in total. */
  readonly maxSubtasks: number;
  /** How many questions of one task may be open at the same time. */
  readonly maxOpenQuestions: number;
  /** How many calls on `task` one handler may have open at the same time: steps, sleeps, awaited subtasks and so on. */
  readonly maxOpenCalls: number;
}

export const defaultTaskLimits: TaskLimits = {
  maxDepth: 16,
  maxSubtasks: 10_000,
  maxOpenQuestions: 100,
  maxOpenCalls: 20_000,
};

/** Throws if `count` has reached the limit, before one more is added. The handler may catch the error and continue. */
export function checkTaskLimit(
  limits: TaskLimits,
  name: keyof TaskLimits,
  count: number,
  what: string,
): void {
  if (count >= limits[name])
    throw new InvalidValue('OUT_OF_BOUNDS', `${what}: at most ${limits[name]} (${name}).`);
}

/** The options as numbers: times in milliseconds, the store size in bytes, Infinity for no limit. */
export interface EngineLimits extends TaskLimits {
  readonly maxValueSize: number;
  readonly minRetention: number;
  readonly maxRetention: number;
  readonly maxStoreSize: number;
}

function storeTooSmall(given: Size): InvalidOptions {
  return new InvalidOptions(
    'STORE_TOO_SMALL',
    `maxStoreSize is too small (${JSON.stringify(given)}). Set it to at least 1 MB.`,
  );
}

/** In bytes. */
const minStoreSize = 1_000_000;

export function engineLimits(options: LimitOptions): EngineLimits {
  const { maxStoreSize: size } = options;
  const maxStoreSize = size === undefined ? Number.POSITIVE_INFINITY : toBytes(size);
  if (maxStoreSize < minStoreSize) throw storeTooSmall(size!);
  return {
    ...defaultTaskLimits,
    ...options.taskLimits,
    maxValueSize: options.maxValueSize ?? defaultMaxValueSize,
    minRetention: toMs(options.minRetention ?? '60s'),
    maxRetention: toMs(options.maxRetention ?? '30d'),
    maxStoreSize,
  };
}
