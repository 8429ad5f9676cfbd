/** A subscriber that expects every version of every task exactly once and in order, and remembers what it missed. */
import type { TaskId } from '../../../src/index.ts';
import type { CommittedChange, Store } from '../../../src/store.ts';

export class Observer {
  readonly problems: string[] = [];
  readonly #heard = new Map<TaskId, { first: number; last: number; removed: boolean }>();
  notices = 0;

  constructor(store: Store, also: (notice: CommittedChange) => void = () => {}) {
    store.subscribe((notice) => {
      this.#hear(notice);
      also(notice);
    });
  }

  heard(id: TaskId): [number, number] | undefined {
    const heard = this.#heard.get(id);
    return heard && [heard.first, heard.last];
  }

  /** Whether it was told of this version, or that the task is gone. */
  has(id: TaskId, version: number): boolean {
    const heard = this.#heard.get(id);
    return heard !== undefined && (heard.removed || (heard.first <= version && version <= heard.last));
  }

  #hear({ taskId, version, events }: CommittedChange): void {
    this.notices++;
    const heard = this.#heard.get(taskId);
    const created = events.some(({ type }) => type === 'created');
    const removed = events.some(({ type }) => type === 'removed');
    if (heard?.removed) this.problems.push(`${taskId}: version ${version} was told after its removal`);
    if (created && version !== 1) this.problems.push(`${taskId}: was made in version ${version}`);
    // What a purge removed before we read it can no longer be told: only its removal is.
    if (heard && (removed ? version <= heard.last : version !== heard.last + 1))
      this.problems.push(`${taskId}: version ${version} was told after version ${heard.last}`);
    this.#heard.set(taskId, { first: heard?.first ?? version, last: version, removed });
  }
}
