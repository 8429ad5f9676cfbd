/** How large, how long and how far: limits of tasks and stores. A handler in a loop must not fill the store. */
import { type Duration, type Size, toBytes, toMs } from '../../model/duration.ts';
import { InvalidOptions, InvalidValue } from '../../model/errors.ts';

/** In characters of JSON. */
export const defaultLargestValue = 16 * 2 ** 20;

export interface LimitOptions {
  /** How long a finished task is kept at least, however short a ttl its requestor wished. Default `'60s'`. */
  readonly shortestRetention?: Duration;
  /** The longest ttl that a requestor is granted. Default `'30d'`. */
  readonly longestRetention?: Duration;
  /**
   * What the store should hold at most, such as `'2 GB'`: beyond it the finished trees that ended first are removed
   * before their time. By default it may grow without limit.
   */
  readonly largestStore?: Size;
  /** The largest argument, step value or result, in characters of JSON. Default 16 Mi. */
  readonly largestValue?: number;
  /** How far one task may spread: depth of its tree, subtasks, open questions. */
  readonly bounds?: Partial<Bounds>;
}

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

/** The numbers behind the options of the same names; times in milliseconds, and Infinity for none. */
export interface Extents extends Bounds {
  readonly largestValue: number;
  readonly shortestRetention: number;
  readonly longestRetention: number;
  readonly largestStore: number;
}

function storeTooSmall(given: Size): InvalidOptions {
  return new InvalidOptions(
    'STORE_TOO_SMALL',
    `A store of at most ${JSON.stringify(given)} would hold next to nothing: largestStore is at least 1 MB.`,
  );
}

const smallestStore = 1_000_000;

export function extentsOf(options: LimitOptions): Extents {
  const { largestStore: size } = options;
  const largestStore = size === undefined ? Number.POSITIVE_INFINITY : toBytes(size);
  if (largestStore < smallestStore) throw storeTooSmall(size!);
  return {
    ...defaultBounds,
    ...options.bounds,
    largestValue: options.largestValue ?? defaultLargestValue,
    shortestRetention: toMs(options.shortestRetention ?? '60s'),
    longestRetention: toMs(options.longestRetention ?? '30d'),
    largestStore,
  };
}
