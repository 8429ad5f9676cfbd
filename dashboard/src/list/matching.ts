/** Decides whether a changed task belongs to a list, by the same rules as the server. */

import type { TaskSummary } from '../../../src/operator/api.ts';
import type { TaskFilter } from '../../../src/ports/query.ts';
import { type ListFilter, spans } from '../router.ts';

/** The filter in the form of the operator API; an age is counted back from `now`. */
export function queryFilter({ statuses, tool, owner, age, text }: ListFilter, now: number): TaskFilter {
  return {
    ...(statuses.length > 0 && { statuses }),
    ...(tool && { tool }),
    ...(owner && { owner }),
    ...(age && { since: now - spans[age].ms }),
    ...(text && { text }),
  };
}

export function matches(task: TaskSummary, { statuses, tool, owner, since, text }: TaskFilter): boolean {
  if (statuses && !statuses.includes(task.status)) return false;
  // A subtask has a row only in a list of waiting tasks, while it has an open question, or if its full id is searched.
  if (task.parentId !== undefined && !(statuses && task.status === 'waiting') && text !== task.id)
    return false;
  if (tool !== undefined && task.tool !== tool) return false;
  if (owner !== undefined && task.owner !== owner) return false;
  if (since !== undefined && task.createdAt < since) return false;
  if (text === undefined) return true;
  const wanted = text.toLowerCase();
  return [task.id, task.tool, task.owner, task.statusMessage ?? ''].some((value) =>
    value.toLowerCase().includes(wanted),
  );
}
