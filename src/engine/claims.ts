/** Claims tasks for a worker, and knows which tasks this process is running. */
import { NotClaimable, TaskNotFound } from '../model/errors.ts';
import type { TaskId } from '../model/task.ts';
import { crashPoint } from './crash-point.ts';
import type { Claimed, Database, Offer, Queue, ToolVersion } from './queue.ts';
import { claim } from './transitions.ts';

export interface ClaimRequest {
  readonly tools: readonly ToolVersion[];
  readonly limit: number;
  readonly leaseMs: number;
  /** Asked when the claim is decided: until then a timer may have come due. */
  readonly now: () => number;
}

const running = new WeakMap<Queue, Set<TaskId>>();

/**
 * The tasks that this process is running or about to run, whichever of its workers has them. None of them is ever
 * claimed here: a step that still runs must not begin again beside itself, whatever became of its claim.
 */
export function runningIn(queue: Queue): Set<TaskId> {
  const known = running.get(queue);
  if (known) return known;
  const ids = new Set<TaskId>();
  running.set(queue, ids);
  return ids;
}

/**
 * Claims up to `limit` tasks that have work. Offers that another worker took first are passed over. What is claimed
 * counts as running from then on, until the worker takes it out of `runningIn()`.
 */
export async function claimTasks(database: Database, request: ClaimRequest): Promise<Claimed[]> {
  const ids = runningIn(database.queue);
  const offers = await database.queue.offers(request.tools, request.limit, ids);
  crashPoint('claim: chosen');
  const claimed = await Promise.all(offers.map((offer) => take(database, offer, request)));
  return claimed.filter((one) => one !== undefined);
}

async function take({ store }: Database, offer: Offer, request: ClaimRequest): Promise<Claimed | undefined> {
  const holder = { name: offer.holder, leaseMs: request.leaseMs };
  try {
    const { task } = await store.update('task', offer.taskId, (task) =>
      claim(task, holder, request.now(), offer.freed),
    );
    return { task, claim: { taskId: task.id, epoch: task.epoch } };
  } catch (error) {
    if (error instanceof NotClaimable || error instanceof TaskNotFound) return undefined;
    throw error;
  }
}
