/** Who waits for news of which tree. */
import type { TaskId } from '../../model/task.ts';
import type { CommittedChange, Store } from '../../ports/store.ts';

export type Listener = (commit: CommittedChange) => void;

/** Listeners by the root of a tree. */
export class TreeListeners<News> {
  readonly #listeners = new Map<TaskId, Set<(news: News) => void>>();

  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  /** How many there are, for tests that nothing is left behind. */
  get size(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }

  add(rootId: TaskId, listener: (news: News) => void): () => void {
    const listeners = this.#listeners.get(rootId) ?? new Set();
    this.#listeners.set(rootId, listeners.add(listener));
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) this.#listeners.delete(rootId);
    };
  }

  notify(rootId: TaskId, news: News): void {
    for (const listener of [...(this.#listeners.get(rootId) ?? [])]) listener(news);
  }
}

/**
 * Those who wait for commits. One subscription to the store serves all of them, and none is held while nobody waits, so
 * that ten thousand waiters cost each commit one look into a map.
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

  /** Hears of every commit in the tree of a root from now on. */
  watch(rootId: TaskId, listener: Listener): () => void {
    // First: a store that is closed refuses it.
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
