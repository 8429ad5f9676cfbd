/**
 * Statuses as small integers in a column of `tasks`, so that SQL can find and count them. Subtasks have separate codes,
 * because queries list only roots and, with status `waiting`, subtasks with an open question.
 */
import { statusOf, type TaskStatus, taskStatuses } from '../../../model/status.ts';
import type { Task } from '../../../model/task.ts';

/** A subtask with an open question. */
export const asking = taskStatuses.length + 1;
/** Any other subtask. */
const hidden = 0;

export function codeOf(status: TaskStatus): number {
  return taskStatuses.indexOf(status) + 1;
}

export function statusCodeOf(task: Task): number {
  if (task.parentId === undefined) return codeOf(statusOf(task));
  return task.phase === 'waiting' ? asking : hidden;
}

/** Undefined for a subtask without an open question. */
export function statusOfCode(code: number): TaskStatus | undefined {
  return code === asking ? 'waiting' : taskStatuses[code - 1];
}

export function isLive(status: TaskStatus): boolean {
  return codeOf(status) < codeOf('completed');
}
