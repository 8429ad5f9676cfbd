/** Claims tasks for a worker. */
import { refusal } from '../../model/errors.ts';
import type { TaskId } from '../../model/task.ts';
import type { Claimed, Database, ToolVersion } from '../../ports/queue.ts';
import type { ClaimedChange, ClaimRule, Claims } from '../../ports/store.ts';
import { StoreError, TaskCorrupt } from '../../ports/store-errors.ts';
import { claim } from '../rules/transitions.ts';
import { CorruptTasks } from './corrupt-tasks.ts';
import type { RunningTasks } from './running-tasks.ts';

const nothing = { ids: new Set<TaskId>(), hasStep: () => false };

export interface ClaimRequest {
  readonly tools: readonly ToolVersion[];
  readonly limit: number;
  readonly leaseMs: number;
  /** Called when the claim is decided: a timer may have become due until then. */
  readonly now: () => number;
  /** The tasks that this process is running. */
  readonly running?: Pick<RunningTasks, 'ids' | 'hasStep'>;
  /** Tasks that were found corrupt before. */
  readonly corrupt?: CorruptTasks;
}

/**
 * Claims up to `limit` ready tasks. A committed claim is always returned, and an error in one task does not affect
 * other tasks.
 */
export async function claimTasks({ store, queue }: Database, request: ClaimRequest): Promise<Claimed[]> {
  const { tools, leaseMs, now, running = nothing, corrupt = new CorruptTasks() } = request;
  const worker = { name: queue.name, leaseMs };
  const rule: ClaimRule = (task, freed) =>
    running.hasStep(task.id)
      ? refusal('NOT_CLAIMABLE', task.id, 'still running in this process')
      : claim(task, worker, now(), freed);
  const claimed: Claimed[] = [];
  const defects: unknown[] = [];
  // Corrupt tasks may have used up the limit, so another round claims the tasks after them.
  for (let isIncomplete = true; isIncomplete; ) {
    isIncomplete = false;
    const limit = request.limit - claimed.length;
    const { ids } = running;
    // A released task with a step that still runs here can only be claimed by other processes.
    const withSteps = [...ids].filter((id) => running.hasStep(id));
    const except = new Set([...withSteps, ...corrupt.skipped(now())]);
    const claims = await store.claim({ tools, limit, running: ids, except }, rule).catch((error: unknown) => {
      if (claimed.length > 0 && error instanceof StoreError) return none;
      throw error;
    });
    for (const one of claims.claimed) {
      corrupt.delete(one.change.task.id);
      claimed.push(...claimedBy(one));
    }
    for (const { taskId, error } of claims.failed) {
      if (error instanceof TaskCorrupt) {
        corrupt.add(taskId, now());
        isIncomplete = true;
      } else if (!(error instanceof StoreError)) defects.push(error);
    }
  }
  if (claimed.length === 0 && defects.length > 0) throw defects[0];
  return claimed;
}

const none: Claims = { claimed: [], failed: [] };

/** Empty if the task is not claimed yet because it rests first. */
function claimedBy({ change: { task }, journal }: ClaimedChange): Claimed[] {
  if (task.phase === 'done' || task.worker === undefined) return [];
  return [{ task, claim: { taskId: task.id, epoch: task.epoch }, ...(journal && { journal }) }];
}
