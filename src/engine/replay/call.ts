/** One call on `task` during a pass: its purpose and its state. */
import type { InputRequest } from '../../model/input.ts';
import type { Json } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import type { NewTask, Task, TaskId } from '../../model/task.ts';
import type { CallKind, FailedAttempt, RecordedCall } from './journal.ts';
import type { RetryPolicy } from './step-retry.ts';

export interface StepContext {
  /** The same for every attempt and every pass: use it as idempotency key for external effects. */
  readonly key: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** What a call does. */
export type Purpose =
  | {
      readonly kind: 'step';
      readonly run: (context: StepContext) => unknown;
      readonly retry: RetryPolicy;
      readonly timeoutMs?: number;
    }
  | {
      readonly kind: 'until';
      readonly run: (context: StepContext) => unknown;
      readonly everyMs: number;
      readonly timeoutMs?: number;
    }
  | { readonly kind: 'start'; readonly request: NewTask }
  | { readonly kind: 'ask'; readonly request: InputRequest; readonly timeoutMs?: number }
  | { readonly kind: 'result'; readonly childId: TaskId; readonly tool: string }
  | { readonly kind: 'sleep'; readonly ms: number }
  | { readonly kind: 'sleep'; readonly until: number }
  | { readonly kind: 'event'; readonly timeoutMs?: number };

export interface Call {
  readonly position: number;
  readonly kind: CallKind;
  readonly name: string;
  readonly at: number;
  readonly purpose: Purpose;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /**
   * `ready` to be started; `held` back until the claim is renewed; `running`; `waiting` for a time or an event;
   * `over`: its entry is about to be committed.
   */
  state: 'ready' | 'held' | 'running' | 'waiting' | 'over';
  /** Failed attempts so far. */
  attempts: number;
  /** When to start it (again), for steps and polls. */
  startAt?: number;
  /** When its wait or its timeout ends. */
  due?: number;
  /** The key of a question that has been asked. */
  key?: string;
  abort?: AbortController;
}

/** What a pass has read about its task and subtasks. */
export interface ExternalState {
  readonly task: Task;
  /** The outcomes of subtasks that are done. */
  readonly children: ReadonlyMap<TaskId, Outcome>;
}

/** The current state of the task and newly finished subtasks. */
export interface RefreshedState extends ExternalState {
  /** False if there is more to read at once. */
  readonly isComplete: boolean;
}

export interface Settlement {
  readonly ok: boolean;
  readonly value?: Json;
}

/** Creates a call, either a new one or one that continues from its journal record. */
export function newCall(
  made: Pick<Call, 'position' | 'kind' | 'name' | 'at' | 'purpose'>,
  known: RecordedCall | undefined,
  attempts: readonly FailedAttempt[],
  now: number,
): { readonly call: Call; readonly promise: Promise<unknown> } {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  promise.catch(() => {}); // Only the promises of the handler decide whether a rejection counts as unhandled.
  const due = known ? known.due : dueAt(made.purpose, now);
  const startAt = attempts.at(-1)?.retryAt;
  const call: Call = {
    ...made,
    resolve,
    reject,
    state: made.kind === 'step' || made.kind === 'until' || made.kind === 'start' ? 'ready' : 'waiting',
    attempts: attempts.length,
    ...(due !== undefined && { due }),
    ...(startAt !== undefined && { startAt }),
    ...(known?.key !== undefined && { key: known.key }),
  };
  return { call, promise };
}

function dueAt(purpose: Purpose, now: number): number | undefined {
  if (purpose.kind === 'sleep') return 'until' in purpose ? purpose.until : now + purpose.ms;
  if (purpose.kind === 'step' || !('timeoutMs' in purpose) || purpose.timeoutMs === undefined)
    return undefined;
  return now + purpose.timeoutMs;
}
