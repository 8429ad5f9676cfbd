/** Who wants to hear of work. The sources of such news run while somebody does. */
import type { Clock } from '../../runtime/clock.ts';

export class WorkListeners {
  readonly #clock: Clock;
  /** Starts the sources; returns how to stop each. */
  readonly #start: () => readonly (() => void)[];
  readonly #listeners = new Set<() => void>();
  #stop: readonly (() => void)[] = [];
  #cancelTimer = () => {};

  constructor(clock: Clock, start: () => readonly (() => void)[]) {
    this.#clock = clock;
    this.#start = start;
  }

  get areNone(): boolean {
    return this.#listeners.size === 0;
  }

  add(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#stop = this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.areNone) this.close();
    };
  }

  tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Tells them at that moment, and not at the one that was named before. */
  tellAt(moment: number): void {
    this.#cancelTimer();
    this.#cancelTimer =
      moment === Number.POSITIVE_INFINITY ? () => {} : this.#clock.schedule(moment, () => this.tell());
  }

  /** For a source: returns how to stop it. */
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

  close(): void {
    this.#listeners.clear();
    for (const stop of this.#stop) stop();
    this.#stop = [];
    this.#cancelTimer();
  }
}

/** A listener's error is its own: it surfaces as uncaught, and neither the commit nor other listeners suffer. */
export function tell(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
