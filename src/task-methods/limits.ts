/** The limits on callers: their defaults and messages. `rate-limiter.ts` and `task-quota.ts` enforce them. */

import { OverLimit } from '../dialects/errors.ts';
import { InvalidOptions } from '../model/errors.ts';

/** Nine tenths of a server-wide limit are open to all callers: see `task-quota.ts`. */
const forOthers = 'and the rest is reserved for callers with few tasks: try again later.';

/**
 * The default of a limit (`standard`), and the message when it is exceeded; its `%` is replaced by the actual limit.
 */
const limit = (standard: number, message: string) => ({ standard, message });

const all = {
  /** Calls that may become tasks, per owner and minute. */
  callsPerMinute: limit(600, 'At most % calls per minute.'),
  /** Reads of tasks, answers and cancellations, per owner and minute. */
  readsPerMinute: limit(6_000, 'At most % task requests per minute.'),
  /** Calls of `tasks/result`, per owner and minute. */
  resultsPerMinute: limit(600, 'At most % requests for results per minute.'),
  /** Calls of `tasks/list`, per owner and minute. */
  listsPerMinute: limit(120, 'At most % lists of tasks per minute.'),
  /** Reads of tasks that the caller cannot see, per owner and minute; without a token, per address. */
  failedReadsPerMinute: limit(100, 'At most % requests per minute for tasks that do not exist.'),
  /** How often one task may be polled, as a multiple of the rate that its poll interval suggests. */
  pollsPerHint: limit(50, 'This task is polled more than % times as often as its poll interval suggests'),
  /** Live tasks per owner. */
  liveTasksPerOwner: limit(1_000, 'At most % live tasks: wait until some have finished, or cancel them.'),
  /** Live tasks and finished tasks that are still kept, per owner. */
  storedTasksPerOwner: limit(10_000, 'At most % stored tasks: wait until some have expired.'),
  /** Open subscriptions per owner. */
  subscriptionsPerOwner: limit(100, 'At most % open subscriptions: close one first.'),
  /** HTTP sessions (2025-11-25) per owner, in one process. */
  sessionsPerOwner: limit(1_000, 'At most % sessions: end one first.'),
  /** Live tasks of all owners. */
  liveTasks: limit(100_000, `At most % live tasks on this server, ${forOthers}`),
  /** Live tasks and finished tasks that are still kept, of all owners. */
  storedTasks: limit(1_000_000, `At most % stored tasks on this server, ${forOthers}`),
  /** Open subscriptions of all owners, in one process. */
  subscriptions: limit(10_000, 'At most % open subscriptions on this server: poll, or try again later.'),
};

/** `Infinity` means no limit. */
export type Limits = { readonly [Name in keyof typeof all]: number };

export const defaultLimits = Object.fromEntries(
  Object.entries(all).map(([name, { standard }]) => [name, standard]),
) as Limits;

/** The error for a request that exceeds a limit. `advice` is appended to the message. */
export function overLimit(limits: Limits, name: keyof Limits, retryAfterMs?: number, advice = ''): OverLimit {
  const message = all[name].message.replace('%', String(limits[name]));
  return new OverLimit(name, `${message}${advice}`, retryAfterMs);
}

function invalidLimit(message: string): InvalidOptions {
  return new InvalidOptions('INVALID_LIMIT', message);
}

/** The given limits, and defaults for the others. Throws for an unknown limit or an invalid value. */
export function limitsFrom(given: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(all, name)) throw invalidLimit(`Unknown limit limits.${name}. See docs/limits.md.`);
    if (value !== Number.POSITIVE_INFINITY && !(Number.isInteger(value) && value >= 1))
      throw invalidLimit(
        `limits.${name} must be a whole number of at least 1, or Infinity, but is ${String(value)}.`,
      );
  }
  return { ...defaultLimits, ...given };
}
