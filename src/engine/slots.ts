/**
 * How many tasks a worker may still run, of each tool and in all. A slot is taken before a task is claimed, and free
 * again when the last step of that run has settled: a step that ignores its signal still does its work.
 */
import type { DurableTool } from './tool.ts';

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
    this.#add(tool, count);
  }

  give(tool: DurableTool | undefined, count = 1): void {
    this.#add(tool, -count);
  }

  #add(tool: DurableTool | undefined, count: number): void {
    this.#taken += count;
    if (tool) this.#ofTool.set(tool, (this.#ofTool.get(tool) ?? 0) + count);
  }
}
