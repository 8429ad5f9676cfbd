/**
 * What one owner may ask of a server, so that nobody takes another's service away. Rates are counted by each process
 * for itself; how many tasks there are is counted in the store, now and then, and in between by what this process does.
 */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Requests } from '../engine/requests.ts';
import { HoldfastError } from '../model/errors.ts';
import type { Owner } from '../model/task.ts';
import { OverLimit } from '../protocol/errors.ts';

export interface Limits {
  /** Calls that may become tasks, of one owner in a minute. */
  readonly callsPerMinute: number;
  /** Looks at tasks, answers and cancellations. */
  readonly looksPerMinute: number;
  readonly resultsPerMinute: number;
  readonly listsPerMinute: number;
  /** Tasks of one owner that are not over. */
  readonly liveTasksPerOwner: number;
  /** Tasks of one owner, those that are over and still kept among them. */
  readonly keptTasksPerOwner: number;
  /** Subscriptions of one owner that are open. */
  readonly subscriptionsPerOwner: number;
}

export const defaultLimits: Limits = {
  callsPerMinute: 600,
  looksPerMinute: 6_000,
  resultsPerMinute: 600,
  listsPerMinute: 120,
  liveTasksPerOwner: 1_000,
  keptTasksPerOwner: 10_000,
  subscriptionsPerOwner: 100,
};

export class InvalidLimit extends HoldfastError {
  constructor(name: string, value: unknown) {
    super(`limits.${name} must be a whole number of at least 1, or Infinity, not ${String(value)}.`);
  }
}

export function limitsFrom(given: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaultLimits, name))
      throw new InvalidLimit(name, 'something that there is no limit for');
    if (value !== Number.POSITIVE_INFINITY && !(Number.isInteger(value) && value >= 1))
      throw new InvalidLimit(name, value);
  }
  return { ...defaultLimits, ...given };
}

/** What is spent of: each has a rate of its own. */
export type Spending = 'calls' | 'looks' | 'results' | 'lists';

const words: Readonly<Record<Spending, string>> = {
  calls: 'calls',
  looks: 'looks at tasks',
  results: 'requests for results',
  lists: 'lists of tasks',
};

/**
 * One rate. An owner is given a hundredth of its share at a time, which is then spent without a word: a look at a task
 * costs less than asking whether it is allowed.
 */
class Rate {
  readonly #kind: Spending;
  readonly #points: number;
  readonly #portion: number;
  readonly #limiter: RateLimiterMemory;
  readonly #portions = new Map<Owner, { left: number; readonly until: number }>();

  constructor(kind: Spending, points: number) {
    this.#kind = kind;
    this.#points = points;
    this.#portion = Math.max(1, Math.floor(points / 100));
    this.#limiter = new RateLimiterMemory({ points, duration: 60 });
  }

  spend(owner: Owner): Promise<void> | undefined {
    const portion = this.#portions.get(owner);
    if (!portion || portion.left === 0 || portion.until < Date.now()) return this.#portionFor(owner);
    portion.left--;
    return undefined;
  }

  async #portionFor(owner: Owner): Promise<void> {
    try {
      const { msBeforeNext } = await this.#limiter.consume(owner, this.#portion);
      // Owners that are not heard of any more need not be remembered.
      if (this.#portions.size > 10_000) this.#portions.clear();
      this.#portions.set(owner, { left: this.#portion - 1, until: Date.now() + msBeforeNext });
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      throw new OverLimit(
        `${this.#kind}PerMinute`,
        `No more than ${this.#points} ${words[this.#kind]} a minute.`,
        refused.msBeforeNext,
      );
    }
  }
}

/** How long a count of the store is believed. */
const countedForMs = 30_000;

interface Counted {
  live: number;
  kept: number;
  at: number;
}

export class Limiter {
  readonly limits: Limits;
  readonly #rates = new Map<Spending, Rate>();
  readonly #counted = new Map<Owner, Counted>();
  readonly #subscriptions = new Map<Owner, number>();

  constructor(limits: Limits) {
    this.limits = limits;
    for (const kind of ['calls', 'looks', 'results', 'lists'] as const) {
      const points = limits[`${kind}PerMinute`];
      if (Number.isFinite(points)) this.#rates.set(kind, new Rate(kind, points));
    }
  }

  /** Refuses what is more than the owner's share of a minute. Undefined if there is nothing to wait for. */
  spend(owner: Owner, kind: Spending): Promise<void> | undefined {
    return this.#rates.get(kind)?.spend(owner);
  }

  /** Refuses one task more than an owner may have; otherwise it is counted. */
  async admitTask(requests: Requests, owner: Owner): Promise<void> {
    const { liveTasksPerOwner, keptTasksPerOwner } = this.limits;
    if (!Number.isFinite(liveTasksPerOwner) && !Number.isFinite(keptTasksPerOwner)) return;
    let counted = this.#counted.get(owner);
    const isOld = !counted || requests.now - counted.at > countedForMs;
    // What seems to be too much is counted again before anybody is refused.
    if (isOld || counted!.live >= liveTasksPerOwner || counted!.kept >= keptTasksPerOwner)
      counted = await this.#count(requests, owner);
    if (counted!.live >= liveTasksPerOwner)
      throw new OverLimit(
        'liveTasksPerOwner',
        `No more than ${liveTasksPerOwner} tasks at a time: wait until some are over, or cancel them.`,
      );
    if (counted!.kept >= keptTasksPerOwner)
      throw new OverLimit(
        'keptTasksPerOwner',
        `No more than ${keptTasksPerOwner} tasks are kept: wait until some have expired.`,
      );
    counted!.live++;
    counted!.kept++;
  }

  /** Refuses one subscription more than an owner may have; gives how to say that it is over. */
  subscribe(owner: Owner): () => void {
    const { subscriptionsPerOwner } = this.limits;
    const open = this.#subscriptions.get(owner) ?? 0;
    if (open >= subscriptionsPerOwner)
      throw new OverLimit(
        'subscriptionsPerOwner',
        `No more than ${subscriptionsPerOwner} subscriptions at a time: close one first.`,
      );
    this.#subscriptions.set(owner, open + 1);
    return () => {
      const left = (this.#subscriptions.get(owner) ?? 1) - 1;
      if (left === 0) this.#subscriptions.delete(owner);
      else this.#subscriptions.set(owner, left);
    };
  }

  async #count(requests: Requests, owner: Owner): Promise<Counted> {
    const { liveTasksPerOwner, keptTasksPerOwner } = this.limits;
    const upTo = (limit: number) => (Number.isFinite(limit) ? limit : 0);
    const counted = {
      live: await requests.count(owner, 'live', upTo(liveTasksPerOwner)),
      kept: await requests.count(owner, 'kept', upTo(keptTasksPerOwner)),
      at: requests.now,
    };
    // Owners that are not heard of any more need not be remembered.
    if (this.#counted.size > 10_000) this.#counted.clear();
    this.#counted.set(owner, counted);
    return counted;
  }
}
