/** One process per core; each simulates one seed after the other. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import type { Order, Simulated } from './worker.ts';

/** A larger young generation makes short-lived garbage cheap; the baseline compiler suits short runs. */
const engine = ['--max-semi-space-size=64', '--always-sparkplug'];

/** Killed simulated processes leave their objects in the real one, about 5 MB per seed. */
const seedsPerProcess = 100;

const program = new URL('worker.ts', import.meta.url);

export class ProcessPool {
  readonly #isTraced: boolean;

  constructor(isTraced: boolean) {
    this.#isTraced = isTraced;
  }

  /** Runs until there is no next seed, and reports the results in the order of seeds. */
  async simulate(next: () => number | undefined, report: (simulated: Simulated) => void): Promise<void> {
    const waiting = new Map<number, Simulated | undefined>();
    const inOrder = () => {
      for (const [seed, simulated] of waiting) {
        if (!simulated) return;
        waiting.delete(seed);
        report(simulated);
      }
    };
    const work = async () => {
      let child: ChildProcess | undefined;
      let simulated = 0;
      for (let seed = next(); seed !== undefined; seed = next()) {
        if (simulated++ % seedsPerProcess === 0) {
          child?.disconnect();
          child = undefined;
        }
        child ??= fork(program, { execArgv: [...process.execArgv, ...engine], serialization: 'advanced' });
        waiting.set(seed, undefined);
        waiting.set(seed, await this.#one(child, seed));
        inOrder();
      }
      child?.disconnect();
    };
    await Promise.all(Array.from({ length: availableParallelism() }, work));
  }

  async #one(child: ChildProcess, seed: number): Promise<Simulated> {
    const order: Order = { seed, isTraced: this.#isTraced };
    child.send(order);
    const over = new AbortController();
    const { signal } = over;
    const died = once(child, 'exit', { signal }).then(() => {
      throw new Error(`Seed ${seed} ended the process that simulated it.`);
    });
    try {
      const [simulated] = await Promise.race([once(child, 'message', { signal }), died]);
      return simulated;
    } finally {
      died.catch(() => {});
      over.abort();
    }
  }
}
