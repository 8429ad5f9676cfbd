/** The turns of phrase that the rules share: who may advance a task, and what its next version looks like. */
import { refusal } from '../../model/errors.ts';
import type { TaskEvent } from '../../model/event.ts';
import type { InputRecord, SettledInput } from '../../model/input.ts';
import type { ActiveTask, Task } from '../../model/task.ts';
import type { Verdict } from '../../ports/change.ts';
import type { Claim } from '../../ports/queue.ts';

/** Decides for the worker that holds the current claim, and for no other. Clocks have no say in it. */
export function fenced(task: Task, claim: Claim, decide: (task: ActiveTask) => Verdict): Verdict {
  if (task.epoch !== claim.epoch) return refusal('CLAIM_LOST', task.id, claim.epoch, task.epoch);
  if (task.phase === 'done') return refusal('TASK_IS_DONE', task.id);
  if (task.heldOutcome !== undefined) return refusal('TASK_IS_ENDING', task.id);
  if (task.worker === undefined) return refusal('CLAIM_LOST', task.id, claim.epoch, task.epoch);
  return decide(task);
}

/** The next version of a task, changed in no way that a peer can see. */
export function bumped<T extends { readonly version: number }>(task: T): T {
  return { ...task, version: task.version + 1 };
}

/** The next version of a task, changed in a way that a peer can see. Time never runs backwards in a task. */
export function seen<T extends { readonly version: number; readonly updatedAt: number }>(
  task: T,
  at: number,
): T {
  return { ...task, version: task.version + 1, updatedAt: Math.max(task.updatedAt, at) };
}

/** Makes a parked task claimable, whatever becomes of the clock. */
export function wake<T extends ActiveTask>(task: T, at: number): T {
  return task.isReady && task.wakeAt !== null ? task : { ...task, isReady: true, wakeAt: at };
}

/** Claimable from `until` on, or once something wakes it. */
export function asleep<T extends ActiveTask>(task: T, until: number | null): T {
  const { isReady: _, ...rest } = task;
  return { ...rest, wakeAt: until } as T;
}

export function withoutHolder<T extends ActiveTask>(task: T): T {
  const { worker: _, ...rest } = task;
  return rest as T;
}

/** Takes back the open questions that `isMeant` picks. */
export function withdrawn(task: ActiveTask, at: number, isMeant: (key: string) => boolean) {
  const events: TaskEvent[] = [];
  const inputs = (task.inputs as readonly InputRecord[]).map((input): InputRecord => {
    if (input.state !== 'open' || !isMeant(input.key)) return input;
    events.push({ type: 'withdrawn', key: input.key });
    const { delivery: _, ...asked } = input;
    return { ...asked, state: 'withdrawn', withdrawnAt: at };
  });
  return { inputs, events };
}

/** A task that ends leaves no question open. */
export function withdrawnAll(task: ActiveTask, at: number) {
  const { inputs, events } = withdrawn(task, at, () => true);
  return { inputs: inputs as SettledInput[], events };
}
