/**
 * Checks that claims change only when they may: after a kill, after a stall longer than the lease, or while the
 * database was unreachable. A wrong wall clock is not an excuse, neither for the process with the claim nor for the
 * next one. Uses the lines of steps and the faults of processes.
 */
import type { TaskId } from '../../../src/index.ts';
import type { Problem } from '../problem.ts';
import { of } from './check-clients.ts';
import type { Began, History } from './history.ts';

/** A lease is renewed after a third of it, so at least this share is left when writing stops. */
const minLeaseLeft = 0.6;
/** Others take a task after three leases without a renewal, so a stall must last at least this many leases. */
const minStall = 2.4;
/** A process that is stopped before it has reconnected counts as dead about this time later. */
const reconnectMs = 2_000;
const missingMs = 1_000;

export function checkClaims(history: History, leaseMs: number): Problem[] {
  const excuses = new Excuses(history, leaseMs);
  const done = new Map(of(history, 'did').map(({ nonce, at }) => [nonce, at]));
  const isRunning = ({ nonce }: Began, at: number) => (done.get(nonce) ?? Number.POSITIVE_INFINITY) > at;
  return [...Map.groupBy(of(history, 'began'), ({ task }) => task)].flatMap(([task, lines]) => [
    ...startedTwice(task, lines, isRunning),
    ...taken(task, lines, isRunning, excuses),
    ...repeated(task, lines, excuses),
  ]);
}

/** A process does not start a step again while it runs, unless another process took the task over in between. */
function startedTwice(
  task: TaskId,
  lines: readonly Began[],
  isRunning: (line: Began, at: number) => boolean,
): Problem[] {
  return lines.flatMap((line, index): Problem[] => {
    const before = lines
      .slice(0, index)
      .findLast((one) => isSameAttempt(one, line) && one.process === line.process && isRunning(one, line.at));
    if (!before) return [];
    const between = lines.slice(lines.indexOf(before) + 1, index);
    if (between.some(({ process, pass }) => process !== line.process && pass > before.pass)) return [];
    return [
      {
        kind: 'repeated',
        task,
        text: `${line.step} began in pass ${before.pass} and, while that still ran, again in pass ${line.pass} of the same ${line.process}`,
      },
    ];
  });
}

/** A task is not taken from a healthy process in the middle of a step. */
function taken(
  task: TaskId,
  lines: readonly Began[],
  isRunning: (line: Began, at: number) => boolean,
  excuses: Excuses,
): Problem[] {
  for (const [index, line] of lines.entries()) {
    const robbed = lines
      .slice(0, index)
      .find(
        (one) =>
          one.process !== line.process &&
          one.pass < line.pass &&
          isRunning(one, line.at) &&
          !excuses.mayLose(one, line.at),
      );
    if (robbed)
      return [
        {
          kind: 'broken',
          task,
          text: `${line.process} took it from ${robbed.process}, which was healthy and in ${robbed.step}`,
        },
      ];
  }
  return [];
}

/** A started attempt runs again only after a fault of its process. */
function repeated(task: TaskId, lines: readonly Began[], excuses: Excuses): Problem[] {
  return lines.flatMap((line, index): Problem[] => {
    const before = lines.slice(0, index).findLast((one) => isSameAttempt(one, line));
    if (!before || before.process === line.process || excuses.mayLose(before, line.at)) return [];
    return [
      {
        kind: 'repeated',
        task,
        text: `${line.step} ran in ${before.process} and again in ${line.process}, and neither a kill nor a stall excuses it`,
      },
    ];
  });
}

function isSameAttempt(one: Began, other: Began): boolean {
  return one.step === other.step && one.attempt === other.attempt;
}

interface Interval {
  readonly from: number;
  readonly until: number;
}

class Excuses {
  readonly #leaseMs: number;
  readonly #ends = new Map<string, number>();
  readonly #stalls = new Map<string, Interval[]>();
  readonly #outages: readonly Interval[];
  readonly #cuts: readonly Interval[];

  constructor(history: History, leaseMs: number) {
    this.#leaseMs = leaseMs;
    const restarts = of(history, 'restarted').map(({ from, at }) => ({ from, until: at }));
    this.#cuts = of(history, 'cut').map(({ from, at }) => ({ from, until: at }));
    this.#outages = [...restarts, ...standstills(history, minLeaseLeft * leaseMs)];
    for (const [process, fates] of Map.groupBy(of(history, 'fate'), (one) => one.process)) {
      const end = fates.find(({ fate }) => fate === 'killed' || fate === 'ended')?.at;
      if (end !== undefined) this.#ends.set(process, end);
      const stalls = fates.filter(({ fate }) => fate === 'stopped' || fate === 'blocked');
      this.#stalls.set(
        process,
        stalls.map(({ at: from }) => ({
          from,
          until:
            fates.find(({ fate, at }) => fate === 'continued' && at > from)?.at ?? Number.POSITIVE_INFINITY,
        })),
      );
    }
  }

  /** Whether the process of an attempt may have lost its claim since the attempt started. */
  mayLose({ process, at: from }: Began, at: number): boolean {
    if ((this.#ends.get(process) ?? Number.POSITIVE_INFINITY) <= at) return true;
    if (this.#outages.some((outage) => outage.from < at && outage.until > from)) return true;
    return (this.#stalls.get(process) ?? []).some((stall) => {
      const lasted = Math.min(stall.until, at) - stall.from;
      return stall.until > from && lasted >= (this.#isCut(stall) ? missingMs : minStall * this.#leaseMs);
    });
  }

  /** Whether its connections were cut while it was stalled, or so shortly before that it had not reconnected. */
  #isCut(stall: Interval): boolean {
    return this.#cuts.some(({ from, until }) => from < stall.until && until > stall.from - reconnectMs);
  }
}

/**
 * Intervals without any commit. A process that is stopped in the middle of a SQLite commit blocks all other writers,
 * including lease renewals.
 */
function standstills(history: History, minMs: number): Interval[] {
  const commits = of(history, 'commit').map(({ at }) => at);
  return commits
    .slice(1)
    .map((until, index) => ({ from: commits[index]!, until }))
    .filter(({ from, until }) => until - from >= minMs);
}
