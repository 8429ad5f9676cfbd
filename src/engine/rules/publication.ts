/**
 * The rules of tasks whose ids were not sent to anyone yet. A task that a repeated call can join outlives the request
 * that created it. Every other unpublished task ends with its request: the process that serves the request confirms
 * regularly that it is still open, and without that confirmation the task passes its deadline.
 */
import { refusal } from '../../model/errors.ts';
import { joinOf, type NewTask, type Task, type Unpublished } from '../../model/task.ts';
import { changed, type Family, removed, unchanged, type Verdict } from '../../ports/change.ts';
import { bumped } from './fencing.ts';

/** How long a request counts as open after the last confirmation by the process that serves it. */
export const requestLeaseMs = 60_000;
/** How long the task of an answered request is kept, so that its outcome can be read. */
const unjoinableRetentionMs = 60_000;
/** How long a finished task can be joined. */
const joinableMs = 600_000;

export function unpublishedRetentionMs({ join, keepMs = 0 }: Unpublished): number {
  return Math.max(join ? joinableMs : unjoinableRetentionMs, keepMs);
}

export function boundTo(
  { until, ...request }: NonNullable<NewTask['unpublished']>,
  deadlineAt: number | null,
): { readonly deadlineAt: number | null; readonly unpublished: Unpublished } {
  const unpublished = { ...request, deadlineAt };
  const outlivesRequest = request.join !== undefined && request.servedBy !== null;
  return { deadlineAt: outlivesRequest ? deadlineAt : Math.min(until, deadlineAt ?? until), unpublished };
}

/**
 * Whether a repeated call in this session can join the task of a lost call. A task that asked its caller a question can
 * be joined only from the caller's session, because several people may share one token.
 */
export function isJoinable({ task, descendants }: Family, session: string | null, now: number): boolean {
  const join = joinOf(task);
  if (!join || (task.phase === 'done' && task.finishedAt + joinableMs <= now)) return false;
  const hasAsked = [task, ...descendants].some(({ inputs }) => inputs.length > 0);
  return !hasAsked || (session !== null && join.session === session);
}

/**
 * Records that the request is still open, or will be continued, at least until `until`. Another process may serve it
 * now. Between two rounds the caller has a request state to continue with. From then on no other call can join the
 * task, but a task that can outlive its process still does so.
 */
export function keepForRequest(
  task: Task,
  request: { readonly servedBy: string | null; readonly until: number },
  at: number,
): Verdict {
  if (task.phase === 'done') return refusal('TASK_IS_DONE', task.id);
  if (!task.unpublished) return refusal('ALREADY_PUBLISHED', task.id);
  const { join, deadlineAt, ...kept } = task.unpublished;
  if (join && kept.servedBy !== null && request.servedBy !== null) return unchanged(task);
  const continued = { ...kept, ...request, ...(join && { join: { ...join, key: null } }) };
  return changed({ ...bumped(task), ...boundTo(continued, deadlineAt) }, at, [
    { type: 'awaited', until: request.until },
  ]);
}

/** Makes the task independent of its request. From now on only the task's own rules end it. */
export function publish(task: Task, at: number): Verdict {
  if (task.phase === 'done') return refusal('TASK_IS_DONE', task.id);
  if (!task.unpublished) return unchanged(task);
  const { deadlineAt, join } = task.unpublished;
  const { unpublished: _, ...known } = bumped(task);
  const published = { ...known, deadlineAt, ...(join && { handedOver: join }) } as Task;
  return changed(published, at, [{ type: 'published' }]);
}

/** The caller of a plain call received the task id. From now on no other call can join the task. */
export function confirmHandOver(task: Task, at: number): Verdict {
  if (task.phase === 'done') return refusal('TASK_IS_DONE', task.id);
  if (!task.handedOver) return unchanged(task);
  const { handedOver: _, ...known } = bumped(task);
  return changed(known as Task, at, [{ type: 'handedOver' }]);
}

/** Removes a finished task whose outcome was already the answer to its request. */
export function discard(family: Family, at: number): Verdict {
  const { task } = family;
  if (!task.unpublished) return refusal('ALREADY_PUBLISHED', task.id);
  if (task.phase !== 'done') return refusal('STILL_ALIVE', task.id);
  return removed(family, 'answered', at);
}
