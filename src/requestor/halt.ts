/**
 * Waiting that can be ended. However many wait, their signal has one listener: it searches its list for each that
 * comes and goes, and thousands of subtasks wait at the same time.
 */
import { runtime } from '../model/runtime.ts';
export class Halt {
  readonly signal: AbortSignal;
  readonly #held = new Set<(reason: unknown) => void>();

  constructor(signal: AbortSignal) {
    this.signal = signal;
    signal.addEventListener(
      'abort',
      () => {
        for (const end of this.#held) end(signal.reason);
        this.#held.clear();
      },
      { once: true },
    );
  }

  /** Calls back when everything is to end, at once if it is; what it returns takes that back. */
  hold(end: (reason: unknown) => void): () => void {
    if (this.signal.aborted) end(this.signal.reason);
    else this.#held.add(end);
    return () => this.#held.delete(end);
  }

  /** Until the time has passed; once the bell rings, only as long as it must be. */
  pause(ms: number, bell?: Bell, mustMs = () => 0): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        runtime.clearTimeout(timer);
        release();
        bell?.hear(undefined);
        act();
      };
      let timer = runtime.setTimeout(() => settle(resolve), ms);
      const release = this.hold((reason) => queueMicrotask(() => settle(() => reject(reason))));
      bell?.hear(() => {
        bell.hear(undefined);
        runtime.clearTimeout(timer);
        timer = runtime.setTimeout(() => settle(resolve), Math.min(mustMs(), ms));
      });
    });
  }
}

/** Says that there is news. What rang while nobody listened is heard by the next who does. */
export class Bell {
  #hasRung = false;
  #listener: (() => void) | undefined;

  ring(): void {
    this.#hasRung = true;
    this.#listener?.();
  }

  /** What comes next makes up for all that has rung so far. */
  hush(): void {
    this.#hasRung = false;
  }

  hear(listener: (() => void) | undefined): void {
    this.#listener = listener;
    if (this.#hasRung) listener?.();
  }
}
