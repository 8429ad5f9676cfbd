/**
 * Work on a whole store that nobody waits for: in small batches, with rests in between that keep no process alive.
 * Whoever does wait for its end, or for it to stop, ends the rest.
 */
import { StoreClosed } from '../../engine/store-errors.ts';
import { runtime } from '../../model/runtime.ts';

/** What a batch came to: nothing is left; a rest is due; there is more to do at once; another process is at it. */
export type Progress = 'end' | 'rest' | 'go on' | 'busy';

/** How many times longer than the last batch a rest is. */
const restFactor = 4;
const shortestRestMs = 1;
const busyRestMs = { usually: 500, hurried: 20 };

export class BackgroundWork {
  readonly #batch: () => Promise<Progress>;
  readonly #place: string;
  /** As in "Values in … could not be rewritten". */
  readonly #failure: string;
  #running: Promise<void> | undefined;
  #isHurried = false;
  #isStopped = false;
  #endRest = () => {};

  constructor(parts: {
    readonly batch: () => Promise<Progress>;
    readonly place: string;
    readonly failure: string;
  }) {
    this.#batch = parts.batch;
    this.#place = parts.place;
    this.#failure = parts.failure;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Begins, if it has not begun. */
  start(): void {
    if (this.#running || this.#isStopped) return;
    this.#run().catch((error: unknown) => {
      if (error instanceof StoreClosed || this.#isStopped) return;
      process.emitWarning(`${this.#failure}: ${(error as Error).message}`);
    });
  }

  /** Resolves once nothing is left to be done, and takes no rests until then. */
  async finish(): Promise<void> {
    this.#isHurried = true;
    this.#endRest();
    try {
      await this.#run();
    } finally {
      this.#isHurried = false;
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#endRest();
    await this.#running?.catch(() => {});
  }

  #run(): Promise<void> {
    this.#running ??= this.#toTheEnd().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #toTheEnd(): Promise<void> {
    for (;;) {
      if (this.#isStopped) throw new StoreClosed(this.#place);
      const started = runtime.monotonic();
      const progress = await this.#batch();
      if (progress === 'end') return;
      if (progress === 'busy') await this.#rest(this.#isHurried ? busyRestMs.hurried : busyRestMs.usually);
      else if (progress === 'rest' && !this.#isHurried)
        await this.#rest(Math.max(shortestRestMs, (runtime.monotonic() - started) * restFactor));
    }
  }

  async #rest(ms: number): Promise<void> {
    if (this.#isStopped) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = runtime.setTimeout(resolve, ms);
    if (!this.#isHurried) timer.unref();
    this.#endRest = resolve;
    await promise;
    runtime.clearTimeout(timer);
  }
}
