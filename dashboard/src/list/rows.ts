/**
 * The rows of a list, newest first. A row's task may be updated at any time, but only `settle` adds and removes rows.
 * It is called while the user is at the top, so that nothing moves under a reader.
 */
import type { TaskSummary } from '../../../src/operator/api.ts';

/** If more new tasks than this are held back, the list is reloaded instead. */
export const maxHeld = 1_000;

export class Rows {
  /** In display order. */
  ids: string[] = [];
  readonly #known = new Map<string, TaskSummary>();
  /** New tasks that are not shown yet. */
  readonly #held = new Map<string, TaskSummary>();
  /** Shown, but to be removed: they no longer match, or were purged. */
  readonly #leaving = new Set<string>();
  readonly #gone = new Set<string>();
  #overflowed = false;

  get length(): number {
    return this.ids.length;
  }

  /** The number of tasks held back, and whether there are more. */
  get held(): { readonly count: number; readonly isMore: boolean } {
    return { count: this.#held.size, isMore: this.#overflowed };
  }

  get(id: string): TaskSummary | undefined {
    return this.#known.get(id);
  }

  isLeaving(id: string): boolean {
    return this.#leaving.has(id);
  }

  isGone(id: string): boolean {
    return this.#gone.has(id);
  }

  values(): Iterable<TaskSummary> {
    return this.#known.values();
  }

  clear(): void {
    this.ids = [];
    this.#known.clear();
    this.#held.clear();
    this.#leaving.clear();
    this.#gone.clear();
    this.#overflowed = false;
  }

  /** Adds the next page from the server at the end. Tasks that a change already added are skipped. */
  append(page: readonly TaskSummary[]): void {
    const added = page.filter((task) => !this.#known.has(task.id));
    for (const task of page) {
      this.#held.delete(task.id);
      if (this.#isCurrent(task)) this.#known.set(task.id, task);
    }
    this.ids = [...this.ids, ...added.map((task) => task.id)];
  }

  /**
   * Applies a change. `isMatch`: the task belongs to the list; `isInReach`: the list is loaded down to its position.
   */
  put(task: TaskSummary, isMatch: boolean, isInReach: boolean): void {
    if (this.#known.has(task.id)) {
      if (!this.#isCurrent(task)) return;
      this.#known.set(task.id, task);
      this.#gone.delete(task.id);
      if (isMatch) this.#leaving.delete(task.id);
      else this.#leaving.add(task.id);
    } else if (!isMatch) this.#held.delete(task.id);
    else if (isInReach) {
      if (this.#held.size >= maxHeld && !this.#held.has(task.id)) this.#overflowed = true;
      else this.#held.set(task.id, task);
    }
  }

  remove(id: string): void {
    this.#held.delete(id);
    if (!this.#known.has(id)) return;
    this.#leaving.add(id);
    this.#gone.add(id);
  }

  /** Adds and removes rows; returns the ids of the new ones. */
  settle(): ReadonlySet<string> {
    if (this.#held.size === 0 && this.#leaving.size === 0) return new Set();
    const staying = this.#leaving.size === 0 ? this.ids : this.ids.filter((id) => !this.#leaving.has(id));
    for (const id of this.#leaving) this.#known.delete(id);
    const coming = [...this.#held.values()].sort((one, other) => other.createdAt - one.createdAt);
    for (const task of coming) this.#known.set(task.id, task);
    this.ids = this.#merge(coming, staying);
    this.#held.clear();
    this.#leaving.clear();
    this.#gone.clear();
    return new Set(coming.map((task) => task.id));
  }

  #merge(coming: readonly TaskSummary[], staying: readonly string[]): string[] {
    const merged: string[] = [];
    let next = 0;
    for (const task of coming) {
      while (next < staying.length && this.#known.get(staying[next]!)!.createdAt > task.createdAt)
        merged.push(staying[next++]!);
      merged.push(task.id);
    }
    return merged.concat(staying.slice(next));
  }

  #isCurrent(task: TaskSummary): boolean {
    const known = this.#known.get(task.id);
    return !known || known.version <= task.version;
  }
}
