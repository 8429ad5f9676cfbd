/**
 * The tasks that a process is running, whichever of its workers has them. None of them is ever claimed here: a step that
 * still runs must not begin again beside itself, whatever became of its claim.
 */
import type { TaskId } from '../model/task.ts';
import type { Queue } from './queue.ts';

export interface RunningTasks {
  readonly ids: Set<TaskId>;
  leave(): void;
}

/** By the name of the queue: several `Tasks` may share one database. */
const known = new Map<string, { readonly ids: Set<TaskId>; workers: number }>();

export function joinRunningTasks({ name }: Queue): RunningTasks {
  const entry = known.get(name) ?? { ids: new Set<TaskId>(), workers: 0 };
  known.set(name, entry);
  entry.workers++;
  return {
    ids: entry.ids,
    leave() {
      if (--entry.workers === 0) known.delete(name);
    },
  };
}
