import type { Task } from './task.ts';

/**
 * How long a finished task is kept. Retention never ends live work: that is the deadline's business alone.
 * `ms: null` keeps the task without limit.
 */
export type Retention =
  /** The author's default, and SEP-1686's keepAlive: counted from the end. */
  | { readonly from: 'finish'; readonly ms: number | null }
  /** A requestor's ttl: a wish counted from creation. A result stays readable for `floorMs` after the end at least. */
  | { readonly from: 'creation'; readonly ms: number | null; readonly floorMs: number };

export function keepUntil(retention: Retention, createdAt: number, finishedAt: number): number | null {
  if (retention.ms === null) return null;
  return retention.from === 'finish'
    ? finishedAt + retention.ms
    : Math.max(createdAt + retention.ms, finishedAt + retention.floorMs);
}

/**
 * The ttl that a peer is shown, counted from the task's creation; null without limit. While a tree lives it is never
 * in the past, so it grows for work that outlives the wish. A subtask's ends with its tree's, not before or after.
 */
export function reportedTtl(task: Task, root: Task, now: number): number | null {
  const ofTree = ttlOfTree(root, now);
  return ofTree === null ? null : root.createdAt + ofTree - task.createdAt;
}

function ttlOfTree(root: Task, now: number): number | null {
  if (root.phase === 'done') return root.purgeAt === null ? null : root.purgeAt - root.createdAt;
  const { retention, createdAt, deadlineAt } = root;
  if (retention.ms === null) return null;
  if (retention.from === 'creation') return Math.max(retention.ms, now - createdAt + retention.floorMs);
  return deadlineAt === null ? null : deadlineAt - createdAt + retention.ms;
}
