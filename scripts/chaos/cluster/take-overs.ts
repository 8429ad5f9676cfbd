/**
 * How soon the work of a process that was killed, or stopped, goes on elsewhere: from the moment it befell the process
 * to the next step of each task in whose step it was then. What befell others in between is no excuse for long: after
 * the last of it there is as much time again, and no more.
 */
import type { TaskId } from '../../../src/index.ts';
import type { Problem } from '../problem.ts';
import { of } from './check-clients.ts';
import type { History } from './history.ts';

export interface TakeOver {
  readonly task: TaskId;
  readonly how: 'killed' | 'stopped';
  readonly ms: number;
  /** Since whatever else befell the cluster in between; the same as `ms` if nothing did. */
  readonly calmMs: number;
}

export interface TakeOverBounds {
  readonly killed: number;
  readonly stopped: number;
}

/** With default settings of Postgres: a lock tells the dead, and only the heartbeat tells the stopped. */
export const takeOverBounds: TakeOverBounds = { killed: 5_000, stopped: 15_000 };

/** A lock tells the dead, whatever the lease; what is stopped keeps its tasks for a lease. */
export function boundsFor(leaseMs: number): TakeOverBounds {
  return { killed: takeOverBounds.killed, stopped: leaseMs + takeOverBounds.killed };
}

export function takeOversIn(
  history: History,
  bounds: TakeOverBounds = takeOverBounds,
): { readonly takeOvers: TakeOver[]; readonly problems: Problem[] } {
  const began = Map.groupBy(of(history, 'began'), ({ task }) => task);
  const did = new Map(of(history, 'did').map((line) => [line.nonce, line.at]));
  const cancelled = cancelledIn(history);
  const troubles = troublesIn(history);
  const fates = of(history, 'fate');
  const takeOvers: TakeOver[] = [];
  const problems: Problem[] = [];
  for (const { process, fate, at: hit } of fates) {
    if (fate !== 'killed' && fate !== 'stopped') continue;
    const back = fates.find((one) => one.process === process && one.fate === 'continued' && one.at > hit)?.at;
    for (const [task, lines] of began) {
      const held = lines.findLast(({ at }) => at < hit);
      if (held?.process !== process || (did.get(held.nonce) ?? Number.POSITIVE_INFINITY) < hit) continue;
      const next = lines.find(({ at, pass }) => at > hit && pass > held.pass)?.at;
      // A process that was stopped for less may go on itself.
      const until = Math.min(next ?? Number.POSITIVE_INFINITY, back ?? Number.POSITIVE_INFINITY);
      if (until === back && back - hit <= bounds[fate]) continue;
      if (until < Number.POSITIVE_INFINITY) {
        const last = Math.max(hit, ...troubles.filter((at) => at > hit && at < until));
        takeOvers.push({ task, how: fate, ms: until - hit, calmMs: until - last });
      } else if (!cancelled.has(held.root))
        problems.push({
          kind: 'lost',
          task,
          text: `was in ${held.step} when ${process} was ${fate}, and never went on`,
        });
    }
  }
  return { takeOvers, problems };
}

export function lateTakeOvers(takeOvers: readonly TakeOver[], bounds = takeOverBounds): Problem[] {
  return takeOvers
    .filter(({ how, calmMs }) => calmMs > bounds[how])
    .map(({ task, how, ms, calmMs }) => ({
      kind: 'broken',
      task,
      text: `went on only ${Math.round(ms)} ms after its process was ${how}, ${Math.round(calmMs)} ms of them undisturbed`,
    }));
}

/** What may delay a take-over: the end of another worker, of a time without any, moved clocks, trouble with the database. */
function troublesIn(history: History): number[] {
  const fates = of(history, 'fate').filter(({ role }) => role === 'worker');
  const alive = new Set<string>();
  const moments: number[] = [];
  for (const { process, fate, at } of fates) {
    if (fate === 'ready' || fate === 'continued') {
      if (alive.size === 0) moments.push(at);
      alive.add(process);
    } else if (fate !== 'ended') {
      alive.delete(process);
      moments.push(at);
    }
  }
  return [
    ...moments,
    ...of(history, 'restarted').map(({ at }) => at),
    ...of(history, 'cut').map(({ at }) => at),
    ...of(history, 'clock').map(({ at }) => at),
  ];
}

/** The roots that were asked to end, and did so by that. */
function cancelledIn(history: History): Set<TaskId> {
  const ended = of(history, 'looked').filter(({ seen }) => seen?.status === 'cancelled');
  return new Set(ended.map(({ task }) => task));
}
