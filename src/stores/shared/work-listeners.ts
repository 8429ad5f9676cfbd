/** Listeners for available work. The sources that notify them (feed, timers) run only while there are listeners. */
import type { Clock } from '../../runtime/clock.ts';

export class WorkListeners {
  readonly #clock: Clock;
  /** Starts the sources; returns one function for each source, which stops it. */
  readonly #start: () => readonly (() => void)[];
  readonly #listeners = new Set<() => void>();
  #stop: readonly (() => void)[] = [];
  /** Cancels the timer of `notifyAt`. */
  #cancelTimer = () => {};

  constructor(clock: Clock, start: () => readonly (() => void)[]) {
    this.#clock = clock;
    this.#start = start;
  }

  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  /** Returns a function that removes the listener. */
  add(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#stop = this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.isEmpty) this.close();
    };
  }

  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Notifies the listeners at that time; never if it is infinite. Replaces the time of the previous call. */
  notifyAt(moment: number): void {
    this.#cancelTimer();
    this.#cancelTimer =
      moment === Number.POSITIVE_INFINITY ? () => {} : this.#clock.schedule(moment, () => this.notify());
  }

  /** Calls `act` periodically. Returns a function that stops it. */
  every(ms: number, act: () => void): () => void {
    let cancel: () => void;
    const arm = () => {
      cancel = this.#clock.schedule(this.#clock.now() + ms, () => {
        arm();
        act();
      });
    };
    arm();
    return () => cancel();
  }

  /** Removes all listeners and stops the sources. */
  close(): void {
    this.#listeners.clear();
    for (const stop of this.#stop) stop();
    this.#stop = [];
    this.#cancelTimer();
  }
}

/** Calls a listener. Its error becomes an uncaught exception and affects neither the commit nor other listeners. */
export function callListener(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
