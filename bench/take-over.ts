/** How long a task pauses when its worker is killed in one of twenty steps, while another worker is idle. */
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks } from '../src/index.ts';
import { monotonicMs, timing } from './measure.ts';
import type { Table, Target } from './report.ts';
import { long, tools } from './worker.ts';
import { type Began, openDatabase, type Store, WorkerProcess } from './worker-process.ts';

const stepOfDeath = 8;

export async function measureTakeOver(
  stores: readonly Store[],
  trials: number,
): Promise<{ table: Table; targets: Target[] }> {
  const samples = new Map(stores.map(({ name }) => [name, [] as number[]]));
  for (let trial = 0; trial < trials; trial++)
    for (let turn = 0; turn < stores.length; turn++) {
      const store = stores[(trial + turn) % stores.length]!;
      samples.get(store.name)!.push(await takeOverSeconds(await store.createDatabase()));
    }
  const timings = [...samples].map(([name, values]) => ({ name, ...timing(values), values }));
  return {
    table: {
      columns: ['take-over after SIGKILL, seconds', 'p50', 'min', 'max', 'trials'],
      rows: timings.map(({ name, p50, values }) => [
        name,
        p50,
        Math.min(...values),
        Math.max(...values),
        trials,
      ]),
    },
    targets: timings
      .filter(({ name }) => name === 'Postgres')
      .map(({ name, p50 }) => ({
        what: `${name}: the next step begins in another worker after SIGKILL, p50 of ${trials}`,
        measured: p50,
        atMost: 1.5,
        unit: 's',
      })),
  };
}

async function takeOverSeconds(location: string): Promise<number> {
  const tasks = createTasks({ store: () => openDatabase(location), tools });
  await tasks.opened();
  const workers = await Promise.all([WorkerProcess.start(location), WorkerProcess.start(location)]);
  try {
    const reached = workers.map((worker) => stepReached(worker, stepOfDeath));
    const { id } = await tasks.create(long);
    const victim = await Promise.race(reached.map(async (step, index) => (await step) && index));
    // Kill at a random moment of a step.
    await pause(Math.random() * 40);
    const resumed = reached[1 - victim]!;
    const killedMs = monotonicMs();
    await workers[victim]!.kill();
    const { atMs } = await resumed;
    await tasks.outcome(id);
    return (atMs - killedMs) / 1_000;
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await tasks.close();
  }
}

function stepReached(worker: WorkerProcess, step: number): Promise<Began> {
  return new Promise((resolve) => {
    worker.onBegan((began) => {
      if (began.step >= step) resolve(began);
    });
  });
}
