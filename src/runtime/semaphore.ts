/** Ends a wait early. */
export interface Cancellation {
  /**
   * Subscribes: calls `cancel` on cancellation, or at once if already cancelled. Returns a function that unsubscribes.
   */
  hold(cancel: (reason: unknown) => void): () => void;
}

/** A fixed number of slots. If none is free, callers wait in the order of their arrival. */
export class Semaphore {
  #free: number;
  /** In the order of arrival. Calling one gives its caller a slot. */
  readonly #waiting = new Set<() => void>();

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Runs `act` as soon as a slot is free; rejects with the reason if the wait is cancelled. */
  async run<T>(act: () => Promise<T>, cancellation: Cancellation): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await this.#turn(cancellation);
    try {
      return await act();
    } finally {
      this.#release();
    }
  }

  /** Waits for a slot, and resolves to a function that releases it. Calling that function again does nothing. */
  async acquire(cancellation: Cancellation): Promise<() => void> {
    if (this.#free > 0) this.#free--;
    else await this.#turn(cancellation);
    let isReleased = false;
    return () => {
      if (!isReleased) this.#release();
      isReleased = true;
    };
  }

  /** Waits until `#release` passes on a slot; rejects with the reason if the wait is cancelled. */
  #turn(cancellation: Cancellation): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        unsubscribe();
        resolve();
      };
      this.#waiting.add(enter);
      const unsubscribe = cancellation.hold((reason) => {
        this.#waiting.delete(enter);
        reject(reason);
      });
    });
  }

  /** Passes the slot directly to the first waiting caller, so that no later caller can take it. */
  #release(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
