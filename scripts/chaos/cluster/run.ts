/** One chaos run on a cluster: two servers, three workers, one database and many clients; then the checks. */
import { setTimeout as pause } from 'node:timers/promises';
import { newId } from '../../../src/model/id.ts';
import { seededRandom } from '../../../test/kit/random.ts';
import { Caller, type Plan } from './caller.ts';
import { checkHistory, type Verdict } from './check-history.ts';
import { type FaultPlan, Faults } from './faults.ts';
import { type History, HistoryFile, moment, readHistory } from './history.ts';
import { Members } from './members.ts';
import type { Place } from './place.ts';
import { type ClusterReport, reportOf } from './report.ts';
import { openStore } from './store.ts';
import { boundsFor, type TakeOverBounds } from './take-overs.ts';
import { Watch } from './watch.ts';

export interface ClusterOptions {
  readonly place: Place;
  /** An empty folder for the history. */
  readonly folder: string;
  readonly seed: number;
  /** The minimum number of errands, each with two subtasks. More are ordered until all faults have happened. */
  readonly errands: number;
  readonly faults: FaultPlan;
  /** The lease of the workers; by default that of the store. */
  readonly leaseMs?: number;
  /** How soon another worker must take over; the default depends on the lease. */
  readonly bounds?: TakeOverBounds;
  readonly onProgress?: (progress: ClusterProgress) => void;
}

export interface ClusterProgress {
  readonly kills: number;
  readonly ordered: number;
  readonly finished: number;
}

export interface JudgedCluster {
  readonly report: ClusterReport;
  readonly history: History;
  readonly verdict: Verdict;
}

const sizes = { server: 2, worker: 3 };
/** Errands at the same time: fewer while too few processes have been killed. */
const concurrentErrands = { max: 30, min: 10 };
const finishWithinMs = 120_000;

export async function unleashOnCluster(options: ClusterOptions): Promise<JudgedCluster> {
  const { place, folder, seed, errands, faults: plan, onProgress = () => {} } = options;
  const leaseMs = options.leaseMs ?? (place.url.startsWith('sqlite:') ? 15_000 : 10_000);
  const started = moment();
  const run = `cluster-${newId().slice(0, 12)}`;
  const history = new HistoryFile(folder, 'run');
  const random = (salt: number) => seededRandom(seed * 8 + salt);
  const database = await openStore(place.url);
  const watch = new Watch(database, history);
  const members = new Members({ store: place.url, folder, run, lease: leaseMs }, history);
  const faults = new Faults({ members, place, random: random(0), history, folder, leaseMs });
  const orders = random(1);
  const callers: Caller[] = [];
  const inProgress = new Set<Promise<void>>();
  let isCalm = false;
  const progress = () => ({
    kills: members.kills,
    ordered: callers.length,
    finished: callers.filter(({ isDone }) => isDone).length,
  });
  const keepBusy = async () => {
    while (callers.length < errands || !isCalm) {
      const share = (members.kills + 1) / (plan.kills + 1);
      if (
        inProgress.size < (callers.length < share * errands ? concurrentErrands.max : concurrentErrands.min)
      ) {
        const caller = new Caller({
          members,
          history,
          random: orders,
          plan: planOf(orders, callers.length + 1),
        });
        callers.push(caller);
        const running: Promise<void> = caller.run().finally(() => inProgress.delete(running));
        inProgress.add(running);
      }
      await pause(40);
    }
  };
  try {
    await members.start(sizes);
    const ordering = keepBusy();
    await pause(500);
    await faults.unleash(plan, () => onProgress(progress()));
    isCalm = true;
    await Promise.race([
      ordering.then(() => Promise.all(inProgress)),
      pause(finishWithinMs, undefined, { ref: false }),
    ]);
    for (const caller of callers) await caller.pollEverywhere();
    onProgress(progress());
    await members.stopAll();
    await watch.conclude();
  } finally {
    await members.killAll();
    watch.stop();
    await database.close();
  }
  const entries = readHistory(folder);
  const verdict = checkHistory(entries, options.bounds ?? boundsFor(leaseMs), leaseMs);
  const seconds = Math.round((moment() - started) / 1_000);
  const report = reportOf({ seed, errands: callers.length, members, faults, verdict, entries, seconds });
  return { report, history: entries, verdict };
}

function planOf(random: ReturnType<typeof seededRandom>, n: number): Plan {
  return {
    key: `errand ${n} ${newId()}${newId()}`,
    input: { rest: random.between(50, 600), haul: random.between(300, 1_500) },
    listens: random.chance(0.35),
    ...(random.chance(0.12) && { cancelsAfterMs: random.between(0, 4_000) }),
  };
}
