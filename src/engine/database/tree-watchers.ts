/** Listeners for changes of task trees. */
import type { TaskId } from '../../model/task.ts';
import type { CommittedChange, Store } from '../../ports/store.ts';

export type Listener = (commit: CommittedChange) => void;

/** Listeners by the root of their tree. */
export class TreeListeners<Event> {
  readonly #listeners = new Map<TaskId, Set<(event: Event) => void>>();

  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  /** The number of listeners. Tests use it to find leaks. */
  get size(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }

  add(rootId: TaskId, listener: (event: Event) => void): () => void {
    const listeners = this.#listeners.get(rootId) ?? new Set();
    this.#listeners.set(rootId, listeners.add(listener));
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) this.#listeners.delete(rootId);
    };
  }

  notify(rootId: TaskId, event: Event): void {
    for (const listener of [...(this.#listeners.get(rootId) ?? [])]) listener(event);
  }
}

/**
 * Notifies listeners of commits. One subscription to the store serves all listeners, so that ten thousand of them cost
 * each commit one map lookup. Without listeners there is no subscription.
 */
export class TreeWatchers {
  readonly #store: Store;
  readonly #listeners = new TreeListeners<CommittedChange>();
  #unsubscribe: (() => void) | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** Calls the listener for every later commit in the tree of a root. */
  watch(rootId: TaskId, listener: Listener): () => void {
    // This comes first because a closed store throws here.
    this.#unsubscribe ??= this.#store.subscribe((commit) => this.#listeners.notify(commit.rootId, commit));
    const stop = this.#listeners.add(rootId, listener);
    return () => {
      stop();
      if (!this.#listeners.isEmpty) return;
      this.#unsubscribe?.();
      this.#unsubscribe = undefined;
    };
  }
}
