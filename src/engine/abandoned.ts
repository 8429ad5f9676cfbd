/** Tasks of requests whose process died: nobody is left to receive their result. */
import type { Clock } from '../model/clock.ts';
import { Refusal } from '../model/errors.ts';
import type { Task } from '../model/task.ts';
import type { Database } from './queue.ts';
import { cancel } from './transitions.ts';

/** Cancels the tree of a task that nobody knows or can join, if the process that served its request is dead. */
export async function endIfAbandoned({ store, queue }: Database, task: Task, clock: Clock): Promise<boolean> {
  const root = task.parentId === undefined ? task : await store.get(task.rootId);
  const { servedBy, join } = root?.unpublished ?? {};
  if (join) return false;
  // What this process serves itself needs no looking.
  if (typeof servedBy !== 'string' || servedBy === queue.name || (await queue.isAlive(servedBy)))
    return false;
  const reason = 'The process that served the request died before the task was published.';
  try {
    await store.update('family', task.rootId, (family) => cancel(family, clock.now(), reason));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
  return true;
}
