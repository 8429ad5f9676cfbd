/** Claims tasks for a worker. */
import { NotClaimable, TaskNotFound } from '../model/errors.ts';
import type { TaskId } from '../model/task.ts';
import { crashPoint } from './crash-point.ts';
import { DamagedTasks } from './damaged-tasks.ts';
import type { Claimed, Database, Offer, ToolVersion } from './queue.ts';
import type { RunningTasks } from './running-tasks.ts';
import { StoreError, TaskDamaged } from './store-errors.ts';
import { claim } from './transitions.ts';

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
  readonly damaged?: DamagedTasks;
}

/**
 * Claims up to `limit` tasks that have work. Offers that another worker took first are passed over. A claim that was
 * committed is always returned: what fails for one offer is that offer's own, and the store has reported it.
 */
export async function claimTasks(database: Database, request: ClaimRequest): Promise<Claimed[]> {
  const { damaged = new DamagedTasks(), running = nothing } = request;
  const claimed: Claimed[] = [];
  const defects: unknown[] = [];
  // Those that turn out to be damaged took the place of others, which are looked for at once.
  for (let isShort = true; isShort; ) {
    isShort = false;
    const limit = request.limit - claimed.length;
    const offers = await offersOf(database, { ...request, limit, damaged, running }, claimed.length > 0);
    const settled = await Promise.allSettled(offers.map((offer) => take(database, offer, request)));
    for (const [index, one] of settled.entries()) {
      const { taskId } = offers[index]!;
      if (one.status === 'fulfilled') {
        damaged.isSound(taskId);
        if (one.value) claimed.push(one.value);
      } else if (one.reason instanceof TaskDamaged) {
        damaged.found(taskId, request.now());
        isShort = true;
      } else if (!(one.reason instanceof StoreError)) defects.push(one.reason);
    }
  }
  if (claimed.length === 0 && defects.length > 0) throw defects[0];
  return claimed;
}

/** `isMore`: some were claimed already, and whatever goes wrong now must not drop them. */
async function offersOf(
  { queue }: Database,
  { tools, limit, now, damaged, running }: Required<ClaimRequest>,
  isMore: boolean,
): Promise<Offer[]> {
  try {
    const found = new Map<TaskId, Offer>();
    let passedOver = 0;
    const ask = async (most: number) => {
      for (const offer of await queue.offers(tools, most, running.ids)) {
        // A task that was given back while a step of it still runs here is for other processes.
        const isAvoided = damaged.isLeftAlone(offer.taskId, now()) || running.hasStep(offer.taskId);
        if (isAvoided) passedOver++;
        else found.set(offer.taskId, offer);
      }
    };
    await ask(limit);
    // Damaged tasks are ready for as long as they are damaged, and may stand before all others. Not asked for at once,
    // because what a queue offers and nobody takes may be kept from others for a while.
    if (found.size < limit && passedOver > 0) await ask(limit + damaged.size + running.ids.size);
    crashPoint('claim: chosen');
    return [...found.values()].slice(0, limit);
  } catch (error) {
    if (isMore && error instanceof StoreError) return [];
    throw error;
  }
}

async function take({ store }: Database, offer: Offer, request: ClaimRequest): Promise<Claimed | undefined> {
  const holder = { name: offer.holder, leaseMs: request.leaseMs };
  try {
    const { task } = await store.update('task', offer.taskId, (task) =>
      claim(task, holder, request.now(), offer.freed),
    );
    const isHeld = task.phase !== 'done' && task.holder !== undefined;
    return isHeld ? { task, claim: { taskId: task.id, epoch: task.epoch } } : undefined;
  } catch (error) {
    if (error instanceof NotClaimable || error instanceof TaskNotFound) return undefined;
    throw error;
  }
}
