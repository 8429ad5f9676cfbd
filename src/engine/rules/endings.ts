/** The rules for ending tasks. A tree ends bottom-up, in one commit. */
import { refusal } from '../../model/errors.ts';
import type { TaskEvent } from '../../model/event.ts';
import type { Json } from '../../model/json.ts';
import type { Failed, Outcome, Success } from '../../model/outcome.ts';
import { keepUntil } from '../../model/retention.ts';
import type { ActiveTask, DoneTask, Task } from '../../model/task.ts';
import {
  type Change,
  changed,
  type Family,
  type Lineage,
  type Removal,
  removed,
  type TaskWrite,
  type Verdict,
  write,
} from '../../ports/change.ts';
import type { Claim } from '../../ports/queue.ts';
import { asleep, bumpedVisibly, fenced, wake, withdrawnAll, withoutWorker } from './fencing.ts';
import { unpublishedRetentionMs } from './publication.ts';

/** The failure message of a task that passed its deadline. */
export const deadlinePassed = 'The task passed its deadline before it finished.';

/** The handler returned. The result is held back until all subtasks are done. */
export function complete(
  { task, ancestors }: Lineage,
  claim: Claim,
  outcome: Success,
  at: number,
  journal: readonly Json[] = [],
): Verdict {
  return fenced(task, claim, (held) => {
    if (task.liveChildCount === 0) return ended([{ task, outcome, journal }], ancestors, at);
    const { inputs, events } = withdrawnAll(held, at);
    const holding: ActiveTask = {
      ...asleep(bumpedVisibly(withoutWorker(held), at), null),
      phase: 'running',
      inputs,
      heldOutcome: outcome,
    };
    return changed(holding, at, [...events, { type: 'held', liveChildren: task.liveChildCount }], journal);
  });
}

/** The handler threw or returned an error result. Subtasks that are still live are cancelled first. */
export function fail(
  { task, ancestors, descendants }: Family,
  claim: Claim,
  outcome: Failed,
  at: number,
  journal: readonly Json[] = [],
): Verdict {
  return fenced(task, claim, () => {
    const reason = 'The task that started this subtask failed.';
    return ended(
      [...endAll(descendants, { kind: 'cancelled', reason }), { task, outcome, journal }],
      ancestors,
      at,
    );
  });
}

/** Cancels a task and all its descendants, bottom-up, even while handlers run. Overrides an outcome that is held back. */
export function cancel({ task, ancestors, descendants }: Family, at: number, reason?: string): Verdict {
  if (task.phase === 'done') return refusal('TASK_IS_DONE', task.id);
  const outcome: Outcome = { kind: 'cancelled', ...(reason !== undefined && { reason }) };
  return ended(endAll([task, ...descendants], outcome), ancestors, at);
}

export function passDeadline({ task, ancestors, descendants }: Family, at: number): Verdict {
  if (task.phase === 'done') return refusal('TASK_IS_DONE', task.id);
  if (task.deadlineAt === null || task.deadlineAt > at)
    return refusal('DEADLINE_NOT_REACHED', task.id, task.deadlineAt);
  return ended(endAll([task, ...descendants], overdue(task, at)), ancestors, at);
}

function overdue({ unpublished }: Task, at: number): Outcome {
  if (unpublished && (unpublished.deadlineAt === null || unpublished.deadlineAt > at))
    return { kind: 'cancelled', reason: 'The request that this task belonged to has ended.' };
  return { kind: 'failure', message: deadlinePassed };
}

/** The client cancelled the request through a process other than the one that serves it. */
export function cancelRequest(family: Family, at: number, reason?: string): Verdict {
  const { unpublished } = family.task;
  if (!unpublished) return refusal('ALREADY_PUBLISHED', family.task.id);
  const task = { ...family.task, unpublished: { ...unpublished, isCancelled: true } } as Task;
  return cancel({ ...family, task }, at, reason);
}

