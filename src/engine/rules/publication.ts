/**
 * The rules of unpublished tasks, whose ids were not sent to anyone yet. A task that a repeated call can join outlives
 * the request that created it. Every other unpublished task ends with its request: its deadline is only a short time
 * away, and the process that serves the request extends it regularly while the request is open.
 */
import { refusal } from '../../model/errors.ts';
import { joinOf, type NewTask, type Task, type Unpublished } from '../../model/task.ts';
import { changed, type Family, removed, unchanged, type Verdict } from '../../ports/change.ts';
import { bumped } from './fencing.ts';

/** How long a request counts as open after the last confirmation by the process that serves it. */
export const requestLeaseMs = 60_000;
/** How long a finished task that no call can join is kept, so that its request can still read the outcome. */
const unjoinableRetentionMs = 60_000;
/** How long a task can be joined, and is kept for that, after its end. */
const joinableMs = 600_000;

export function unpublishedRetentionMs({ join, keepMs = 0 }: Unpublished): number {
  return Math.max(join ? joinableMs : unjoinableRetentionMs, keepMs);
}

/**
 * The fields of a task that belongs to a request. `until` is the time until which the request is surely open. Unless
 * the task can outlive its request, it is also the task's deadline; the real deadline is stored for its publication.
 */
export function boundTo(
  { until, ...request }: NonNullable<NewTask['unpublished']>,
  deadlineAt: number | null,
): { readonly deadlineAt: number | null; readonly unpublished: Unpublished } {
  const unpublished = { ...request, deadlineAt };
  const outlivesRequest = request.join !== undefined && request.servedBy !== null;
  return { deadlineAt: outlivesRequest ? deadlineAt : Math.min(until, deadlineAt ?? until), unpublished };
}

/**
 * Whether a repeated call in this session (null if it has none) can join the task of a lost call. If the task or a
 * subtask asked a question, only calls in the original session can join, because several people may share one token.
 */
export function isJoinable({ task, descendants }: Family, session: string | null, now: number): boolean {
  const join = joinOf(task);
  if (!join || (task.phase === 'done' && task.finishedAt + joinableMs <= now)) return false;
  const hasAsked = [task, ...descendants].some(({ inputs }) => inputs.length > 0);
  return !hasAsked || (session !== null && join.session === session);
}

/**
 * Records that the request is still open at least until `until`. `servedBy` may be another process than before, or null
 * between two rounds, while the caller has a request state to continue with. A joinable task needs no such record
 * unless a round ends or begins. From the first round on no other call can join it, but it still outlives its process.
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

/**
 * Makes the task independent of its request: its own deadline applies again. A joinable task can still be joined until
 * `confirmHandOver`.
 */
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

/** Removes a finished task and its subtasks, because its outcome was sent as the answer to its request. */
export function discard(family: Family, at: number): Verdict {
  const { task } = family;
  if (!task.unpublished) return refusal('ALREADY_PUBLISHED', task.id);
  if (task.phase !== 'done') return refusal('STILL_ALIVE', task.id);
  return removed(family, 'answered', at);
}
