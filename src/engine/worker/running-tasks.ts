/**
 * The tasks that run in this process, across all its workers, including tasks with steps that outlive their worker.
 * A step must not begin again while it still runs, even if the claim of its task was lost.
 */
import type { TaskId } from '../../model/task.ts';
import type { Queue } from '../../ports/queue.ts';
import type { TaskRun } from './task-run.ts';

/** By queue and task. Global, because several `Tasks` in this process may use one database and thus one queue name. */
const runs = new Map<string, { readonly queue: string; readonly run: TaskRun }>();
const listeners = new Set<() => void>();

export class RunningTasks {
  readonly #queue: string;

  constructor({ name }: Queue) {
    this.#queue = name;
  }

  /** Tasks that are claimed here or have a step that still runs. */
  get ids(): ReadonlySet<TaskId> {
    const own = [...runs.values()].filter(({ queue }) => queue === this.#queue);
    return new Set(own.flatMap(({ run }) => (run.isOver && !run.settled ? [] : run.taskId)));
  }

  /** Whether a step of this task runs here: `settled` is undefined if none does. */
  hasStep(id: TaskId): boolean {
    return runs.get(this.#key(id))?.run.settled !== undefined;
  }

  add(run: TaskRun): void {
    runs.set(this.#key(run.taskId), { queue: this.#queue, run });
  }

  /** `isLate`: steps outlived the run, so the task could not be claimed here until now. Notifies the listeners. */
  delete(run: TaskRun, { isLate }: { readonly isLate: boolean }): void {
    const key = this.#key(run.taskId);
    if (runs.get(key)?.run === run) runs.delete(key);
    if (isLate) for (const listener of [...listeners]) listener();
  }

  /** Calls back when a step that outlived its run has settled, in any worker of this process. */
  onSettled(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  #key(id: TaskId): string {
    return `${this.#queue}/${id}`;
  }
}
