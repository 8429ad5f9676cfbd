/**
 * A tree as it looks to a peer that knows no subtasks: one task. Questions of subtasks appear on the root under a key
 * that begins with the way to them (`2.1/confirm`: the first subtask of the second subtask), and nothing else of the
 * tree shows.
 */
import type { InputRequest } from '../model/input.ts';
import { reportedTtl } from '../model/retention.ts';
import { openInputs, type Task, type TaskId } from '../model/task.ts';

/** What is shown as one task: with everything below it, or, to peers that know subtasks, alone with its links. */
export interface Tree {
  readonly root: Task;
  /** Parents before their children. */
  readonly descendants: readonly Task[];
  readonly links?: { readonly top: Task; readonly childIds: readonly TaskId[] };
}

export interface CollapsedQuestion {
  /** The key on the root. */
  readonly key: string;
  readonly request: InputRequest;
  /** Whose question it is, and its key there. */
  readonly taskId: TaskId;
  readonly ownKey: string;
}

/** Every open question of the tree: the root's own first, then those of its subtasks, in their order. */
export function questionsOf({ root, descendants }: Tree): CollapsedQuestion[] {
  const ways = new Map<TaskId, string>([[root.id, '']]);
  const all: CollapsedQuestion[] = [];
  for (const task of [root, ...descendants]) {
    const above = task.parentId === undefined ? undefined : ways.get(task.parentId);
    const way = above === undefined ? '' : `${above === '' ? '' : `${above}.`}${task.ordinal + 1}`;
    ways.set(task.id, way);
    for (const { key, request } of openInputs(task))
      all.push({ key: way === '' ? key : `${way}/${key}`, request, taskId: task.id, ownKey: key });
  }
  return all;
}

// --- Subtasks for peers that know them (SEP-2268): every task names its parent and its children -------------

/** The extension of 2026-07-28 under which the same links are shown there. */
export const subtasksExtension = 'dev.holdfast/subtasks';

export interface WireLinks {
  readonly parentTaskId?: TaskId;
  readonly childTaskIds?: readonly TaskId[];
}

export function linksOf(tree: Tree): WireLinks {
  if (!tree.links) return {};
  const { childIds } = tree.links;
  return { ...parentOf(tree), ...(childIds.length > 0 && { childTaskIds: childIds }) };
}

export function parentOf({ root, links }: Tree): Pick<WireLinks, 'parentTaskId'> {
  return links && root.parentId !== undefined ? { parentTaskId: root.parentId } : {};
}

/** A subtask is known exactly as long as its tree. */
export function ttlOf({ root, links }: Tree, now: number): number | null {
  return reportedTtl(root, links?.top ?? root, now);
}
