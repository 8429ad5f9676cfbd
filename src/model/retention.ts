import type { Task } from './task.ts';

/**
 * How long a finished task is kept. Retention never ends live work: only the deadline does. `ms: null` keeps the task
 * without limit.
 */
export type Retention =
  /** The author's default, and SEP-1686's keepAlive: counted from the end of the task. */
  | { readonly from: 'finish'; readonly ms: number | null }
  /** A caller's ttl: counted from creation. The task is kept for at least `floorMs` after its end. */
  | { readonly from: 'creation'; readonly ms: number | null; readonly floorMs: number };

/** Until when a finished task is kept; null without limit. */
export function keepUntil(retention: Retention, createdAt: number, finishedAt: number): number | null {
  if (retention.ms === null) return null;
  return retention.from === 'finish'
    ? finishedAt + retention.ms
    : Math.max(createdAt + retention.ms, finishedAt + retention.floorMs);
}

/**
 * The ttl that peers see, in milliseconds from the task's creation; null without limit. It never ends before a live
 * tree does: if the work outlives the requested ttl, the reported one grows. The ttl of a subtask ends together with
 * that of its tree.
 */
export function reportedTtl(task: Task, root: Task, now: number): number | null {
  const treeTtl = ttlOfTree(root, now);
  return treeTtl === null ? null : root.createdAt + treeTtl - task.createdAt;
}

function ttlOfTree(root: Task, now: number): number | null {
  if (root.phase === 'done') return root.purgeAt === null ? null : root.purgeAt - root.createdAt;
  const { retention, createdAt, deadlineAt } = root;
  if (retention.ms === null) return null;
  if (retention.from === 'creation') return Math.max(retention.ms, now - createdAt + retention.floorMs);
  // The task may live until its deadline. Without one, its end is unknown, and so is the ttl.
  return deadlineAt === null ? null : deadlineAt - createdAt + retention.ms;
}
