/**
 * Ten tasks of one owner, from the first `create` to the last completion, while another owner has ten thousand ready
 * tasks; compared with the same ten tasks on an idle worker.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks, type Tasks } from '../src/index.ts';
import { timing } from './measure.ts';
import { type Comparison, count, ratio, type Target } from './report.ts';
import { brief, tools } from './worker.ts';
import { openDatabase, type Store, WorkerProcess } from './worker-process.ts';

export interface FairnessPlan {
  readonly rounds: number;
  /** Tasks of the other owner. */
  readonly crowd: number;
}

const few = 10;
/** Few, so that owners compete for slots and not for the CPU. */
const concurrency = 8;

export async function measureFairness(
  stores: readonly Store[],
  { rounds, crowd }: FairnessPlan,
): Promise<{ comparisons: Comparison[]; targets: Target[] }> {
  const sides: Side[] = [];
  try {
    for (const store of stores) for (const others of [0, crowd]) sides.push(await Side.open(store, others));
    for (let round = 0; round < rounds; round++)
      for (let turn = 0; turn < sides.length; turn++) await sides[(round + turn) % sides.length]!.run();
    const comparisons = stores.map(({ name }, index): Comparison => {
      const [alone, crowded] = sides.slice(index * 2, index * 2 + 2);
      return {
        what: `${name}: ${few} tasks of one owner next to ${count(crowd)} of another; baseline: alone`,
        stored: crowd,
        holdfast: timing(crowded!.samplesUs),
        baseline: timing(alone!.samplesUs),
      };
    });
    return {
      comparisons,
      targets: comparisons.map((one) => ({ what: one.what, measured: ratio(one), atMost: 2 })),
    };
  } finally {
    for (const side of sides) await side.close();
  }
}

/** A database whose tasks only run during a measurement. */
class Side {
  readonly samplesUs: number[] = [];
  readonly #location: string;
  readonly #tasks: Tasks;
  readonly #others: number;
  #ready = 0;

  private constructor(location: string, tasks: Tasks, others: number) {
    this.#location = location;
    this.#tasks = tasks;
    this.#others = others;
  }

  static async open({ createDatabase }: Store, others: number): Promise<Side> {
    const location = await createDatabase();
    const tasks = createTasks({ store: () => openDatabase(location), tools });
    const side = new Side(location, tasks, others);
    await tasks.subscribe(({ events }) => {
      if (events.some(({ type }) => type === 'finished')) side.#ready--;
    });
    return side;
  }

  async run(): Promise<void> {
    await this.#refill();
    const worker = await WorkerProcess.start(this.#location, concurrency);
    try {
      await this.#few();
      await pause(200 + Math.random() * 100);
      const started = performance.now();
      await this.#few();
      this.samplesUs.push((performance.now() - started) * 1_000);
      if (this.#others > 0 && this.#ready <= 0)
        throw new Error('The crowd was gone before the measurement ended.');
    } finally {
      await worker.stop();
    }
  }

  close(): Promise<void> {
    return this.#tasks.close();
  }

  async #few(): Promise<void> {
    this.#ready += few;
    const run = async () => this.#tasks.outcome((await this.#tasks.create(brief, {}, { owner: 'few' })).id);
    await Promise.all(Array.from({ length: few }, run));
  }

  async #refill(): Promise<void> {
    while (this.#ready < this.#others) {
      const missing = Math.min(500, this.#others - this.#ready);
      await Promise.all(
        Array.from({ length: missing }, () => this.#tasks.create(brief, {}, { owner: 'many' })),
      );
      this.#ready += missing;
    }
  }
}
