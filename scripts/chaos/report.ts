/** The results of a run in numbers. */
import type { Verdict } from './judge.ts';
import { counts, type Problem, problemText } from './problem.ts';
import type { Supervisor } from './supervisor.ts';

export interface Report {
  readonly seed: number;
  readonly kills: number;
  readonly creatorKills: number;
  readonly deploys: number;
  readonly voyages: number;
  /** Voyages and their subtasks. */
  readonly tasks: number;
  readonly steps: number;
  /** Steps that a kill interrupted and that ran again, and the longest delay without another kill in between. */
  readonly stepsRepeatedInFlight: number;
  readonly maxTakeOverMs: number;
  readonly restarts: number;
  readonly maxResumeMs: number;
  readonly maxResumeAfterAllMs: number;
  readonly timers: number;
  readonly earlyTimers: number;
  readonly latestTimerMs: number;
  readonly latestCalmTimerMs: number;
  readonly medianTimerMs: number;
  readonly answers: number;
  readonly questionsOpenAcrossKills: number;
  readonly lost: number;
  readonly repeatedSteps: number;
  readonly brokenInvariants: number;
  readonly problems: readonly string[];
}

/** The summary of every chaos run. */
type Sum = Pick<Report, 'kills' | 'tasks' | 'lost' | 'repeatedSteps' | 'brokenInvariants'>;

export function sumOf(one: Sum, other: Sum): Sum {
  return {
    kills: one.kills + other.kills,
    tasks: one.tasks + other.tasks,
    lost: one.lost + other.lost,
    repeatedSteps: one.repeatedSteps + other.repeatedSteps,
    brokenInvariants: one.brokenInvariants + other.brokenInvariants,
  };
}

export function lastLine({ kills, tasks, lost, repeatedSteps, brokenInvariants }: Sum): string {
  return `chaos: ${kills} kills, ${tasks} tasks, ${lost} lost, ${repeatedSteps} repeated steps, ${brokenInvariants} broken invariants`;
}

export function isSound({ lost, repeatedSteps, brokenInvariants }: Sum): boolean {
  return lost + repeatedSteps + brokenInvariants === 0;
}

export function reportOf(
  seed: number,
  { workers, creations, responder, deploys }: Supervisor,
  { problems: found, findings, resumptions }: Verdict,
): Report {
  const problems: Problem[] = [...workers.problems, ...creations.problems, ...responder.problems, ...found];
  const { lost, repeated, broken } = counts(problems);
  const { tasks, steps, repeats, timers } = findings;
  const late = timers.map(({ lateMs }) => lateMs).toSorted((a, b) => a - b);
  return {
    seed,
    kills: workers.kills,
    creatorKills: creations.kills,
    deploys,
    voyages: creations.ordered,
    tasks: tasks.size,
    steps,
    stepsRepeatedInFlight: repeats.length,
    maxTakeOverMs: longest(calm(repeats).map(({ afterMs }) => afterMs)),
    restarts: resumptions.length,
    maxResumeMs: longest(resumptions.map(({ ms }) => ms)),
    maxResumeAfterAllMs: longest(resumptions.filter(({ afterAll }) => afterAll).map(({ ms }) => ms)),
    timers: timers.length,
    earlyTimers: late.filter((ms) => ms < 0).length,
    latestTimerMs: longest(late),
    latestCalmTimerMs: longest(calm(timers).map(({ lateMs }) => lateMs)),
    medianTimerMs: late[Math.floor(late.length / 2)] ?? 0,
    answers: responder.answers,
    questionsOpenAcrossKills: responder.survived,
    lost,
    repeatedSteps: repeated,
    brokenInvariants: broken,
    problems: problems.map(problemText),
  };
}

function calm<T extends { readonly disturbed: boolean }>(all: readonly T[]): T[] {
  return all.filter(({ disturbed }) => !disturbed);
}

function longest(all: readonly number[]): number {
  return all.reduce((most, one) => Math.max(most, one), 0);
}
