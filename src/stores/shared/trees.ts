/** Builds lineages and families from tasks that were read. */

import type { Task, TaskId } from '../../model/task.ts';
import type { Family, Lineage } from '../../ports/change.ts';
import { CorruptRecord } from './corrupt.ts';

/** A task with its ancestors; undefined if `tasks` does not contain the task. Throws if an ancestor is missing. */
export function lineageIn(tasks: { get(id: TaskId): Task | undefined }, id: TaskId): Lineage | undefined {
  const task = tasks.get(id);
  if (!task) return undefined;
  const ancestors: Task[] = [];
  for (let { parentId } = task; parentId !== undefined; parentId = ancestors.at(-1)!.parentId) {
    const parent = tasks.get(parentId);
    if (!parent) throw new CorruptRecord(id, `its parent ${parentId} is missing`);
    ancestors.push(parent);
  }
  return { task, ancestors };
}

/**
 * A task with its ancestors and descendants; undefined if `tasks` does not contain the task. `tasks` must be in order
 * of creation, so that siblings are in their order. Throws `SubtasksMissing` if descendants are missing.
 */
export function familyIn(tasks: ReadonlyMap<TaskId, Task>, id: TaskId): Family | undefined {
  const lineage = lineageIn(tasks, id);
  if (!lineage) return undefined;
  const below = [...tasks.values()].filter(({ depth }) => depth > lineage.task.depth);
  const descendants: Task[] = [];
  for (let level = [lineage.task]; level.length > 0; ) {
    // How many subtasks each task of this level has.
    const parents = new Map(level.map((parent) => [parent.id, parent.childCount]));
    level = below.filter(({ parentId }) => parents.has(parentId!));
    const count = [...parents.values()].reduce((sum, one) => sum + one, 0);
    if (level.length !== count) throw new SubtasksMissing(id);
    descendants.push(...level);
  }
  return { ...lineage, descendants };
}

/**
 * Subtasks are missing: usually because they were started after the statement began that read their parent. Then the
 * next statement sees them.
 */
export class SubtasksMissing extends CorruptRecord {
  constructor(id: TaskId) {
    super(id, 'some of its subtasks are missing');
  }
}
