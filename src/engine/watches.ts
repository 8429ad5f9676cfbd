/**
 * Who waits for news of which tree. One subscription to the store serves all of them, and none is held while nobody
 * waits, so that ten thousand waiters cost each commit one look into a map.
 */
import type { TaskId } from '../model/task.ts';
import type { CommitNotice, Store } from './store.ts';

export type Listener = (commit: CommitNotice) => void;

export class Watches {
  readonly #store: Store;
  readonly #listeners = new Map<TaskId, Set<Listener>>();
  #unsubscribe: (() => void) | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /** How many listeners there are, for tests that nothing is left behind. */
  get size(): number {
    let size = 0;
    for (const { size: some } of this.#listeners.values()) size += some;
    return size;
  }

  /** Hears of every commit in the tree of a root from now on. */
  watch(rootId: TaskId, listener: Listener): () => void {
    // First: a store that is closed refuses it.
    this.#unsubscribe ??= this.#store.subscribe((commit) => this.#tell(commit));
    const listeners = this.#listeners.get(rootId) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(rootId, listeners);
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0) return;
      this.#listeners.delete(rootId);
      if (this.#listeners.size > 0) return;
      this.#unsubscribe?.();
      this.#unsubscribe = undefined;
    };
  }

  #tell(commit: CommitNotice): void {
    for (const listener of [...(this.#listeners.get(commit.rootId) ?? [])]) listener(commit);
  }
}
