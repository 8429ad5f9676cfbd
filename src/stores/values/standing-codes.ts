/**
 * Standings as small integers in a column of tasks, so that SQL can find and count them; what they say is the body's.
 * Zero is not known: the row was written before there was such a column. Subtasks, which surveys do not see, have a
 * code of their own, so that an index of live tasks need not name their column.
 */
import { type Standing, standingOf, standings } from '../../model/standing.ts';
import type { Task } from '../../model/task.ts';

export const unknown = 0;
export const hidden = standings.length + 1;

export function codeOf(standing: Standing): number {
  return standings.indexOf(standing) + 1;
}

export function standingCodeOf(task: Task): number {
  return task.parentId === undefined ? codeOf(standingOf(task)) : hidden;
}

/** None of a code that says nothing. */
export function standingAt(code: number): Standing | undefined {
  return standings[code - 1];
}

/** Codes of standings, in whichever order. */
export const codes = {
  live: ['queued', 'running', 'waiting'].map((one) => codeOf(one as Standing)),
  completed: codeOf('completed'),
};

export function isLive(standing: Standing): boolean {
  return codes.live.includes(codeOf(standing));
}
