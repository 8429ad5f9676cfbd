/** The status of a task for operators: its phase while it is live, and its outcome once it is done. */
import type { Task } from './task.ts';

export const taskStatuses = [
  'queued',
  'running',
  'waiting',
  'completed',
  'failed',
  'cancelled',
  'lost',
] as const;

export type TaskStatus = (typeof taskStatuses)[number];

export function statusOf(task: Task): TaskStatus {
  if (task.phase !== 'done') return task.phase;
  const { outcome } = task;
  if (outcome.kind === 'result') return outcome.isError ? 'failed' : 'completed';
  return outcome.kind === 'failure' ? 'failed' : outcome.kind;
}
