/**
 * The time from `create` until an idle worker in another process starts the task, and until the creator sees its
 * completion. Tasks arrive one at a time at random intervals, so that they are not synchronized with any timer.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks, type Tasks } from '../src/index.ts';
import { median, monotonicMs, randomGapMs, timing } from './measure.ts';
import type { Table, Target } from './report.ts';
import { stamp, tools } from './worker.ts';
import { openDatabase, type Store, WorkerProcess } from './worker-process.ts';

export interface LatencyPlan {
  readonly rounds: number;
  readonly samples: number;
}

interface Limits {
  readonly startP50: number;
  readonly seenP50: number;
  readonly seenP99?: number;
}

/** Milliseconds. */
const limits: Readonly<Record<string, Limits>> = {
  SQLite: { startP50: 6, seenP50: 10, seenP99: 30 },
  Postgres: { startP50: 6, seenP50: 10 },
};

export async function measureLatency(
  stores: readonly Store[],
  { rounds, samples }: LatencyPlan,
): Promise<{ table: Table; targets: Target[] }> {
  const sides = await Promise.all(stores.map(Side.open));
  try {
    for (let round = 0; round <= rounds; round++)
      for (let turn = 0; turn < sides.length; turn++) {
        // The first round is a warm-up.
        const isKept = round > 0;
        await sides[(round + turn) % sides.length]!.run(isKept ? samples : Math.ceil(samples / 10), isKept);
      }
    const suffix = `(median of ${rounds} rounds of ${samples} at random gaps)`;
    return {
      table: {
        columns: ['ms from the call', 'start p50', 'start p99', 'seen p50', 'seen p99'],
        rows: sides.map(({ name, start, seen }) => [
          name,
          median(start.p50s),
          median(start.p99s),
          median(seen.p50s),
          median(seen.p99s),
        ]),
      },
      targets: sides.flatMap(({ name, start, seen }) => {
        const { startP50, seenP50, seenP99 } = limits[name]!;
        const target = (what: string, values: readonly number[], atMost: number): Target => ({
          what: `${name}: ${what} ${suffix}`,
          measured: median(values),
          atMost,
          unit: 'ms',
        });
        return [
          target('an idle worker in another process starts, p50', start.p50s, startP50),
          target('… and its completion is seen, p50', seen.p50s, seenP50),
          ...(seenP99 === undefined ? [] : [target('… p99', seen.p99s, seenP99)]),
        ];
      }),
    };
  } finally {
    for (const side of sides) await side.close();
  }
}

class Rounds {
  readonly p50s: number[] = [];
  readonly p99s: number[] = [];

  add(samples: readonly number[]): void {
    const { p50, p99 } = timing(samples);
    this.p50s.push(p50);
    this.p99s.push(p99);
  }
}

/** One store with a creator here and a worker elsewhere. */
class Side {
  readonly start = new Rounds();
  readonly seen = new Rounds();
  readonly name: string;
  readonly #tasks: Tasks;
  readonly #worker: WorkerProcess;
  readonly #begins = new Map<string, PromiseWithResolvers<number>>();

  private constructor(name: string, tasks: Tasks, worker: WorkerProcess) {
    this.name = name;
    this.#tasks = tasks;
    this.#worker = worker;
    worker.onBegan(({ taskId, atMs }) => this.#begin(taskId).resolve(atMs));
  }

  static async open({ name, createDatabase }: Store): Promise<Side> {
    const location = await createDatabase();
    const tasks = createTasks({ store: () => openDatabase(location), tools });
    await tasks.opened();
    return new Side(name, tasks, await WorkerProcess.start(location));
  }

  async run(samples: number, isKept: boolean): Promise<void> {
    const start: number[] = [];
    const seen: number[] = [];
    for (let n = 0; n < samples; n++) {
      await pause(randomGapMs());
      const calledMs = monotonicMs();
      const { id } = await this.#tasks.create(stamp);
      await this.#tasks.outcome(id);
      seen.push(monotonicMs() - calledMs);
      start.push((await this.#begin(id).promise) - calledMs);
      this.#begins.delete(id);
    }
    if (!isKept) return;
    this.start.add(start);
    this.seen.add(seen);
  }

  async close(): Promise<void> {
    await this.#worker.stop();
    await this.#tasks.close();
  }

  #begin(id: string): PromiseWithResolvers<number> {
    const known = this.#begins.get(id) ?? Promise.withResolvers<number>();
    this.#begins.set(id, known);
    return known;
  }
}
