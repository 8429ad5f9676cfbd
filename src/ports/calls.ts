/**
 * The port for plain calls. While a task is unpublished, it answers one call. This port records which call that is, and
 * finds the tasks that a repeated call can join. `testCalls()` in `holdfast/store/testing` tests every implementation.
 */
import type { TaskId } from '../model/task.ts';

export interface Calls {
  /** Tasks with this join key that were not delivered, handed over or cancelled. The oldest comes first. */
  undelivered(key: string): Promise<UndeliveredCall[]>;

  /** Tasks that answer a call of this request (`newCall`), including tasks that other calls cannot join. */
  ofRequest(request: string): Promise<OpenCall[]>;

  /**
   * Makes the task answer the call `by` instead of `from`. Returns true if the task now answers `by`, and false if it
   * no longer answered `from`.
   */
  take(id: TaskId, from: string | null, by: string): Promise<boolean>;

  /**
   * Records that the call `by` was lost. Returns true if another call can join the task now, and false if the task
   * answers a different call or cannot be joined.
   */
  leave(id: TaskId, by: string): Promise<boolean>;

  /** Records that the answer was delivered. No call can join the task after that. */
  delivered(id: TaskId): Promise<void>;
}

export interface UndeliveredCall {
  readonly taskId: TaskId;
  /** The call that the task answers (`answering()`). Its process may be dead. Null if the call was lost. */
  readonly answering: string | null;
}

export interface OpenCall extends UndeliveredCall {
  readonly answering: string;
}
