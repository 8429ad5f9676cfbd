import type { Clock } from '../runtime/clock.ts';

/** A clock that moves only when it is told to, forwards or back, and fires what has come due on the way. */
export class ManualClock implements Clock {
  #now: number;
  /** How far the wall clock is ahead of the monotonic one. */
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

  /** Sets the wall clock, forward or back, as a time server does: no time passes. */
  set(ms: number): void {
    this.#ahead += ms;
    this.jump(ms);
  }

  /** Moves at once, as a machine that wakes from sleep: what came due meanwhile fires afterwards, late. */
  jump(ms: number): void {
    this.#now += ms;
    this.advance(0);
  }

  /** Moves step by step: what comes due on the way fires at its time. */
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
