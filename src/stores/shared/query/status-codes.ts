/**
 * Standings as small integers in a column of tasks, so that SQL can find and count them. Subtasks have codes of their
 * own, because queries list roots and, among what is waiting, subtasks with an open question.
 */
import { type Standing, standingOf, standings } from '../../../model/status.ts';
import type { Task } from '../../../model/task.ts';

/** A subtask with an open question. */
export const asking = standings.length + 1;
/** Any other subtask. */
const hidden = 0;

export function codeOf(standing: Standing): number {
  return standings.indexOf(standing) + 1;
}

export function standingCodeOf(task: Task): number {
  if (task.parentId === undefined) return codeOf(standingOf(task));
  return task.phase === 'waiting' ? asking : hidden;
}

/** Undefined for a subtask without an open question. */
export function standingAt(code: number): Standing | undefined {
  return code === asking ? 'waiting' : standings[code - 1];
}

export function isLive(standing: Standing): boolean {
  return codeOf(standing) < codeOf('completed');
}
