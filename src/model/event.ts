/** What happened to a task in one commit. The events of a task, in the order of its versions, are its story. */
import type { Outcome } from './outcome.ts';
import type { Progress, TaskId } from './task.ts';

/** What a handler reports about itself. */
export interface Report {
  readonly message?: string;
  readonly progress?: Progress;
  readonly pollMs?: number;
}

export type TaskEvent =
  | { readonly type: 'created' }
  | { readonly type: 'claimed'; readonly epoch: number; readonly holder: string; readonly takenFrom?: string }
  | { readonly type: 'recorded'; readonly entries: number }
  | ({ readonly type: 'reported' } & Report)
  | { readonly type: 'asked' | 'answered' | 'withdrawn'; readonly key: string }
  | { readonly type: 'childStarted'; readonly childId: TaskId }
  | { readonly type: 'childDone'; readonly childId: TaskId; readonly outcome: Outcome['kind'] }
  | { readonly type: 'parked'; readonly until: number | null }
  | { readonly type: 'released' }
  /** Its process died or fell silent before it got anywhere: it rests, so that the next process does not follow at once. */
  | { readonly type: 'rested'; readonly until: number; readonly takenFrom: string }
  /** It is a suspect, and has its process for itself. */
  | { readonly type: 'isolated' }
  | { readonly type: 'stuck'; readonly message: string; readonly until: number }
  | { readonly type: 'completed'; readonly name: string }
  | { readonly type: 'held'; readonly liveChildren: number }
  | { readonly type: 'finished'; readonly outcome: Outcome['kind'] }
  | { readonly type: 'delivering' | 'undelivered'; readonly key: string }
  | { readonly type: 'awaited'; readonly until: number }
  | { readonly type: 'published' }
  /** A plain client knows the task from here on. */
  | { readonly type: 'handedOver' }
  | { readonly type: 'removed' };
