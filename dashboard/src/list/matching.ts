/** Whether a task that was told of belongs to a list: the same question that the server answers for its pages. */

import type { TaskSummary } from '../../../src/operator/api.ts';
import type { TaskFilter } from '../../../src/ports/query.ts';
import { type ListFilter, spans } from '../router.ts';

/** The filter as the server wants it; an age is counted back from `now`. */
export function surveyFilter({ standings, tool, owner, age, text }: ListFilter, now: number): TaskFilter {
  return {
    ...(standings.length > 0 && { statuses: standings }),
    ...(tool && { tool }),
    ...(owner && { owner }),
    ...(age && { since: now - spans[age].ms }),
    ...(text && { text }),
  };
}

export function matches(
  task: TaskSummary,
  { statuses: standings, tool, owner, since, text }: TaskFilter,
): boolean {
  if (standings && !standings.includes(task.status)) return false;
  // A subtask is a row of its own only while it asks, where that is looked for; a whole id finds it at any time.
  if (task.parentId !== undefined && !(standings && task.status === 'waiting') && text !== task.id)
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
