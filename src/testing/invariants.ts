/**
 * Checks the eight invariants that `engine/rules/transitions.ts` lists, on a set of tasks and on the effect of one
 * commit. No code here calls a rule, so a wrong rule cannot make its own effect look right.
 */

import type { Task, TaskId } from '../model/task.ts';
import type { Change } from '../ports/change.ts';

export type Tasks = ReadonlyMap<TaskId, Task>;

/** Describes every violation in a complete set of tasks. Empty if there is none. */
export function brokenInvariants(tasks: Tasks): string[] {
  const broken: string[] = [];
  const children = Map.groupBy(tasks.values(), (task) => task.parentId);
  for (const task of tasks.values()) {
    const complain = (what: string) =>
      broken.push(`${task.id} (${task.phase}, version ${task.version}): ${what}`);

    const open = task.inputs.filter((input) => input.state === 'open').length;
    if ((task.phase === 'waiting') !== open > 0) complain(`is ${task.phase} with ${open} open inputs`);
    if (new Set(task.inputs.map(({ key }) => key)).size < task.inputs.length)
      complain('uses an input key twice');

    const own = (children.get(task.id) ?? []).toSorted((a, b) => a.ordinal - b.ordinal);
    const live = own.filter((child) => child.phase !== 'done');
    if (task.phase === 'done' && live.length > 0) complain(`is done over ${live.length} living subtasks`);
    if (own.length !== task.childCount) complain(`counts ${task.childCount} subtasks and has ${own.length}`);
    if (live.length !== task.liveChildCount)
      complain(`counts ${task.liveChildCount} living subtasks of ${live.length}`);
    if (own.some((child, index) => child.ordinal !== index)) complain('has subtasks out of order');

    const parent = task.parentId === undefined ? undefined : tasks.get(task.parentId);
    if (task.parentId !== undefined && !parent) complain('has a parent that does not exist');
    if (task.parentId === task.id) complain('is its own parent');
    if (task.rootId !== (parent?.rootId ?? task.id)) complain('has the wrong root');
    if (task.depth !== (parent ? parent.depth + 1 : 0)) complain('has the wrong depth');
    if (parent && parent.owner !== task.owner) complain('has a different owner than its parent');

    if (task.phase === 'done') {
      for (const field of ['worker', 'isReady', 'wakeAt', 'heldOutcome'])
        if (field in task) complain(`is done and has a ${field}`);
      if (task.finishedAt < task.createdAt) complain('ended before it began');
      if (own.some((child) => child.phase === 'done' && child.finishedAt > task.finishedAt))
        complain('ended before one of its subtasks');
    } else {
      if (task.heldOutcome && (task.worker || task.liveChildCount === 0))
        complain('has a held outcome without a reason');
      if (task.phase === 'queued' && task.epoch > 0) complain('is queued although a pass has begun');
    }
  }
  return broken;
}

/** Describes every violation by one commit, given all tasks before and after it. Empty if there is none. */
export function brokenByChange(before: Tasks, after: Tasks, change: Change): string[] {
  const broken: string[] = [];
  for (const [id, old] of before) {
    const next = after.get(id);
    const complain = (what: string) => broken.push(`${id}: ${what}`);
    if (!next) {
      if (old.phase !== 'done') complain('was purged alive');
      if ([...after.values()].some(({ rootId }) => rootId === old.rootId))
        complain('was purged without its tree');
      continue;
    }
    if (next === old) continue;
    if (old.phase === 'done') complain('changed after it was done');
    if (next.version !== old.version + 1) complain(`went from version ${old.version} to ${next.version}`);
    if (next.epoch < old.epoch) complain('went back to an older claim');
    if (next.updatedAt < old.updatedAt) complain('went back in time');
    if (next.childCount < old.childCount) complain('lost a subtask');
    for (const [index, input] of old.inputs.entries()) {
      const now = next.inputs[index];
      if (now?.key !== input.key) complain(`lost the question "${input.key}"`);
      else if (input.state !== 'open' && now.state !== input.state)
        complain(`reopened the question "${input.key}"`);
    }
    const same = ['id', 'owner', 'tool', 'parentId', 'rootId', 'ordinal', 'createdAt'] as const;
    for (const field of same) if (old[field] !== next[field]) complain(`changed its ${field}`);
  }
  const reported = new Map<TaskId, Task>();
  for (const { task } of change.writes) {
    if (reported.has(task.id)) broken.push(`${task.id}: was written twice in one commit`);
    reported.set(task.id, task);
    // Observers receive the writes one by one, so a subtask that ends must be written before its parent.
    if (task.parentId !== undefined && reported.get(task.parentId)?.phase === 'done')
      broken.push(`${task.id}: is reported after its parent has ended`);
  }
  return broken;
}

/** The tasks after a commit. */
export function applied(tasks: Tasks, change: Change): Map<TaskId, Task> {
  const next = new Map(tasks);
  for (const { task } of change.writes) next.set(task.id, task);
  for (const id of change.removed) next.delete(id);
  return next;
}
