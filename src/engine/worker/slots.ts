/**
 * How many tasks a worker may still run, of each tool and in all. A slot is taken before a task is claimed, and free
 * again when the last step of that run has settled: a step that ignores its signal still does its work.
 */

import type { Backlog } from '../../ports/queue.ts';
import type { DurableTool } from '../handlers/tool.ts';
import type { TaskRun } from './task-run.ts';

/** A slot that is kept for a task which is about to be created. */
export interface Reservation {
  readonly tool: DurableTool;
  /** On the monotonic clock. */
  readonly at: number;
}

export class Slots {
  readonly #total: number;
  readonly #ofTool = new Map<DurableTool, number>();
  #taken = 0;

  constructor(total: number) {
    this.#total = total;
  }

  get taken(): number {
    return this.#taken;
  }

  get free(): number {
    return this.#total - this.#taken;
  }

  freeFor(tool: DurableTool): number {
    return Math.min(this.free, tool.concurrency - (this.#ofTool.get(tool) ?? 0));
  }

  take(tool: DurableTool | undefined, count = 1): void {
    this.#taken += count;
    if (tool) this.#ofTool.set(tool, (this.#ofTool.get(tool) ?? 0) + count);
  }

  give(tool: DurableTool | undefined, count = 1): void {
    this.take(tool, -count);
  }
}

// --- Why a worker with a backlog begins nothing -------------------------------------------------------------

/** A worker that was found blocked so often in a row is reported, once until it is free again. */
const rounds = 2;

/**
 * Parents that keep a step running while they wait for subtasks keep their slots, and so do steps of ended tasks that
 * ignore their signal. Nothing else would report it.
 */
export class BlockedSlots {
  #found = 0;

  /** What to report, if there is anything. Called again and again. */
  async check(
    slots: Slots,
    runs: readonly TaskRun[],
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
