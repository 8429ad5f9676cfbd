/** Several workers on one file, killed at random moments and replaced, while everything they acknowledged is kept. */
import { setTimeout as pause } from 'node:timers/promises';
import { openSqlite } from '../../../src/sqlite.ts';
import { Child } from '../../kit/child.ts';
import { type Random, seededRandom } from '../../kit/random.ts';
import { until } from '../../kit/until.ts';
import type { Line } from './acknowledgement.ts';
import { problemsOf } from './check.ts';
import { finishEverything } from './drain.ts';
import { Ledger } from './ledger.ts';
import { Observer } from './observer.ts';
import { readSnapshot } from './snapshot.ts';
import type { WorkerOptions } from './worker.ts';

const killsBetweenChecks = 10;

export async function killAtRandom(options: {
  readonly file: string;
  readonly seed: number;
  readonly kills: number;
  readonly processes: number;
}) {
  const ledger = new Ledger();
  let kills = 0;
  // An observer that outlives them all, for the first half. It keeps the file open, so later there is none: then a
  // worker may be the first to open what nobody else has open, and has to recover it.
  const observing = await openSqlite(options.file);
  const observer = new Observer(observing.store);
  const crew = crewOf(options.file, options.processes, seededRandom(options.seed), ledger);
  const killSome = async (enough: number) => {
    for (let checked = kills; kills < enough; ) {
      kills += await crew.disturb();
      if (kills - checked < killsBetweenChecks) continue;
      checked = kills;
      inspect(options.file, ledger);
    }
  };
  try {
    await killSome(options.kills / 2);
    const acknowledged = [...ledger.writes];
    await until(() => acknowledged.every(({ id, version }) => observer.has(id, version)));
    refute('heard by the observer', observer.problems);
    await observing.close();
    await killSome(options.kills);
  } finally {
    await crew.killAll();
    await observing.close();
  }
  inspect(options.file, ledger);
  await finishTheirWork(options.file, ledger);
  const { tasks, removals } = inspect(options.file, ledger);
  return {
    kills,
    tasks: tasks.size + removals.size,
    purged: removals.size,
    acknowledged: ledger.writes.length,
    refusals: Object.fromEntries(ledger.refusals),
  };
}

/** Keeps so many workers on a file, which are killed and replaced at once. */
function crewOf(file: string, size: number, random: Random, ledger: Ledger) {
  const start = () => {
    const options: WorkerOptions = { file, seed: random.between(0, 2 ** 31) };
    return new Child<Line>('techniques/chaos/worker.ts', options, ledger.hear);
  };
  const workers = Array.from({ length: size }, start);
  return {
    /** After a while kills one worker, sometimes all; sometimes one is stopped for a moment first. */
    async disturb(): Promise<number> {
      const { length } = ledger.writes;
      // Some are killed only once there was work, however long a process takes to start.
      if (random.chance(0.3)) await until(() => ledger.writes.length > length);
      await pause(random.between(80, 340));
      const index = random.between(0, size - 1);
      if (random.chance(0.1)) {
        workers[index]!.stop();
        await pause(random.between(50, 250));
        workers[index]!.go();
      }
      const indices = random.chance(0.15) ? [...workers.keys()] : [index];
      const killed = await Promise.all(indices.map((one) => workers[one]!.kill()));
      for (const [n, one] of indices.entries()) {
        if (killed[n]!.signal !== 'SIGKILL')
          throw new Error(`A worker ended by itself. ${workers[one]!.complaints}`);
        workers[one] = start();
      }
      return indices.length;
    },

    killAll: () => Promise.all(workers.map((worker) => worker.kill())),
  };
}

function inspect(file: string, ledger: Ledger) {
  refute('said by the workers', ledger.failures);
  // Lines arrive only between turns of the event loop: all that the ledger holds was committed before this read.
  const snapshot = readSnapshot(file);
  refute('found in the database', problemsOf(snapshot));
  refute('missing', ledger.missingFrom(snapshot));
  return snapshot;
}

async function finishTheirWork(file: string, ledger: Ledger): Promise<void> {
  const database = await openSqlite(file);
  try {
    const stuck = await finishEverything(database, ledger.hear);
    const told = stuck.map((task) => JSON.stringify(task));
    refute('stuck', told);
  } finally {
    await database.close();
  }
}

function refute(where: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new Error(`${problems.length} problems ${where}:\n${problems.slice(0, 10).join('\n')}`);
}
