/**
 * Shows a tree as one task, for peers that do not support subtasks. Questions of subtasks appear on the root, under a
 * key that begins with the path of the subtask: `2.1/confirm` is the question `confirm` of the first subtask of the
 * second subtask. Nothing else of the subtasks is visible.
 */
import type { InputRequest } from '../model/input.ts';
import { reportedTtl } from '../model/retention.ts';
import { openInputs, type Task, type TaskId } from '../model/task.ts';

/**
 * What is shown as one task. For peers without subtasks: a task with its descendants. For peers with subtasks: the task
 * alone, with its links.
 */
export interface Tree {
  readonly root: Task;
  /** Parents before their children. */
  readonly descendants: readonly Task[];
  /** Only for peers with subtasks. `top` is the root of the whole tree, while `root` may itself be a subtask. */
  readonly links?: { readonly top: Task; readonly childIds: readonly TaskId[] };
}

export interface CollapsedQuestion {
  /** The key under which the question appears on the root: the path of its task and `ownKey`. */
  readonly key: string;
  readonly request: InputRequest;
  /** The task that asks the question. */
  readonly taskId: TaskId;
  /** The key of the question in that task. */
  readonly ownKey: string;
}

/** All open questions of the tree: first those of the root, then those of its subtasks in order. */
export function questionsOf({ root, descendants }: Tree): CollapsedQuestion[] {
  const paths = new Map<TaskId, string>([[root.id, '']]);
  const all: CollapsedQuestion[] = [];
  for (const task of [root, ...descendants]) {
    const parentPath = task.parentId === undefined ? undefined : paths.get(task.parentId);
    const path =
      parentPath === undefined ? '' : `${parentPath === '' ? '' : `${parentPath}.`}${task.ordinal + 1}`;
    paths.set(task.id, path);
    for (const { key, request } of openInputs(task))
      all.push({ key: path === '' ? key : `${path}/${key}`, request, taskId: task.id, ownKey: key });
  }
  return all;
}

// --- Subtasks for peers that support them (SEP-2268): every task has links to its parent and its children ---

/** Our own extension of 2026-07-28, which shows the same links as SEP-2268. */
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

/** The reported ttl, in milliseconds from creation; null without limit. That of a subtask ends with its tree's. */
export function ttlOf({ root, links }: Tree, now: number): number | null {
  return reportedTtl(root, links?.top ?? root, now);
}
