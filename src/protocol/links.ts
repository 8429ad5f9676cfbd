/** Subtasks as peers see them that know of them (SEP-2268): every task names its parent and its children. */
import { reportedTtl } from '../model/retention.ts';
import type { TaskId } from '../model/task.ts';
import type { Tree } from './collapse.ts';

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
