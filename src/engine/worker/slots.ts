/**
 * The slots of a worker: a semaphore for its tasks, per tool and in total. A slot is taken before a task is claimed. It
 * becomes free after the last step of the run has settled, because a step that ignores its signal still uses resources.
 */

import type { Backlog } from '../../ports/queue.ts';
import type { DurableTool } from '../handlers/tool.ts';
import type { TaskRun } from './task-run.ts';

/** A slot that is reserved for a task that is about to be created. */
export interface Reservation {
  readonly tool: DurableTool;
  /** When the slot was reserved, on the monotonic clock. */
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

  /** Without a tool, takes slots only from the total. */
  take(tool: DurableTool | undefined, count = 1): void {
    this.#taken += count;
    if (tool) this.#ofTool.set(tool, (this.#ofTool.get(tool) ?? 0) + count);
  }

  give(tool: DurableTool | undefined, count = 1): void {
    this.take(tool, -count);
  }
}

// --- Detection of blocked slots -----------------------------------------------------------------------------

/** A worker is reported once, when this many checks in a row have found it blocked: one alone may be a short peak. */
const checksBeforeReport = 2;

/**
 * Detects that all slots are taken by tasks that make no progress: by parents that wait for subtasks while one of their
 * steps runs, and by steps of ended tasks that ignore their signal. Nothing else would report this.
 */
export class BlockedSlots {
  #found = 0;

  /** Returns the message of a warning, or undefined. Called at each renewal of claims. */
  async check(
    slots: Slots,
    runs: readonly TaskRun[],
    backlog: () => Promise<Backlog>,
  ): Promise<string | undefined> {
    const isBlocked = slots.free <= 0 && runs.every((run) => run.waitsForSubtasks);
    this.#found = isBlocked ? this.#found + 1 : 0;
    if (this.#found !== checksBeforeReport) return undefined;
    if ((await backlog()).ready === 0) {
      this.#found = 0;
      return undefined;
    }
    const lingering = slots.taken - runs.length;
    const parents = `${runs.length} by tasks that wait for subtasks while one of their steps runs`;
    const ended = `${lingering} by steps of ended tasks that ignore their signal`;
    const who = [runs.length > 0 && parents, lingering > 0 && ended].filter(Boolean).join(', ');
    return `All ${slots.taken} slots of this worker are taken, ${who}; tasks wait for a slot. Raise concurrency, add a worker, end the step before the handler waits, or let steps end when their signal is aborted.`;
  }
}
