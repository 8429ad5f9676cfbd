import { type Duration, toMs } from '../../model/duration.ts';
import { shown } from '../../model/thrown.ts';
import { backoffMs } from '../../runtime/backoff.ts';

/** How often a step is attempted, and the delays in between. */
export interface Retry {
  /** The total number of attempts. Default 1: no retry. */
  readonly attempts?: number;
  /** The delay before the second attempt. It doubles with each further attempt. Default `'1s'`. */
  readonly delay?: Duration;
  /** The maximum delay. Default `'5m'`. */
  readonly maxDelay?: Duration;
}

/** A `Retry` with all defaults and with durations in milliseconds. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly delayMs: number;
  readonly maxDelayMs: number;
}

export function retryPolicy(retry: Retry = {}): RetryPolicy {
  if (typeof retry !== 'object' || retry === null)
    throw new TypeError(`retry must be an object such as { attempts: 3 }, not ${shown(retry)}.`);
  const { attempts = 1, delay = '1s', maxDelay = '5m' } = retry;
  if (!Number.isInteger(attempts) || attempts < 1)
    throw new RangeError(`retry.attempts must be an integer of at least 1, not ${shown(attempts)}.`);
  return {
    attempts,
    delayMs: toMs(delay, 'retry.delay'),
    maxDelayMs: toMs(maxDelay, 'retry.maxDelay'),
  };
}

/** The delay after the n-th failed attempt, in milliseconds. `failed` is n, beginning with 1. */
export function delayAfter(policy: RetryPolicy, failed: number): number {
  return backoffMs({ minMs: policy.delayMs, maxMs: policy.maxDelayMs }, failed - 1);
}
