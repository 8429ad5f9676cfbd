import type { Clock } from '../runtime/clock.ts';

/**
 * A clock that only moves when a test moves it, and then fires the timers that are due. All times are in milliseconds.
 * It starts on 28 July 2026, unless `now` is given.
 */
export class ManualClock implements Clock {
  #now: number;
  /** How far the wall clock is ahead of the monotonic clock. */
  #ahead = 0;
  readonly #due = new Set<{ readonly at: number; readonly callback: () => void }>();

  constructor(now = Date.UTC(2026, 6, 28)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.#ahead;
  }

  schedule(at: number, callback: () => void): () => void {
    const entry = { at, callback };
    this.#due.add(entry);
    return () => this.#due.delete(entry);
  }

  /**
   * Sets the wall clock forward (or back, if negative) by `ms`, like a time server. The monotonic clock does not move.
   * Timers follow the wall clock.
   */
  set(ms: number): void {
    this.#ahead += ms;
    this.jump(ms);
  }

  /** Moves both clocks at once, like a machine that wakes from sleep. Timers that became due see the new time. */
  jump(ms: number): void {
    this.#now += ms;
    this.advance(0);
  }

  /** Moves both clocks from timer to timer, so that each callback sees the time for which it was scheduled. */
  advance(ms: number): void {
    const target = this.#now + ms;
    for (;;) {
      const next = [...this.#due].filter(({ at }) => at <= target).toSorted((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#due.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = target;
  }
}
