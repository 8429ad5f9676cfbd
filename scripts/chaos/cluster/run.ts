/** One run of chaos on a cluster: two servers, three workers, one database, many clients; then the verdict. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Batch } from '../../../src/engine/journal.ts';
import { newId } from '../../../src/model/id.ts';
import { seededRandom } from '../../../test/chaos/random.ts';
import { counts, told } from '../problem.ts';
import { Caller, type Plan } from './caller.ts';
import { checkHistory, type Verdict } from './check-history.ts';
import { type FaultPlan, Faults } from './faults.ts';
import { type History, HistoryFile, moment, readHistory } from './history.ts';
import { Members } from './members.ts';
import type { Place } from './place.ts';
import type { ClusterReport } from './report.ts';
import { openStore } from './store.ts';

export interface ClusterOptions {
  readonly place: Place;
  /** An empty folder for the history. */
  readonly folder: string;
  readonly seed: number;
  /** Errands, each with two subtasks. There are more if the kills take longer than they do. */
  readonly errands: number;
  readonly faults: FaultPlan;
  readonly tell?: (progress: ClusterProgress) => void;
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
/** Errands under way at the same time. */
const fleet = 30;
const finishWithinMs = 120_000;

export async function unleashOnCluster(options: ClusterOptions): Promise<JudgedCluster> {
  const { place, folder, seed, errands, faults: plan, tell = () => {} } = options;
  const started = moment();
  const run = `cluster-${newId().slice(0, 12)}`;
  const history = new HistoryFile(folder, 'run');
  const random = (salt: number) => seededRandom(seed * 8 + salt);
  const database = await openStore(place.url);
  // Heard through the port of the store, by a process that nobody kills.
  const unsubscribe = database.store.subscribe(({ taskId: task, version }) =>
    history.add({ what: 'commit', task, version, at: moment() }),
  );
  const members = new Members({ store: place.url, folder, run }, history);
  const faults = new Faults(members, place, random(0), history);
  const orders = random(1);
  const callers: Caller[] = [];
  const underWay = new Set<Promise<void>>();
  let isCalm = false;
  const progress = () => ({
    kills: members.kills,
    ordered: callers.length,
    finished: callers.filter(({ isDone }) => isDone).length,
  });
  const keepUnderWay = async () => {
    while (callers.length < errands || !isCalm) {
      if (underWay.size < fleet) {
        const caller = new Caller({
          members,
          history,
          random: orders,
          plan: planOf(orders, callers.length + 1),
        });
        callers.push(caller);
        const running: Promise<void> = caller.run().finally(() => underWay.delete(running));
        underWay.add(running);
      }
      await pause(40);
    }
  };
  try {
    await members.start(sizes);
    const ordering = keepUnderWay();
    await pause(500);
    await faults.unleash(plan, () => tell(progress()));
    isCalm = true;
    await Promise.race([
      ordering.then(() => Promise.all(underWay)),
      pause(finishWithinMs, undefined, { ref: false }),
    ]);
    for (const caller of callers) await caller.lookEverywhere();
    tell(progress());
    await members.stopAll();
    await heardAll(folder, database, history);
  } finally {
    await members.killAll();
    unsubscribe();
    await database.close();
  }
  const entries = readHistory(folder);
  const verdict = checkHistory(entries);
  const problems = [...members.problems, ...verdict.problems];
  const { lost, repeated, broken } = counts(problems);
  const longest = (of: readonly number[]) => Math.round(Math.max(0, ...of));
  const calm = (how: 'killed' | 'stopped') =>
    verdict.takeOvers.filter((one) => one.how === how && one.ms === one.calmMs).map(({ ms }) => ms);
  return {
    report: {
      seed,
      kills: members.kills,
      errands: callers.length,
      tasks: verdict.attempts.tasks.size,
      steps: verdict.attempts.steps,
      attemptsInVain: verdict.attempts.inVain,
      entries: entries.length,
      restarts: faults.restarts,
      cuts: faults.cuts,
      stops: faults.stops,
      takeOvers: verdict.takeOvers.length,
      undisturbedTakeOvers: calm('killed').length,
      longestTakeOverMs: longest(calm('killed')),
      longestTakeOverFromStoppedMs: longest(calm('stopped')),
      longestDisturbedTakeOverMs: longest(verdict.takeOvers.map(({ ms }) => ms)),
      superseded: members.logs.filter(({ entry }) => entry.event === 'superseded').length,
      seconds: Math.round((moment() - started) / 1_000),
      lost,
      repeatedSteps: repeated,
      brokenInvariants: broken,
      problems: problems.map(told),
    },
    history: entries,
    verdict,
  };
}

function planOf(random: ReturnType<typeof seededRandom>, n: number): Plan {
  return {
    key: `errand ${n} ${newId()}${newId()}`,
    input: { rest: random.between(50, 600), haul: random.between(200, 900) },
    listens: random.chance(0.35),
    ...(random.chance(0.12) && { cancelsAfterMs: random.between(0, 4_000) }),
  };
}

/** Everything as it is stored in the end, when the feed has told of it all. */
async function heardAll(
  folder: string,
  { store }: Awaited<ReturnType<typeof openStore>>,
  history: HistoryFile,
): Promise<void> {
  const entries = readHistory(folder);
  const tasks = new Set(entries.flatMap((entry) => ('task' in entry ? [entry.task] : [])));
  await pause(2_500);
  for (const id of tasks) {
    const task = await store.get(id);
    if (!task) continue;
    const batches = (await store.journal(id)) as unknown as Partial<Batch>[];
    const settled = batches.flatMap(({ entries = [] }) => entries.map(({ call }) => call));
    history.add({ what: 'stored', task: id, version: task.version, settled });
  }
}
