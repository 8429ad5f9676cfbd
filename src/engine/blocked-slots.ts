/**
 * Parents that keep a step running while they wait for subtasks keep their slots. If they have all slots of a worker,
 * their subtasks cannot begin there, and nothing would tell why.
 */
import type { Backlog } from './queue.ts';
import type { Run } from './run.ts';
import type { Slots } from './slots.ts';

/** A worker that was found blocked so often in a row is reported, once until it is free again. */
const rounds = 2;

export class BlockedSlots {
  #found = 0;

  /** What to report, if there is anything. Called again and again. */
  async look(
    slots: Slots,
    runs: readonly Run[],
    backlog: () => Promise<Backlog>,
  ): Promise<string | undefined> {
    const isBlocked = slots.free <= 0 && runs.length > 0 && runs.every((run) => run.waitsForSubtasks);
    this.#found = isBlocked ? this.#found + 1 : 0;
    if (this.#found !== rounds) return undefined;
    if ((await backlog()).ready > 0)
      return `All ${runs.length} slots of this worker are taken by tasks that wait for subtasks while one of their steps runs, and tasks wait for a slot. Raise concurrency, add a worker, or end the step before the handler waits.`;
    this.#found = 0;
    return undefined;
  }
}
