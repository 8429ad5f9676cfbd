/** Helpers that the rules share: fencing by claim, and the next version of a task. */
import { refusal } from '../../model/errors.ts';
import type { TaskEvent } from '../../model/event.ts';
import type { InputRecord, SettledInput } from '../../model/input.ts';
import type { ActiveTask, Task } from '../../model/task.ts';
import type { Verdict } from '../../ports/change.ts';
import type { Claim } from '../../ports/queue.ts';

/** Applies a rule only for the worker that has the current claim. The epoch decides, never a clock. */
export function fenced(task: Task, claim: Claim, decide: (task: ActiveTask) => Verdict): Verdict {
  if (task.epoch !== claim.epoch) return refusal('CLAIM_LOST', task.id, claim.epoch, task.epoch);
  if (task.phase === 'done') return refusal('TASK_IS_DONE', task.id);
  if (task.heldOutcome !== undefined) return refusal('TASK_IS_ENDING', task.id);
  if (task.worker === undefined) return refusal('CLAIM_LOST', task.id, claim.epoch, task.epoch);
  return decide(task);
}

/** The next version of a task, without a change that a peer can see. */
export function bumped<T extends { readonly version: number }>(task: T): T {
  return { ...task, version: task.version + 1 };
}

/** The next version of a task, with a change that a peer can see. `updatedAt` never goes back. */
export function bumpedVisibly<T extends { readonly version: number; readonly updatedAt: number }>(
  task: T,
  at: number,
): T {
  return { ...task, version: task.version + 1, updatedAt: Math.max(task.updatedAt, at) };
}

/** Makes a parked task claimable, whatever the clock shows. */
export function wake<T extends ActiveTask>(task: T, at: number): T {
  return task.isReady && task.wakeAt !== null ? task : { ...task, isReady: true, wakeAt: at };
}

/** The task can be claimed from `until` on, or earlier if something wakes it. */
export function asleep<T extends ActiveTask>(task: T, until: number | null): T {
  const { isReady: _, ...rest } = task;
  return { ...rest, wakeAt: until } as T;
}

export function withoutWorker<T extends ActiveTask>(task: T): T {
  const { worker: _, ...rest } = task;
  return rest as T;
}

/** Withdraws the open questions that `matches` selects. */
export function withdrawn(task: ActiveTask, at: number, matches: (key: string) => boolean) {
  const events: TaskEvent[] = [];
  const inputs = (task.inputs as readonly InputRecord[]).map((input): InputRecord => {
    if (input.state !== 'open' || !matches(input.key)) return input;
    events.push({ type: 'withdrawn', key: input.key });
    const { delivery: _, ...asked } = input;
    return { ...asked, state: 'withdrawn', withdrawnAt: at };
  });
  return { inputs, events };
}

/** Withdraws all open questions, because the task ends. */
export function withdrawnAll(task: ActiveTask, at: number) {
  const { inputs, events } = withdrawn(task, at, () => true);
  return { inputs: inputs as SettledInput[], events };
}
