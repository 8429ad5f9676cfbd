/**
 * The first moments of a run. Much work is done in them, and callers come back at once to see: a look that waits them
 * out finds the outcome, where otherwise it would find nothing and have to come again.
 */
import { runtime } from '../model/runtime.ts';

const headStartMs = 20;

export class HeadStart {
  readonly #until = runtime.monotonic() + headStartMs;
  #isOver = false;
  #waiting: Promise<void> | undefined;
  #end: () => void = () => {};

  /** Resolves when the run has ended or had its head start; undefined if that is past. */
  wait(): Promise<void> | undefined {
    const left = this.#until - runtime.monotonic();
    if (this.#isOver || left <= 0) return undefined;
    this.#waiting ??= new Promise((resolve) => {
      const timer = runtime.setTimeout(resolve, left);
      this.#end = () => {
        runtime.clearTimeout(timer);
        resolve();
      };
    });
    return this.#waiting;
  }

  end(): void {
    this.#isOver = true;
    this.#end();
  }
}
