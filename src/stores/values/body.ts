/** A task as the text in its row. Large results are kept apart, so that polling and listing stay cheap. */
import type { Outcome } from '../../model/outcome.ts';
import type { ActiveTask, DoneTask, Task } from '../../model/task.ts';

/** In characters of JSON. */
const largeResult = 256 * 1024;

/** A result that stands in a row of its own; what is left here is how long it is. */
export type ResultApart = Extract<Outcome, { kind: 'result' }> & { readonly apart: number };

export function hasResultApart(task: Task): task is DoneTask & { readonly outcome: ResultApart } {
  return task.phase === 'done' && isApart(task.outcome);
}

/** The row's text, and the result to be kept apart, if it is large and not there already. */
export function bodyOf(task: Task): { readonly body: string; readonly large?: string } {
  const outcome = task.phase === 'done' ? task.outcome : task.heldOutcome;
  if (outcome?.kind !== 'result' || isApart(outcome)) return { body: JSON.stringify(task) };
  const large = JSON.stringify(outcome.value);
  if (large.length <= largeResult) return { body: JSON.stringify(task) };
  const apart = { ...outcome, value: null, apart: large.length };
  const slim: Task =
    task.phase === 'done' ? { ...task, outcome: apart } : ({ ...task, heldOutcome: apart } as ActiveTask);
  return { body: JSON.stringify(slim), large };
}

/** Leases are renewed in their column alone. */
export function withLease(task: Task, leaseUntil: number | null): Task {
  if (leaseUntil === null || task.phase === 'done' || !task.holder || task.holder.leaseUntil === leaseUntil)
    return task;
  return { ...task, holder: { ...task.holder, leaseUntil } };
}

function isApart(outcome: Outcome): outcome is ResultApart {
  return 'apart' in outcome;
}
