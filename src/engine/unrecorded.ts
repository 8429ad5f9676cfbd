/** Tells those who wait for a task that the store did not take what was done for it. */
import type { TaskId } from '../model/task.ts';
import type { StoreError } from './store-errors.ts';

type Listener = (error: StoreError) => void;

export class Unrecorded {
  readonly #listeners = new Map<TaskId, Set<Listener>>();

  listen(rootId: TaskId, listener: Listener): () => void {
    const listeners = this.#listeners.get(rootId) ?? new Set();
    this.#listeners.set(rootId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(rootId);
    };
  }

  tell(rootId: TaskId, error: StoreError): void {
    for (const listener of [...(this.#listeners.get(rootId) ?? [])]) listener(error);
  }
}
