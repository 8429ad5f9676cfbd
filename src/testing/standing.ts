/** Tasks that stand as a check needs them. */
import type { Store } from '../engine/store.ts';
import * as rules from '../engine/transitions.ts';
import type { Failed } from '../model/outcome.ts';
import type { Standing } from '../model/standing.ts';
import type { NewTask, TaskId } from '../model/task.ts';
import { aTask } from './fixtures.ts';
import type { ManualClock } from './manual-clock.ts';
import { claimOne, create } from './store-commands.ts';

export const success = { kind: 'result', isError: false, value: { content: [] } } as const;

/** A published root that stands like that. */
export async function standing(
  store: Store,
  clock: ManualClock,
  how: Standing,
  given: Partial<NewTask> = {},
): Promise<TaskId> {
  const request = aTask(given);
  const { id } = request;
  await create(store, clock, request);
  if (how === 'queued') return id;
  const claim = await claimOne(store, clock, id);
  if (how === 'waiting') {
    const question = { key: 'colour', request: { kind: 'roots' } } as const;
    await store.update('task', id, (task) => rules.ask(task, claim, question, clock.now()));
  } else if (how === 'completed') {
    await store.update('lineage', id, (around) => rules.complete(around, claim, success, clock.now()));
  } else if (how !== 'running') {
    await store.update('family', id, (family) => rules.fail(family, claim, outcomes[how], clock.now()));
  }
  return id;
}

const outcomes: Readonly<Record<'failed' | 'cancelled' | 'lost', Failed>> = {
  failed: { kind: 'failure', message: 'Out of ink.' },
  cancelled: { kind: 'cancelled' },
  lost: { kind: 'lost', message: 'Nobody knows.' },
};
