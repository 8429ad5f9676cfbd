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
  /** Asked when the claim is decided: until then a timer may have come due. */
  readonly now: () => number;
  /** What this process is running. */
  readonly running?: Pick<RunningTasks, 'ids' | 'hasStep'>;
  /** Those that were found damaged before. */
  readonly corrupt?: CorruptTasks;
}

/**
 * Claims up to `limit` tasks that have work. A claim that was committed is always returned, and what fails for one task
 * affects no other.
 */
export async function claimTasks({ store, queue }: Database, request: ClaimRequest): Promise<Claimed[]> {
  const { tools, leaseMs, now, running = nothing, corrupt: damaged = new CorruptTasks() } = request;
  const holder = { name: queue.name, leaseMs };
  const rule: ClaimRule = (task, freed) =>
    running.hasStep(task.id)
      ? refusal('NOT_CLAIMABLE', task.id, 'still running in this process')
      : claim(task, holder, now(), freed);
  const claimed: Claimed[] = [];
  const defects: unknown[] = [];
  // Damaged tasks took the place of others, which are claimed in another round.
  for (let isShort = true; isShort; ) {
    isShort = false;
    const limit = request.limit - claimed.length;
    const { ids } = running;
    // A task that was given back while a step of it still runs here is for other processes.
    const withSteps = [...ids].filter((id) => running.hasStep(id));
    const except = new Set([...withSteps, ...damaged.skipped(now())]);
    const claims = await store.claim({ tools, limit, running: ids, except }, rule).catch((error: unknown) => {
      if (claimed.length > 0 && error instanceof StoreError) return none;
      throw error;
    });
    for (const one of claims.claimed) {
      damaged.delete(one.change.task.id);
      claimed.push(...claimedBy(one));
    }
    for (const { taskId, error } of claims.failed) {
      if (error instanceof TaskCorrupt) {
        damaged.add(taskId, now());
        isShort = true;
      } else if (!(error instanceof StoreError)) defects.push(error);
    }
  }
  if (claimed.length === 0 && defects.length > 0) throw defects[0];
  return claimed;
}

const none: Claims = { claimed: [], failed: [] };

/** Nothing if the claim left the task without a holder: it rests first. */
function claimedBy({ change: { task }, journal }: ClaimedChange): Claimed[] {
  if (task.phase === 'done' || task.worker === undefined) return [];
  return [{ task, claim: { taskId: task.id, epoch: task.epoch }, ...(journal && { journal }) }];
}