/** Removes a finished tree as one unit after its retention ended. */
export function purge(family: Family, at: number): Verdict {
  const { task } = family;
  if (task.phase === 'done' && task.parentId === undefined && (task.purgeAt === null || task.purgeAt > at))
    return refusal('STILL_RETAINED', task.id, task.purgeAt);
  return remove(family, at, 'expired');
}

/**
 * Removes a finished tree before its retention ends, because the store is full. A tree that finished after `endedBy`
 * stays, so that its caller can fetch the result.
 */
export function crowdOut(family: Family, endedBy: number, at: number): Verdict {
  const { task } = family;
  if (task.phase === 'done' && task.finishedAt > endedBy)
    return refusal('STILL_RETAINED', task.id, task.purgeAt);
  return remove(family, at, 'crowdedOut');
}

/** Removes a finished tree before its retention ends, by default because its caller deleted it. */
export function remove(family: Family, at: number, why: Removal['why'] = 'deleted'): Verdict {
  const { task } = family;
  if (task.parentId !== undefined) return refusal('NOT_A_ROOT', task.id, task.rootId);
  if (task.phase !== 'done') return refusal('STILL_ALIVE', task.id);
  return removed(family, why, at);
}

interface Ending {
  readonly task: Task;
  readonly outcome: Outcome;
  readonly journal?: readonly Json[];
}

/** Takes parents before children and returns children before parents. Finished tasks keep their own outcome. */
function endAll(tasks: readonly Task[], outcome: Outcome): Ending[] {
  return tasks
    .filter(({ phase }) => phase !== 'done')
    .toReversed()
    .map((task) => ({ task, outcome }));
}

/**
 * Ends tasks, the addressed task last, and updates the ancestors. An ancestor whose outcome was held back ends, too, if
 * this was its last live subtask.
 */
function ended(endings: readonly Ending[], ancestors: readonly Task[], at: number): Change {
  // All get the same time, even if the clock went back: a parent never finishes before its subtasks.
  const touched = [...endings.map((ending) => ending.task), ...ancestors];
  const moment = touched.reduce((latest, { updatedAt }) => Math.max(latest, updatedAt), at);
  const writes: TaskWrite[] = endings.map((ending) => end(ending, moment));
  const { task } = writes.at(-1)!;

  let child = task as DoneTask;
  for (const ancestor of ancestors) {
    if (ancestor.phase === 'done') break;
    const childDone: TaskEvent = { type: 'childDone', childId: child.id, outcome: child.outcome.kind };
    const updated: ActiveTask = {
      ...bumpedVisibly(ancestor, moment),
      liveChildCount: ancestor.liveChildCount - 1,
    };
    if (ancestor.heldOutcome === undefined || updated.liveChildCount > 0) {
      writes.push(
        write(ancestor.heldOutcome === undefined ? wake(updated, moment) : updated, moment, [childDone]),
      );
      break;
    }
    const last = end({ task: ancestor, outcome: ancestor.heldOutcome }, moment);
    writes.push({ ...last, events: [childDone, ...last.events] });
    child = last.task as DoneTask;
  }
  return { task, writes, removed: [] };
}

function purgeAt({ parentId, unpublished, retention, createdAt }: Task, finishedAt: number): number | null {
  if (parentId !== undefined) return null;
  return unpublished
    ? finishedAt + unpublishedRetentionMs(unpublished)
    : keepUntil(retention, createdAt, finishedAt);
}

function end({ task, outcome, journal }: Ending, at: number): TaskWrite {
  const live = task as ActiveTask;
  const { inputs, events } = withdrawnAll(live, at);
  const { worker: _worker, heldOutcome: _held, isReady: _isReady, wakeAt: _wakeAt, ...kept } = live;
  const done: DoneTask = {
    ...bumpedVisibly(kept, at),
    phase: 'done',
    inputs,
    outcome,
    finishedAt: at,
    purgeAt: purgeAt(task, at),
    liveChildCount: 0,
  };
  return write(done, at, [...events, { type: 'finished', outcome: outcome.kind }], journal);
}
