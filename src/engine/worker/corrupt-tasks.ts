/**
 * Tasks whose records this process found damaged. Their rows cannot be written, so that whoever looks for work finds
 * them again and again: each is left alone for a while, and for twice as long after every further failure.
 */

import type { TaskId } from '../../model/task.ts';
import { backoffMs } from '../../runtime/backoff.ts';

const backoff = { minMs: 5_000, maxMs: 600_000 };
const most = 10_000;

export class CorruptTasks {
  readonly #found = new Map<TaskId, { readonly times: number; readonly until: number }>();

  /** How many there are: so many more must be looked for to find others. */
  get size(): number {
    return this.#found.size;
  }

  add(id: TaskId, now: number): void {
    const times = this.#found.get(id)?.times ?? 0;
    this.#found.delete(id);
    this.#found.set(id, { times: times + 1, until: now + backoffMs(backoff, times) });
    if (this.#found.size > most) this.#found.delete(this.#found.keys().next().value!);
  }

  /** All that are left alone now. */
  skipped(now: number): TaskId[] {
    return [...this.#found].flatMap(([id, { until }]) => (now < until ? id : []));
  }

  /** It could be read after all: somebody has restored it. */
  delete(id: TaskId): void {
    this.#found.delete(id);
  }
}
