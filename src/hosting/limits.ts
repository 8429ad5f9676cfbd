import { InvalidOptions } from '../model/errors.ts';
/** What callers may ask of a server: the numbers alone. `limiter.ts` holds callers to them. */

export interface Limits {
  /** Calls that may become tasks, of one owner in a minute. */
  readonly callsPerMinute: number;
  /** Looks at tasks, answers and cancellations. */
  readonly looksPerMinute: number;
  readonly resultsPerMinute: number;
  readonly listsPerMinute: number;
  /** Looks of one owner at tasks that are not there, or not its own; of callers without a token, of one address. */
  readonly failedLooksPerMinute: number;
  /** How many times as often as its hint asks one task may be looked at. */
  readonly pollsPerHint: number;
  /** Tasks of one owner that are not over. */
  readonly liveTasksPerOwner: number;
  /** Tasks of one owner, those that are over and still kept among them. */
  readonly keptTasksPerOwner: number;
  /** Subscriptions of one owner that are open. */
  readonly subscriptionsPerOwner: number;
  /** Sessions of one owner over HTTP (2025-11-25) that are kept, in one process. */
  readonly sessionsPerOwner: number;
  /** Tasks in all that are not over. */
  readonly liveTasks: number;
  /** Tasks in all, those that are over and still kept among them. */
  readonly keptTasks: number;
  /** Subscriptions in all that are open, in one process. */
  readonly subscriptions: number;
}

export const defaultLimits: Limits = {
  callsPerMinute: 600,
  looksPerMinute: 6_000,
  resultsPerMinute: 600,
  listsPerMinute: 120,
  failedLooksPerMinute: 100,
  pollsPerHint: 50,
  liveTasksPerOwner: 1_000,
  keptTasksPerOwner: 10_000,
  subscriptionsPerOwner: 100,
  sessionsPerOwner: 1_000,
  liveTasks: 100_000,
  keptTasks: 1_000_000,
  subscriptions: 10_000,
};

const forOthers = 'and what is left is for callers who have hardly any: try again later.';

/** What callers are told who ask for more. */
export const limitMessages: Readonly<Record<keyof Limits, (most: number) => string>> = {
  callsPerMinute: (most) => `No more than ${most} calls a minute.`,
  looksPerMinute: (most) => `No more than ${most} looks at tasks a minute.`,
  resultsPerMinute: (most) => `No more than ${most} requests for results a minute.`,
  listsPerMinute: (most) => `No more than ${most} lists of tasks a minute.`,
  failedLooksPerMinute: (most) => `No more than ${most} looks a minute at tasks that cannot be found.`,
  pollsPerHint: (most) => `This task is looked at more than ${most} times as often as asked`,
  liveTasksPerOwner: (most) =>
    `No more than ${most} tasks at a time: wait until some are over, or cancel them.`,
  keptTasksPerOwner: (most) => `No more than ${most} tasks are kept: wait until some have expired.`,
  subscriptionsPerOwner: (most) => `No more than ${most} subscriptions at a time: close one first.`,
  sessionsPerOwner: (most) => `No more than ${most} sessions at a time: end one first.`,
  liveTasks: (most) => `No more than ${most} tasks at a time on this server, ${forOthers}`,
  keptTasks: (most) => `No more than ${most} tasks are kept on this server, ${forOthers}`,
  subscriptions: (most) => `No more than ${most} subscriptions on this server: poll, or try again later.`,
};

function invalidLimit(name: string, value: unknown): InvalidOptions {
  return new InvalidOptions(
    'INVALID_LIMIT',
    `limits.${name} must be a whole number of at least 1, or Infinity, not ${String(value)}.`,
  );
}

export function limitsFrom(given: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaultLimits, name)) throw invalidLimit(name, 'something that there is no limit for');
    if (value !== Number.POSITIVE_INFINITY && !(Number.isInteger(value) && value >= 1))
      throw invalidLimit(name, value);
  }
  return { ...defaultLimits, ...given };
}
