/** How often an owner asks: what is more than its share of a minute is refused. Each process counts for itself. */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { runtime } from '../model/runtime.ts';
import type { Owner } from '../model/task.ts';
import { OverLimit } from '../protocol/errors.ts';
import type { Limits } from './limits.ts';

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
export class Rate {
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

  /** Undefined if there is nothing to wait for. */
  spend(owner: Owner): Promise<void> | undefined {
    const portion = this.#portions.get(owner);
    if (!portion || portion.left === 0 || portion.until < runtime.now()) return this.#portionFor(owner);
    portion.left--;
    return undefined;
  }

  async #portionFor(owner: Owner): Promise<void> {
    try {
      const { msBeforeNext } = await this.#limiter.consume(owner, this.#portion);
      // Owners that are not heard of any more need not be remembered.
      if (this.#portions.size > 10_000) this.#portions.clear();
      this.#portions.set(owner, { left: this.#portion - 1, until: runtime.now() + msBeforeNext });
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

/** The rates that are limited at all. */
export function ratesOf(limits: Limits): ReadonlyMap<Spending, Rate> {
  const kinds: readonly Spending[] = ['calls', 'looks', 'results', 'lists'];
  const limited = kinds.filter((kind) => Number.isFinite(limits[`${kind}PerMinute`]));
  return new Map(limited.map((kind) => [kind, new Rate(kind, limits[`${kind}PerMinute`])]));
}
