/** What callers may ask of a server: the numbers, and the words. `limiter.ts` holds callers to them. */

import { OverLimit } from '../dialects/errors.ts';
import { InvalidOptions } from '../model/errors.ts';

const forOthers = 'and what is left is for callers who have hardly any: try again later.';

/** The default of a limit, and what callers are told who ask for more: `%` stands for the number. */
const limit = (standard: number, message: string) => ({ standard, message });

const all = {
  /** Calls that may become tasks, of one owner in a minute. */
  callsPerMinute: limit(600, 'No more than % calls a minute.'),
  /** Looks at tasks, answers and cancellations. */
  readsPerMinute: limit(6_000, 'No more than % looks at tasks a minute.'),
  resultsPerMinute: limit(600, 'No more than % requests for results a minute.'),
  listsPerMinute: limit(120, 'No more than % lists of tasks a minute.'),
  /** Looks of one owner at tasks that are not there, or not its own; of callers without a token, of one address. */
  failedReadsPerMinute: limit(100, 'No more than % looks a minute at tasks that cannot be found.'),
  /** How many times as often as its hint asks one task may be looked at. */
  pollsPerHint: limit(50, 'This task is looked at more than % times as often as asked'),
  /** Tasks of one owner that are not over. */
  liveTasksPerOwner: limit(
    1_000,
    'No more than % tasks at a time: wait until some are over, or cancel them.',
  ),
  /** Tasks of one owner, those that are over and still kept among them. */
  storedTasksPerOwner: limit(10_000, 'No more than % tasks are kept: wait until some have expired.'),
  /** Subscriptions of one owner that are open. */
  subscriptionsPerOwner: limit(100, 'No more than % subscriptions at a time: close one first.'),
  /** Sessions of one owner over HTTP (2025-11-25) that are kept, in one process. */
  sessionsPerOwner: limit(1_000, 'No more than % sessions at a time: end one first.'),
  /** Tasks in all that are not over. */
  liveTasks: limit(100_000, `No more than % tasks at a time on this server, ${forOthers}`),
  /** Tasks in all, those that are over and still kept among them. */
  storedTasks: limit(1_000_000, `No more than % tasks are kept on this server, ${forOthers}`),
  /** Subscriptions in all that are open, in one process. */
  subscriptions: limit(10_000, 'No more than % subscriptions on this server: poll, or try again later.'),
};

export type Limits = { readonly [Name in keyof typeof all]: number };

export const defaultLimits = Object.fromEntries(
  Object.entries(all).map(([name, { standard }]) => [name, standard]),
) as Limits;

/** The refusal of what is more than a limit. */
export function overLimit(limits: Limits, name: keyof Limits, retryAfterMs?: number, advice = ''): OverLimit {
  const message = all[name].message.replace('%', String(limits[name]));
  return new OverLimit(name, `${message}${advice}`, retryAfterMs);
}

function invalidLimit(name: string, value: unknown): InvalidOptions {
  return new InvalidOptions(
    'INVALID_LIMIT',
    `limits.${name} must be a whole number of at least 1, or Infinity, not ${String(value)}.`,
  );
}

export function limitsFrom(given: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(all, name)) throw invalidLimit(name, 'something that there is no limit for');
    if (value !== Number.POSITIVE_INFINITY && !(Number.isInteger(value) && value >= 1))
      throw invalidLimit(name, value);
  }
  return { ...defaultLimits, ...given };
}
