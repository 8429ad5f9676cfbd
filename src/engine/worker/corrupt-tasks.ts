/**
 * Tasks whose records this process found corrupt. Their rows cannot be updated, so every claim would find them again.
 * Therefore each one is skipped for some time, which doubles with each failure, from 5 s to 10 minutes.
 */

import type { TaskId } from '../../model/task.ts';
import { backoffMs } from '../../runtime/backoff.ts';

const backoff = { minMs: 5_000, maxMs: 600_000 };
/** Beyond this, the task that failed longest ago is forgotten. */
const maxRemembered = 10_000;

export class CorruptTasks {
  readonly #tasks = new Map<TaskId, { readonly times: number; readonly until: number }>();

  /** The number of known corrupt tasks. A query with a limit must ask for this many more rows to find other tasks. */
  get size(): number {
    return this.#tasks.size;
  }

  add(id: TaskId, now: number): void {
    const times = this.#tasks.get(id)?.times ?? 0;
    this.#tasks.delete(id);
    this.#tasks.set(id, { times: times + 1, until: now + backoffMs(backoff, times) });
    if (this.#tasks.size > maxRemembered) this.#tasks.delete(this.#tasks.keys().next().value!);
  }

  /** The tasks to skip now. */
  skipped(now: number): TaskId[] {
    return [...this.#tasks].flatMap(([id, { until }]) => (now < until ? id : []));
  }

  /** To be called when the task could be read again: its record was repaired. */
  delete(id: TaskId): void {
    this.#tasks.delete(id);
  }
}
