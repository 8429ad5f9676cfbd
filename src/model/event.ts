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
  | { readonly type: 'claimed'; readonly epoch: number; readonly worker: string; readonly takenFrom?: string }
  | { readonly type: 'recorded'; readonly entries: number }
  | ({ readonly type: 'reported' } & Report)
  | { readonly type: 'asked' | 'answered' | 'withdrawn'; readonly key: string }
  | { readonly type: 'childStarted'; readonly childId: TaskId }
  | { readonly type: 'childDone'; readonly childId: TaskId; readonly outcome: Outcome['kind'] }
  | { readonly type: 'parked'; readonly until: number | null }
  | { readonly type: 'released' }
  /** Its process died or stopped before the pass added to the journal. The task pauses before it can kill the next one. */
  | { readonly type: 'rested'; readonly until: number; readonly takenFrom: string }
  /** The task may have killed its last processes, and now runs alone in one. */
  | { readonly type: 'isolated' }
  | { readonly type: 'stuck'; readonly message: string; readonly until: number }
  | { readonly type: 'completed'; readonly name: string }
  | { readonly type: 'held'; readonly liveChildren: number }
  | { readonly type: 'finished'; readonly outcome: Outcome['kind'] }
  | { readonly type: 'delivering' | 'undelivered'; readonly key: string }
  | { readonly type: 'awaited'; readonly until: number }
  | { readonly type: 'published' }
  /** The plain call was answered with a way to continue it. From now on the client knows the task. */
  | { readonly type: 'handedOver' }
  | { readonly type: 'removed' };
