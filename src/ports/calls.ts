/**
 * The port for plain calls: which call a task answers that peers cannot see yet, and which of these tasks a repeated
 * call can join. `testCalls()` in `holdfast/testing` examines every implementation.
 */
import type { TaskId } from '../model/task.ts';

export interface Calls {
  /** Tasks of plain calls with this key that were not delivered, handed over or cancelled. The oldest comes first. */
  undelivered(key: string): Promise<UndeliveredCall[]>;

  /** Tasks that answer a call of this request (`newCall`), whether other calls can join them or not. */
  ofRequest(request: string): Promise<OpenCall[]>;

  /** The task answers another call from now on. False if it does not answer `from` any more, unless it answers `by`. */
  take(id: TaskId, from: string | null, by: string): Promise<boolean>;

  /** The call was lost. True if another call can join the task now; false if it answers another, or none can. */
  leave(id: TaskId, by: string): Promise<boolean>;

  /** The answer was delivered: no call joins the task from now on. */
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
