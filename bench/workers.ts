/** Workers in other processes, on both stores: latency, take-over after SIGKILL, and owners that take turns. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { startPostgres } from '../test/postgres/server.ts';
import { type FairnessPlan, measureFairness } from './fairness.ts';
import { inFolder } from './folder.ts';
import { type LatencyPlan, measureLatency } from './latency.ts';
import type { Findings, Suite } from './report.ts';
import { measureTakeOver } from './take-over.ts';
import type { Store } from './worker-process.ts';

interface Plan {
  readonly latency: LatencyPlan;
  readonly takeOvers: number;
  readonly fairness: FairnessPlan;
}

const full: Plan = {
  latency: { rounds: 5, samples: 200 },
  takeOvers: 11,
  fairness: { rounds: 7, crowd: 10_000 },
};
const quick: Plan = {
  latency: { rounds: 1, samples: 20 },
  takeOvers: 1,
  fairness: { rounds: 1, crowd: 500 },
};

export const workers: Suite = {
  name: 'workers',
  run: ({ quick: isQuick }) =>
    inFolder(async (folder) => {
      const plan = isQuick ? quick : full;
      const postgres = await startPostgres();
      try {
        const stores: Store[] = [
          { name: 'SQLite', createDatabase: async () => join(folder, `${randomUUID()}.db`) },
          { name: 'Postgres', createDatabase: () => postgres.createDatabase() },
        ];
        const latency = await measureLatency(stores, plan.latency);
        const takeOver = await measureTakeOver(stores, plan.takeOvers);
        const fairness = await measureFairness(stores, plan.fairness);
        return {
          comparisons: fairness.comparisons,
          rates: [],
          tables: [latency.table, takeOver.table],
          targets: [...latency.targets, ...takeOver.targets, ...fairness.targets],
        } satisfies Findings;
      } finally {
        await postgres.stop();
      }
    }),
};
