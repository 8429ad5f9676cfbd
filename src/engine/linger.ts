/** How long a pass that only waits stays in memory. Being woken for nothing does not begin that time anew. */
import { runtime, type Timer } from '../model/runtime.ts';
export class Linger {
  #timer: Timer | undefined;
  #isOver = false;

  /** True if the time is over; if not, `end` is called when it is. */
  isOver(ms: number, end: () => void): boolean {
    if (!this.#isOver)
      this.#timer ??= runtime.setTimeout(() => {
        this.#isOver = true;
        end();
      }, ms);
    return this.#isOver;
  }

  /** Something happened: the next wait has all the time again. */
  reset(): void {
    runtime.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isOver = false;
  }
}
