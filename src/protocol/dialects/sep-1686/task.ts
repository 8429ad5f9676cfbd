/** Task → wire: a flat task without times, under the name that its requestor gave it. */
import type { JsonObject } from '../../../model/json.ts';
import type { Outcome } from '../../../model/outcome.ts';
import { pollHintMs } from '../../../model/poll-hint.ts';
import { keepUntil } from '../../../model/retention.ts';
import type { Task } from '../../../model/task.ts';
import { questionsOf, type Tree } from '../../collapse.ts';
import { relatedTaskKey } from './names.ts';

export type Status =
  | 'submitted'
  | 'working'
  | 'input_required'
  | 'completed'
  | 'failed'
  | 'cancelled'
  /** What became of it can no longer be found out. */
  | 'unknown';

export interface WireTask {
  readonly taskId: string;
  readonly status: Status;
  /** How long it is kept after its end; null without limit. */
  readonly keepAlive: number | null;
  readonly pollFrequency: number;
  readonly error?: string;
}

export function toTask(tree: Tree, now: number): WireTask {
  const { root } = tree;
  const error = errorOf(root);
  return {
    taskId: nameOf(root),
    status: statusOf(tree),
    keepAlive: keepAliveOf(root),
    pollFrequency: pollHintMs(root, now),
    ...(error !== undefined && { error }),
  };
}

/** Tasks that came another way have no other name than their id. */
export function nameOf({ id, origin }: Task): string {
  return origin.named?.taskId ?? id;
}

export function relatedTo({ root }: Tree, meta?: JsonObject): JsonObject {
  return { ...meta, ...relatedToName(nameOf(root)) };
}

export function relatedToName(taskId: string): JsonObject {
  return { [relatedTaskKey]: { taskId } };
}

export function statusOf(tree: Tree): Status {
  const { root } = tree;
  if (root.phase === 'done') return endStatus[root.outcome.kind];
  if (questionsOf(tree).length > 0) return 'input_required';
  return root.phase === 'queued' ? 'submitted' : 'working';
}

/** An error result is a result: `failed` is said of the task, not of what the request was about. */
const endStatus: Record<Outcome['kind'], Status> = {
  result: 'completed',
  failure: 'failed',
  cancelled: 'cancelled',
  lost: 'unknown',
};

function errorOf(task: Task): string | undefined {
  if (task.phase !== 'done') return undefined;
  const { outcome } = task;
  return outcome.kind === 'failure' || outcome.kind === 'lost' ? outcome.message : undefined;
}

/** Other dialects count from creation: of their tasks it is what is left of that after the end. */
function keepAliveOf(task: Task): number | null {
  const { retention, createdAt } = task;
  if (retention.ms === null || retention.from === 'finish') return retention.ms;
  if (task.phase !== 'done') return retention.floorMs;
  return keepUntil(retention, createdAt, task.finishedAt)! - task.finishedAt;
}
