/** The results of a run on a cluster in numbers. */
import { counts, problemText } from '../problem.ts';
import type { Verdict } from './check-history.ts';
import type { Faults } from './faults.ts';
import type { History } from './history.ts';
import type { Members } from './members.ts';

export interface ClusterReport {
  readonly seed: number;
  readonly kills: number;
  readonly errands: number;
  /** Errands and their subtasks. */
  readonly tasks: number;
  readonly steps: number;
  readonly attemptsInVain: number;
  /** Lines of the history. */
  readonly entries: number;
  readonly restarts: number;
  /** Connections to the database that were cut. */
  readonly cuts: number;
  readonly stops: number;
  readonly blocks: number;
  readonly jumps: number;
  readonly takeOvers: number;
  readonly undisturbedTakeOvers: number;
  readonly medianTakeOverMs: number;
  readonly maxTakeOverMs: number;
  readonly maxTakeOverFromStoppedMs: number;
  /** Including those with other faults in between. */
  readonly maxDisturbedTakeOverMs: number;
  /** Passes that could not commit because another worker had taken over, according to the logs of the workers. */
  readonly superseded: number;
  readonly seconds: number;
  readonly lost: number;
  readonly repeatedSteps: number;
  readonly brokenInvariants: number;
  readonly problems: readonly string[];
}

export function reportOf(parts: {
  readonly seed: number;
  readonly errands: number;
  readonly members: Members;
  readonly faults: Faults;
  readonly verdict: Verdict;
  readonly entries: History;
  readonly seconds: number;
}): ClusterReport {
  const { seed, errands, members, faults, verdict, entries, seconds } = parts;
  const { takeOvers, attempts } = verdict;
  const problems = [...members.problems, ...verdict.problems];
  const { lost, repeated, broken } = counts(problems);
  const undisturbed = (how: 'killed' | 'stopped') =>
    takeOvers.filter((one) => one.how === how && one.ms === one.calmMs).map(({ ms }) => ms);
  return {
    seed,
    kills: members.kills,
    errands,
    tasks: attempts.tasks.size,
    steps: attempts.steps,
    attemptsInVain: attempts.inVain,
    entries: entries.length,
    restarts: faults.restarts,
    cuts: faults.cuts,
    stops: faults.stops,
    blocks: faults.blocks,
    jumps: faults.jumps,
    takeOvers: takeOvers.length,
    undisturbedTakeOvers: undisturbed('killed').length,
    medianTakeOverMs: median(undisturbed('killed')),
    maxTakeOverMs: longest(undisturbed('killed')),
    maxTakeOverFromStoppedMs: longest(undisturbed('stopped')),
    maxDisturbedTakeOverMs: longest(takeOvers.map(({ ms }) => ms)),
    superseded: members.logs.filter(({ entry }) => entry.event === 'superseded').length,
    seconds,
    lost,
    repeatedSteps: repeated,
    brokenInvariants: broken,
    problems: problems.map(problemText),
  };
}

function median(all: readonly number[]): number {
  return Math.round(all.toSorted((one, other) => one - other)[all.length >> 1] ?? 0);
}

function longest(all: readonly number[]): number {
  return Math.round(all.reduce((most, one) => Math.max(most, one), 0));
}
