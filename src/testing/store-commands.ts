/** The commands that the checks of stores are made of, each through the real rules. */
import type { Change } from '../engine/change.ts';
import type { Claim } from '../engine/queue.ts';
import type { Store } from '../engine/store.ts';
import * as rules from '../engine/transitions.ts';
import type { NewTask, Task } from '../model/task.ts';
import { aTask } from './fixtures.ts';
import type { ManualClock } from './manual-clock.ts';

export const briefly: Partial<NewTask> = { retention: { from: 'finish', ms: 1_000 } };

export function ids(tasks: readonly Pick<Task, 'id'>[]): string[] {
  return tasks.map(({ id }) => id);
}

export function holder(name = 'worker') {
  return { name, leaseMs: 15_000 };
}

export function create(store: Store, clock: ManualClock, request: NewTask): Promise<Change> {
  return store.create(undefined, () => rules.create(undefined, request, clock.now()));
}

export async function claimOne(store: Store, clock: ManualClock, taskId: string): Promise<Claim> {
  const { task } = await store.update('task', taskId, (now) => rules.claim(now, holder(), clock.now()));
  return { taskId, epoch: task.epoch };
}

export async function claimed(
  store: Store,
  clock: ManualClock,
  request = aTask(),
): Promise<{ task: Task; claim: Claim }> {
  await create(store, clock, request);
  const claim = await claimOne(store, clock, request.id);
  return { task: (await store.get(request.id))!, claim };
}

export async function startChild(store: Store, clock: ManualClock, claim: Claim): Promise<Task> {
  const request = aTask({ tool: 'summarise' });
  await store.update('task', claim.taskId, (parent) => rules.startChild(parent, claim, request, clock.now()));
  return (await store.get(request.id))!;
}

export function end(store: Store, clock: ManualClock, { id }: Task): Promise<Change> {
  return store.update('family', id, (family) => rules.cancel(family, clock.now()));
}

export async function purge(store: Store, clock: ManualClock, { id }: Task): Promise<void> {
  clock.advance(1_000);
  await store.update('family', id, (family) => rules.purge(family, clock.now()));
}
