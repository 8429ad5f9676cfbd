/**
 * The eight invariants of `engine/transitions.ts`, checked from the outside: on a set of tasks as they stand, and on
 * what one commit made of them. Nothing here calls a rule, so a wrong rule cannot vouch for itself.
 */

import type { Task, TaskId } from '../model/task.ts';
import type { Change } from '../ports/change.ts';

export type Tasks = ReadonlyMap<TaskId, Task>;

/** What is wrong with these tasks, in sentences; empty if all is well. */
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
    if (task.parentId !== undefined && !parent) complain('has a parent that cannot be read');
    if (task.parentId === task.id) complain('is its own parent');
    if (task.rootId !== (parent?.rootId ?? task.id)) complain('names the wrong root');
    if (task.depth !== (parent ? parent.depth + 1 : 0)) complain('has the wrong depth');
    if (parent && parent.owner !== task.owner) complain('belongs to another owner than its parent');

    if (task.phase === 'done') {
      for (const field of ['worker', 'isReady', 'wakeAt', 'heldOutcome'])
        if (field in task) complain(`is done and has a ${field}`);
      if (task.finishedAt < task.createdAt) complain('ended before it began');
      if (own.some((child) => child.phase === 'done' && child.finishedAt > task.finishedAt))
        complain('ended before a subtask of its own');
    } else {
      if (task.heldOutcome && (task.worker || task.liveChildCount === 0))
        complain('holds its outcome back for nothing');
      if (task.phase === 'queued' && task.epoch > 0) complain('is queued though a pass has begun');
    }
  }
  return broken;
}

/** What is wrong with a commit, given the tasks before and after it. */
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
  const told = new Map<TaskId, Task>();
  for (const { task } of change.writes) {
    if (told.has(task.id)) broken.push(`${task.id}: was written twice in one commit`);
    told.set(task.id, task);
    // Observers learn of the writes one by one: at no point may they see a done parent over a living child.
    if (task.parentId !== undefined && told.get(task.parentId)?.phase === 'done')
      broken.push(`${task.id}: is told of after its parent has ended`);
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
