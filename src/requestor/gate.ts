import type { Halt } from './halt.ts';

/** Lets so many through at once; the others wait for their turn, the first first. */
export class Gate {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #inside = 0;

  constructor(most: number) {
    this.#most = most;
  }

  async pass<T>(act: () => Promise<T>, halt: Halt): Promise<T> {
    if (this.#inside >= this.#most) await this.#turn(halt);
    else this.#inside++;
    try {
      return await act();
    } finally {
      this.#leave();
    }
  }

  #turn(halt: Halt): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        release();
        resolve();
      };
      const release = halt.hold((reason) => {
        this.#waiting.delete(enter);
        reject(reason);
      });
      this.#waiting.add(enter);
    });
  }

  /** Whoever leaves gives its place to the next. */
  #leave(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#inside--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
