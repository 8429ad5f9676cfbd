/** Runs all checks on a history. Pure, so tests can pass in invented histories. */
import type { TaskId } from '../../../src/index.ts';
import type { Problem } from '../problem.ts';
import { type AttemptFindings, checkAttempts } from './check-attempts.ts';
import { checkClaims } from './check-claims.ts';
import { checkClients, of } from './check-clients.ts';
import type { History } from './history.ts';
import {
  lateTakeOvers,
  type TakeOver,
  type TakeOverBounds,
  takeOverBounds,
  takeOversIn,
} from './take-overs.ts';

export interface Verdict {
  readonly problems: readonly Problem[];
  readonly attempts: AttemptFindings;
  readonly takeOvers: readonly TakeOver[];
}

/** `leaseMs` is the lease of the workers; the default is that of Postgres. */
export function checkHistory(
  history: History,
  bounds: TakeOverBounds = takeOverBounds,
  leaseMs = 10_000,
): Verdict {
  const attempts = checkAttempts(history);
  const { takeOvers, problems } = takeOversIn(history, bounds);
  return {
    problems: [
      ...checkClients(history),
      ...attempts.problems,
      ...checkClaims(history, leaseMs),
      ...problems,
      ...lateTakeOvers(takeOvers, bounds),
      ...checkCommits(history),
    ],
    attempts,
    takeOvers,
  };
}

/** The versions of each task have no gaps and end with the stored one; no call is settled twice. */
function checkCommits(history: History): Problem[] {
  const last = new Map<TaskId, number>();
  const problems: Problem[] = [];
  const complain = (kind: Problem['kind'], task: TaskId, text: string) => problems.push({ kind, task, text });
  for (const { task, version } of of(history, 'commit')) {
    const before = last.get(task) ?? 0;
    if (version !== before + 1) complain('broken', task, `version ${version} followed version ${before}`);
    last.set(task, version);
  }
  for (const { task, version, settled } of of(history, 'stored')) {
    if (last.has(task) && last.get(task) !== version)
      complain(
        'broken',
        task,
        `its last commit was version ${last.get(task)}, but the stored version is ${version}`,
      );
    if (new Set(settled).size < settled.length)
      complain('repeated', task, 'its journal settles a call twice');
  }
  return problems;
}
