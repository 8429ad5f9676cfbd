/**
 * The rows of a list, the newest first. What is known of a task is replaced in its place at any time; rows come and
 * go only in `settle`, which is called when nobody reads further down: nothing moves under a reader.
 */
import type { TaskSummary } from '../../../src/operator/api.ts';

/** More new tasks than this are not kept while somebody reads: the list begins anew instead. */
export const mostHeld = 1_000;

export class Rows {
  /** As they are shown. */
  ids: string[] = [];
  readonly #known = new Map<string, TaskSummary>();
  /** To be shown once nobody reads. */
  readonly #held = new Map<string, TaskSummary>();
  /** Shown, but in the wrong place by now: they match no more, or are gone. */
  readonly #leaving = new Set<string>();
  readonly #gone = new Set<string>();
  #overflowed = false;

  get length(): number {
    return this.ids.length;
  }

  /** How many came since, and whether there are more than were kept. */
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

  /** The next page from the server, below the others. What came in another way meanwhile is there already. */
  append(page: readonly TaskSummary[]): void {
    const added = page.filter((task) => !this.#known.has(task.id));
    for (const task of page) {
      this.#held.delete(task.id);
      if (this.#isNews(task)) this.#known.set(task.id, task);
    }
    this.ids = [...this.ids, ...added.map((task) => task.id)];
  }

  /** Takes a change; `isMatch` is whether the task belongs to the list now, `isInReach` whether its place is loaded. */
  put(task: TaskSummary, isMatch: boolean, isInReach: boolean): void {
    if (this.#known.has(task.id)) {
      if (!this.#isNews(task)) return;
      this.#known.set(task.id, task);
      this.#gone.delete(task.id);
      if (isMatch) this.#leaving.delete(task.id);
      else this.#leaving.add(task.id);
    } else if (!isMatch) this.#held.delete(task.id);
    else if (isInReach) {
      if (this.#held.size >= mostHeld && !this.#held.has(task.id)) this.#overflowed = true;
      else this.#held.set(task.id, task);
    }
  }

  remove(id: string): void {
    this.#held.delete(id);
    if (!this.#known.has(id)) return;
    this.#leaving.add(id);
    this.#gone.add(id);
  }

  /** Brings the rows in order; gives the ids that are new. */
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

  #isNews(task: TaskSummary): boolean {
    const known = this.#known.get(task.id);
    return !known || known.version <= task.version;
  }
}
