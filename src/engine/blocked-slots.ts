/**
 * Why a worker with a backlog begins nothing: parents that keep a step running while they wait for subtasks keep their
 * slots, and so do steps of ended tasks that ignore their signal. Otherwise nothing would tell.
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
    const isBlocked = slots.free <= 0 && runs.every((run) => run.waitsForSubtasks);
    this.#found = isBlocked ? this.#found + 1 : 0;
    if (this.#found !== rounds) return undefined;
    if ((await backlog()).ready === 0) {
      this.#found = 0;
      return undefined;
    }
    const stubborn = slots.taken - runs.length;
    const parents = `${runs.length} by tasks that wait for subtasks while one of their steps runs`;
    const ended = `${stubborn} by steps of ended tasks that ignore their signal`;
    const who = [runs.length > 0 && parents, stubborn > 0 && ended].filter(Boolean).join(', ');
    return `All ${slots.taken} slots of this worker are taken, ${who}; tasks wait for a slot. Raise concurrency, add a worker, end the step before the handler waits, or let steps end when their signal is aborted.`;
  }
}
