/**
 * The tasks that a process is running, whichever of its workers has them, those with steps that outlive their worker
 * included. None of them is ever claimed here: a step that still runs must not begin again beside itself, whatever
 * became of its claim.
 */
import type { TaskId } from '../model/task.ts';
import type { Queue } from './queue.ts';

/** By the name of the queue: several `Tasks` may share one database. Only queues that run something have an entry. */
const known = new Map<string, Set<TaskId>>();

export class RunningTasks {
  readonly #queue: string;

  constructor({ name }: Queue) {
    this.#queue = name;
  }

  get ids(): ReadonlySet<TaskId> {
    return known.get(this.#queue) ?? new Set();
  }

  add(id: TaskId): void {
    const ids = known.get(this.#queue);
    if (ids) ids.add(id);
    else known.set(this.#queue, new Set([id]));
  }

  delete(id: TaskId): void {
    const ids = known.get(this.#queue);
    ids?.delete(id);
    if (ids?.size === 0) known.delete(this.#queue);
  }
}
