/** What happened to a task in one commit. The events of all its commits, by version, are the task's history. */
import type { Outcome } from './outcome.ts';
import type { Progress, TaskId } from './task.ts';

/** What a handler reports to its caller. */
export interface Report {
  readonly message?: string;
  readonly progress?: Progress;
  readonly pollMs?: number;
}

export type TaskEvent =
  | { readonly type: 'created' }
  /** A pass began. `takenFrom` is the worker that lost its claim. */
  | { readonly type: 'claimed'; readonly epoch: number; readonly worker: string; readonly takenFrom?: string }
  /** The pass added this number of records to the journal. */
  | { readonly type: 'recorded'; readonly entries: number }
  | ({ readonly type: 'reported' } & Report)
  | { readonly type: 'asked' | 'answered' | 'withdrawn'; readonly key: string }
  | { readonly type: 'childStarted'; readonly childId: TaskId }
  | { readonly type: 'childDone'; readonly childId: TaskId; readonly outcome: Outcome['kind'] }
  /** The pass ended because only waits are open. `until` is the time of the next timer; null if there is none. */
  | { readonly type: 'parked'; readonly until: number | null }
  /** The worker gave up its claim, and another one may continue the task. */
  | { readonly type: 'released' }
  /**
   * The worker `takenFrom` died or lost its lease before the pass added to the journal. The task pauses until `until`,
   * so that it cannot kill the next process at once.
   */
  | { readonly type: 'rested'; readonly until: number; readonly takenFrom: string }
  /** The task may have killed its last processes, and now runs alone in one. */
  | { readonly type: 'isolated' }
  /** No worker can continue the task at present (`Task.blocked`). A worker tries again at `until`. */
  | { readonly type: 'stuck'; readonly message: string; readonly until: number }
  /** The event `name` was sent to the task (`Task.completions`). The task has not ended: see `finished`. */
  | { readonly type: 'completed'; readonly name: string }
  /** The handler returned. Its outcome is kept until this number of subtasks are done. */
  | { readonly type: 'held'; readonly liveChildren: number }
  | { readonly type: 'finished'; readonly outcome: Outcome['kind'] }
  /** The delivery of a question on an open connection began or was stopped. */
  | { readonly type: 'delivering' | 'undelivered'; readonly key: string }
  /** The request of the unpublished task stays open, or will be continued, at least until `until`. */
  | { readonly type: 'awaited'; readonly until: number }
  | { readonly type: 'published' }
  /**
   * The client received the answer to its plain call that contains the task id. No other call can join the task now.
   */
  | { readonly type: 'handedOver' }
  | { readonly type: 'removed' };
