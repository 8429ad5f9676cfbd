/** One call on `task` while its pass lives: what it does, and where it stands. */
import type { InputRequest } from '../../model/input.ts';
import type { Json } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import type { NewTask, Task, TaskId } from '../../model/task.ts';
import type { CallKind, FailedAttempt, RecordedCall } from './journal.ts';
import type { RetryPolicy } from './step-retry.ts';

export interface StepContext {
  /** The same on every attempt and every pass: the idempotency key for effects outside. */
  readonly key: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** What a call is to do. */
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
   * `ready` to be started; `held` back until the claim is renewed; `running`; `waiting` for a moment or for someone;
   * `over`: its entry is on its way.
   */
  state: 'ready' | 'held' | 'running' | 'waiting' | 'over';
  /** Failed attempts so far. */
  attempts: number;
  /** When to start it (again), for steps and polls. */
  startAt?: number;
  /** When its wait, or the patience for it, ends. */
  due?: number;
  /** The key of a question that has been asked. */
  key?: string;
  abort?: AbortController;
}

/** What a pass knows of the world outside. */
export interface ExternalState {
  readonly task: Task;
  /** The outcomes of subtasks that are known to be done. */
  readonly children: ReadonlyMap<TaskId, Outcome>;
}

/** What a look at the world outside found: the task as it is, and subtasks that are done. */
export interface RefreshedState extends ExternalState {
  /** False if there is more to be read, at once. */
  readonly isComplete: boolean;
}

export interface Settlement {
  readonly ok: boolean;
  readonly value?: Json;
}

/** A call as it begins: from nothing, or where the journal left it. */
export function newCall(
  made: Pick<Call, 'position' | 'kind' | 'name' | 'at' | 'purpose'>,
  known: RecordedCall | undefined,
  attempts: readonly FailedAttempt[],
  now: number,
): { readonly call: Call; readonly promise: Promise<unknown> } {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  promise.catch(() => {}); // Whether a rejection is handled is told by the handler's own promises.
  const due = known ? known.due : patience(made.purpose, now);
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

function patience(purpose: Purpose, now: number): number | undefined {
  if (purpose.kind === 'sleep') return 'until' in purpose ? purpose.until : now + purpose.ms;
  if (purpose.kind === 'step' || !('timeoutMs' in purpose) || purpose.timeoutMs === undefined)
    return undefined;
  return now + purpose.timeoutMs;
}
