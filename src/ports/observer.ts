/**
 * The port for telemetry and logs. An observer is notified of every commit of this process, of the passes of its
 * workers, and of their attempts at steps. It cannot change what happens, and an error that it throws is ignored.
 */

import type { Origin, Owner, Task, TaskId } from '../model/task.ts';
import type { Change } from './change.ts';
import type { Database, ToolVersion } from './queue.ts';
import type { StoreError } from './store-errors.ts';

export interface Observer {
  /** The database was opened. The returned function is called when it closes. */
  opened(database: Database, tools: readonly ToolVersion[]): () => void;

  /** Called before this process creates a task. Returns the origin to store, with the trace filled in. */
  origin(origin: Origin, tool: string): Origin;

  /** A command of this process was committed. */
  committed(change: Change): void;

  /** A worker begins a pass of a task's handler. */
  passBegan(task: Task): ObservedPass;

  /** A caller polled a task. */
  polled(): void;

  /** A request was refused because the caller exceeded this limit. */
  refused(limit: string): void;

  /** A caller behaves as no well-behaved caller does. */
  suspicious(suspicion: Suspicion): void;

  /**
   * The store exceeds its limit, and nothing in it may be removed. Reported once until the store is below the limit.
   */
  overfull(fullness: Fullness): void;

  /** Something is wrong with this worker, and an operator should know. */
  warned(warning: Warning): void;

  /** The store could not be read or written. Reported for each failure. */
  storeFailed(failure: { readonly at: number; readonly error: StoreError }): void;

  /** The store works again. */
  storeRecovered(recovery: { readonly at: number; readonly failedMs: number }): void;

  /** The record of this task cannot be read. Reported for each attempt to read it. */
  corrupt(damage: { readonly at: number; readonly task: TaskId; readonly message: string }): void;

  /** All metrics in the text format of Prometheus. Absent if the observer keeps none. */
  readonly metrics?: () => Promise<string>;
}

/** Reported once for each minute in which the caller exceeds the threshold. */
export interface Suspicion {
  /**
   * - `failedLooks`: asks for many tasks that do not exist or that it does not own
   * - `eagerPolls`: polls one of its tasks far more often than the poll interval suggests
   */
  readonly pattern: 'failedLooks' | 'eagerPolls';
  readonly owner: Owner;
  /** The network address of a caller without a token, if known. */
  readonly address?: string;
  readonly task?: TaskId;
  /** How often it did so within the minute. */
  readonly count: number;
  readonly at: number;
}

export interface Fullness {
  readonly at: number;
  /** The size of the store, in bytes. */
  readonly size: number;
  /** The maximum size that is configured, in bytes. */
  readonly largest: number;
}

export interface Warning {
  readonly at: number;
  /**
   * - `loopBlocked`: the event loop was blocked
   * - `slotsBlocked`: running handlers keep all slots busy while other tasks wait
   * - `claimFailed`: tasks could not be claimed
   * - `renewalFailed`: claims could not be renewed
   * - `passFailed`: a pass failed in the engine itself, not in its handler
   */
  readonly code: string;
  readonly message: string;
  /** If it has an `error`, that is the value that was thrown. */
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface ObservedPass {
  /** Runs the handler and returns its result. An observer can set the task's trace as the context of `run`. */
  handler<T>(run: () => T): T;

  /** Runs one attempt at a step, or one check of a condition, and returns its result. */
  attempt(call: ObservedCall, run: () => unknown): unknown;

  /**
   * The pass ended. `how` is one of these:
   * - `returned`, `threw`: the handler ended
   * - `parked`: only waits are open
   * - `stopped`: the worker gave the task back
   * - `changed`: the handler differs from the one that wrote the journal
   * - `lost`: a commit failed, because the claim was lost or the store could not write
   * - `superseded`: another worker has claimed the task, so that the last commits of this pass were refused
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

/** Calls an observer and ignores what it throws. */
export function quietly(notify: () => void): void {
  try {
    notify();
  } catch {
    // A failing observer must not affect the work that it observes.
  }
}
