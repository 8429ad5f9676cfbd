/**
 * Statuses as small integers in a column of `tasks`, so that SQL can find and count them. The codes are stored, so the
 * order of `taskStatuses` must not change. Subtasks have separate codes, because queries list only roots and, with
 * status `waiting`, subtasks with an open question.
 */
import { statusOf, type TaskStatus, taskStatuses } from '../../../model/status.ts';
import type { Task } from '../../../model/task.ts';

/** The code of a subtask with an open question. */
export const asking = taskStatuses.length + 1;
/** The code of any other subtask. */
const hidden = 0;

/** The code of a root with this status, from 1. */
export function codeOf(status: TaskStatus): number {
  return taskStatuses.indexOf(status) + 1;
}

export function statusCodeOf(task: Task): number {
  if (task.parentId === undefined) return codeOf(statusOf(task));
  return task.phase === 'waiting' ? asking : hidden;
}

/** The status of a code; undefined for that of a subtask without an open question. */
export function statusOfCode(code: number): TaskStatus | undefined {
  return code === asking ? 'waiting' : taskStatuses[code - 1];
}

/** The live statuses come before `completed`. */
export function isLive(status: TaskStatus): boolean {
  return codeOf(status) < codeOf('completed');
}
