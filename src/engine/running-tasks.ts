/**
 * The tasks that a process is running, whichever of its workers has them, those with steps that outlive their worker
 * included. A step must not begin again while it still runs, even if its claim was lost.
 */
import type { TaskId } from '../model/task.ts';
import type { Queue } from './queue.ts';
import type { Run } from './run.ts';

interface OfQueue {
  readonly runs: Map<TaskId, Run>;
  readonly listeners: Set<() => void>;
}

/** By the name of the queue: several `Tasks` may share one database. */
const known = new Map<string, OfQueue>();

export class RunningTasks {
  readonly #queue: string;

  constructor({ name }: Queue) {
    this.#queue = name;
  }

  /** Those that it holds, or of which a step still runs. */
  get ids(): ReadonlySet<TaskId> {
    const runs = known.get(this.#queue)?.runs.values() ?? [];
    return new Set([...runs].flatMap((run) => (run.isOver && !run.settled ? [] : run.taskId)));
  }

  /** Whether a step of this task runs here. */
  hasStep(id: TaskId): boolean {
    return known.get(this.#queue)?.runs.get(id)?.settled !== undefined;
  }

  add(run: Run): void {
    this.#known().runs.set(run.taskId, run);
  }

  /** `isLate`: its steps outlived it, so its task could not be claimed here until now. */
  delete(run: Run, { isLate }: { readonly isLate: boolean }): void {
    const { runs, listeners } = this.#known();
    if (runs.get(run.taskId) === run) runs.delete(run.taskId);
    this.#forget();
    if (isLate) for (const listener of [...listeners]) listener();
  }

  /** Calls back when a step that outlived its run has settled, in any worker of this process. */
  onSettled(listener: () => void): () => void {
    this.#known().listeners.add(listener);
    return () => {
      this.#known().listeners.delete(listener);
      this.#forget();
    };
  }

  #known(): OfQueue {
    const found = known.get(this.#queue) ?? { runs: new Map(), listeners: new Set() };
    known.set(this.#queue, found);
    return found;
  }

  #forget(): void {
    const { runs, listeners } = this.#known();
    if (runs.size === 0 && listeners.size === 0) known.delete(this.#queue);
  }
}
