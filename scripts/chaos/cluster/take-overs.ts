/**
 * Measures how soon another worker continues the work of a killed or stopped process: from the fault to the next step
 * of each task that the process had a step of. Each further fault of the cluster restarts the time limit.
 */
import type { TaskId } from '../../../src/index.ts';
import type { Problem } from '../problem.ts';
import { of } from './check-clients.ts';
import type { History } from './history.ts';

export interface TakeOver {
  readonly task: TaskId;
  readonly how: 'killed' | 'stopped';
  readonly ms: number;
  /** The time since the last other fault in between; the same as `ms` if there was none. */
  readonly calmMs: number;
}

export interface TakeOverBounds {
  readonly killed: number;
  readonly stopped: number;
}

/** With the default settings of Postgres: a lock reveals dead workers, but only the heartbeat stopped ones. */
export const takeOverBounds: TakeOverBounds = { killed: 5_000, stopped: 15_000 };

/** A lock reveals dead workers, whatever the lease; a stopped worker keeps its tasks for a lease. */
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
      // A process that was stopped for less time may continue the task itself.
      const until = Math.min(next ?? Number.POSITIVE_INFINITY, back ?? Number.POSITIVE_INFINITY);
      if (until === back && back - hit <= bounds[fate]) continue;
      if (until < Number.POSITIVE_INFINITY) {
        const last = Math.max(hit, ...troubles.filter((at) => at > hit && at < until));
        takeOvers.push({ task, how: fate, ms: until - hit, calmMs: until - last });
      } else if (!cancelled.has(held.root))
        problems.push({
          kind: 'lost',
          task,
          text: `was in ${held.step} when ${process} was ${fate}, and never resumed`,
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
      text: `resumed only ${Math.round(ms)} ms after its process was ${how}, ${Math.round(calmMs)} ms of them undisturbed`,
    }));
}

/** Faults that may delay a take-over: other workers that die or return, moved clocks, an unavailable database. */
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

/** The roots that ended as cancelled. */
function cancelledIn(history: History): Set<TaskId> {
  const ended = of(history, 'polled').filter(({ seen }) => seen?.status === 'cancelled');
  return new Set(ended.map(({ task }) => task));
}
