/**
 * The port of those who watch: what happens here, told to one observer. It sees every commit of this process, the
 * passes of its workers and the attempts at their steps, and decides nothing.
 */

import type { Origin, Owner, Task, TaskId } from '../model/task.ts';
import type { Change } from './change.ts';
import type { Database, ToolVersion } from './queue.ts';
import type { StoreError } from './store-errors.ts';

export interface Observer {
  /** The database is open; the function that is returned is called when it closes. */
  opened(database: Database, tools: readonly ToolVersion[]): () => void;

  /** A task is about to be made here: the origin that is stored with it, its trace filled in. */
  origin(origin: Origin, tool: string): Origin;

  /** A command of this process has been committed. */
  committed(change: Change): void;

  /** A handler begins to run, or to run again. */
  passBegan(task: Task): ObservedPass;

  /** A caller looks how a task stands. */
  polled(): void;

  /** A caller asked for more than this limit allows, and did not get it. */
  refused(limit: string): void;

  /** A caller does what honest callers do not. */
  suspicious(suspicion: Suspicion): void;

  /** The store is larger than it should be, and nothing that is left in it may be removed. Told once until that ends. */
  overfull(fullness: Fullness): void;

  /** Something is wrong with this worker that an operator should know of. */
  warned(warning: Warning): void;

  /** Something could not be read or written, whoever asked for it. Told each time. */
  storeFailed(failure: { readonly at: number; readonly error: StoreError }): void;

  /** The store can be written again. */
  storeRecovered(recovery: { readonly at: number; readonly failedMs: number }): void;

  /** What is stored of this task cannot be read. Told each time that somebody comes across it. */
  corrupt(damage: { readonly at: number; readonly task: TaskId; readonly message: string }): void;

  /** What was counted, in the text format of Prometheus; absent if nothing is. */
  readonly metrics?: () => Promise<string>;
}

/** Told once for each minute in which it goes too far. */
export interface Suspicion {
  /** Looks for tasks that it cannot know; polls a task of its own as if no hint had been given. */
  readonly pattern: 'failedLooks' | 'eagerPolls';
  readonly owner: Owner;
  /** Where a caller without a token comes from, if that is known. */
  readonly address?: string;
  readonly task?: TaskId;
  /** How often it has done so within a minute. */
  readonly count: number;
  readonly at: number;
}

export interface Fullness {
  readonly at: number;
  /** In bytes. */
  readonly size: number;
  readonly largest: number;
}

export interface Warning {
  readonly at: number;
  /** `loopBlocked`, `slotsBlocked`, `claimFailed`, `renewalFailed`, `passFailed`. */
  readonly code: string;
  readonly message: string;
  /** An `error` among it is what was thrown. */
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface ObservedPass {
  /** Runs the handler, so that whatever it calls knows which task it belongs to. */
  handler<T>(run: () => T): T;
  /** Runs one attempt at a step, or one look of a poll. */
  attempt(call: ObservedCall, run: () => unknown): unknown;
  /**
   * `how`: returned, threw, parked, stopped, changed, lost, or superseded: another worker had claimed the task
   * meanwhile, and what this pass still wanted to commit was refused.
   */
  ended(how: string, at: number): void;
}

export interface ObservedCall {
  readonly kind: 'step' | 'until';
  readonly name: string;
  readonly attempt: number;
}

export const unobservedPass: ObservedPass = {
  handler: (run) => run(),
  attempt: (_call, run) => run(),
  ended() {},
};

export const unobserved: Observer = {
  opened: () => () => {},
  origin: (origin) => origin,
  committed() {},
  passBegan: () => unobservedPass,
  polled() {},
  refused() {},
  suspicious() {},
  overfull() {},
  warned() {},
  storeFailed() {},
  storeRecovered() {},
  corrupt() {},
};

export function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // An observer that fails observes nothing.
  }
}
