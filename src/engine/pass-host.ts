/** Between a pass and the worker that runs it. */
import type { Task, TaskId } from '../model/task.ts';
import type { Call, Seen } from './call.ts';
import type { Batch } from './journal.ts';
import type { ObservedPass } from './observer.ts';

export type PassEnd =
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: unknown }
  | { readonly type: 'parked' }
  /** The handler is not the one that wrote the journal. */
  | { readonly type: 'changed'; readonly message: string }
  /** A commit failed: the claim is lost, or the store cannot write. */
  | { readonly type: 'lost'; readonly error: unknown }
  | { readonly type: 'stopped' };

/** What a pass needs of its worker. */
export interface PassHost {
  readonly taskId: TaskId;
  readonly observed: ObservedPass;
  now(): number;
  /**
   * Whether the claim is certain to be its own still, so that a step may begin. If not, it is renewed, and the pass is
   * poked when that has come about; or it is lost, and the pass stops.
   */
  isHeld(): boolean;
  /** An attempt at a step has begun; the promise resolves when it has settled, also long after the pass. */
  began(attempt: Promise<void>): void;
  /**
   * Makes a batch durable, with the questions and subtasks in it; `calls` are all calls of the pass. Questions that
   * are asked by it get their keys. Returns the task after it.
   */
  commit(batch: Batch, calls: readonly Call[]): Promise<Task>;
  /**
   * Looks at the task again, and at subtasks that the pass awaits: at those that it has not read yet, and at those that
   * have ended since the last look.
   */
  look(unread: readonly TaskId[], awaited: ReadonlyMap<TaskId, unknown>): Promise<Seen>;
  /** Ends the pass until then. False if something happened that the pass has not seen. */
  park(until: number | null, batch: Batch | undefined, calls: readonly Call[]): Promise<boolean>;
  /** Whether the pass is to end after this commit, as a crash would end it. */
  interrupts(batch: Batch): boolean;
  schedule(at: number, callback: () => void): () => void;
  /** How long a pass that only waits stays in memory, so that quick answers need no replay. */
  readonly lingerMs: number;
  /** The largest value of a step, in characters of JSON. */
  readonly largestValue: number;
  /** Entries and failed attempts that a journal may have. */
  readonly longestJournal: number;
  readonly mostOpenCalls: number;
}
