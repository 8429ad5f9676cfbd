/**
 * The time before a task's id was sent to anyone. Until then it ends with the request that made it: whoever serves
 * the request keeps saying that it is still open, and a task that nobody speaks for any more passes its deadline.
 */
import { AlreadyPublished, StillAlive, TaskIsDone } from '../model/errors.ts';
import type { Task, Unpublished } from '../model/task.ts';
import { changed, type Family, removed, unchanged, type Verdict } from './change.ts';
import { bumped } from './fenced.ts';

/** How long an answered request's task is kept for whoever has to read its outcome. */
export const unpublishedRetentionMs = 60_000;

export function boundTo(
  { servedBy, until }: { readonly servedBy: string | null; readonly until: number },
  deadlineAt: number | null,
): { readonly deadlineAt: number; readonly unpublished: Unpublished } {
  return { deadlineAt: Math.min(until, deadlineAt ?? until), unpublished: { servedBy, deadlineAt } };
}

/** The request is still open, or will be continued, at least until then; who serves it may have changed. */
export function keepForRequest(
  task: Task,
  request: { readonly servedBy: string | null; readonly until: number },
  at: number,
): Verdict {
  if (task.phase === 'done') return new TaskIsDone(task.id);
  if (!task.unpublished) return new AlreadyPublished(task.id);
  return changed({ ...bumped(task), ...boundTo(request, task.unpublished.deadlineAt) }, at, [
    { type: 'awaited', until: request.until },
  ]);
}

/** From here on only the task's own rules end it. */
export function publish(task: Task, at: number): Verdict {
  if (task.phase === 'done') return new TaskIsDone(task.id);
  if (!task.unpublished) return unchanged(task);
  const { deadlineAt } = task.unpublished;
  const { unpublished: _, ...known } = bumped(task);
  return changed({ ...known, deadlineAt } as Task, at, [{ type: 'published' }]);
}

/** Removes a finished task whose outcome was the answer to its request, so that nothing of it is left. */
export function discard(family: Family, at: number): Verdict {
  const { task } = family;
  if (!task.unpublished) return new AlreadyPublished(task.id);
  if (task.phase !== 'done') return new StillAlive(task.id);
  return removed(family, 'answered', at);
}
