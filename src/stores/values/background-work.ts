/** Work on a whole store that nobody waits for: in small batches, with rests in between that keep no process alive. */
import { runtime } from '../../model/runtime.ts';

/** After a batch: nothing is left to do, or there is more. */
export type Progress = 'end' | 'rest';

/** How many times longer than the last batch a rest is. */
const restFactor = 4;
const shortestRestMs = 1;

export class BackgroundWork {
  readonly #batch: () => Promise<Progress>;
  /** As in "Unused space of … could not be given back". */
  readonly #failure: string;
  #running: Promise<void> | undefined;
  #isStopped = false;
  #endRest = () => {};

  constructor(parts: { readonly batch: () => Promise<Progress>; readonly failure: string }) {
    this.#batch = parts.batch;
    this.#failure = parts.failure;
  }

  /** Begins, if it has not begun. */
  start(): void {
    if (this.#isStopped) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#endRest();
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isStopped) {
        const started = runtime.monotonic();
        if ((await this.#batch()) === 'end') return;
        await this.#rest(Math.max(shortestRestMs, (runtime.monotonic() - started) * restFactor));
      }
    } catch (error) {
      if (!this.#isStopped) process.emitWarning(`${this.#failure}: ${(error as Error).message}`);
    }
  }

  async #rest(ms: number): Promise<void> {
    if (this.#isStopped) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = runtime.setTimeout(resolve, ms).unref();
    this.#endRest = resolve;
    await promise;
    runtime.clearTimeout(timer);
  }
}
