import { NotClaimable, TaskNotFound } from '../model/errors.ts';
import { crashPoint } from './crash-point.ts';
import type { Claimed, Database, Offer, ToolVersion } from './queue.ts';
import { claim } from './transitions.ts';

export interface ClaimRequest {
  readonly tools: readonly ToolVersion[];
  readonly limit: number;
  readonly leaseMs: number;
  readonly now: number;
}

/** Claims up to `limit` tasks that have work. Offers that another worker took first are passed over. */
export async function claimTasks(database: Database, request: ClaimRequest): Promise<Claimed[]> {
  const offers = await database.queue.offers(request.tools, request.limit);
  crashPoint('claim: chosen');
  const claimed = await Promise.all(offers.map((offer) => take(database, offer, request)));
  return claimed.filter((one) => one !== undefined);
}

async function take({ store }: Database, offer: Offer, request: ClaimRequest): Promise<Claimed | undefined> {
  const holder = { name: offer.holder, leaseUntil: request.now + request.leaseMs };
  try {
    const { task } = await store.update('task', offer.taskId, (task) =>
      claim(task, holder, request.now, offer.deadHolder),
    );
    return { task, claim: { taskId: task.id, epoch: task.epoch } };
  } catch (error) {
    if (error instanceof NotClaimable || error instanceof TaskNotFound) return undefined;
    throw error;
  }
}
