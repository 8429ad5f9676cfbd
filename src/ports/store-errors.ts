/** Errors of a store. Each message names the location, the problem and the remedy. */
import { type StoreErrorCode, Unavailable } from '../model/errors.ts';
import type { TaskId } from '../model/task.ts';

export type StoreTrouble = 'full' | 'readOnly' | 'corrupt' | 'busy' | 'unreachable' | 'closed' | 'other';

export class StoreError extends Unavailable {
  declare readonly code: StoreErrorCode;

  /**
   * `place` is the location of the store. `problem` begins in lower case and has no full stop; `remedy` is a sentence.
   */
  constructor(code: StoreErrorCode, place: string, problem: string, remedy: string, cause?: unknown) {
    super(code, `${place}: ${problem}. ${remedy}`, cause === undefined ? undefined : { cause });
  }

  /** The kind of failure, as a label for metrics. */
  get trouble(): StoreTrouble {
    return troubles[this.code] ?? 'other';
  }

  /** The message for callers. It reveals neither the location of the store nor the database's own message. */
  get forCallers(): string {
    const { trouble } = this;
    const reason = reasons[trouble];
    return `The task store is not available${reason && ` (${reason})`}. ${remedies[trouble] ?? 'Nothing was changed; try again.'}`;
  }
}

const troubles: Partial<Record<StoreErrorCode, StoreTrouble>> = {
  STORE_FULL: 'full',
  STORE_READ_ONLY: 'readOnly',
  STORE_CORRUPT: 'corrupt',
  TASK_CORRUPT: 'corrupt',
  STORE_BUSY: 'busy',
  STORE_NOT_OPENED: 'unreachable',
  STORE_TIMED_OUT: 'unreachable',
  STORE_CLOSED: 'closed',
};

const reasons: Record<StoreTrouble, string> = {
  full: 'disk full',
  readOnly: 'read-only',
  corrupt: 'corrupt',
  busy: 'busy',
  unreachable: 'not reachable',
  closed: 'the server is stopping',
  other: '',
};

/** What callers should do after failures that a retry cannot fix. */
const remedies: Partial<Record<StoreTrouble, string>> = {
  readOnly: 'Nothing was changed; contact the operator of this server.',
  corrupt: 'Nothing was changed; contact the operator of this server.',
};

/** The stored record of one task cannot be read. Other tasks are not affected. */
export class TaskCorrupt extends StoreError {
  readonly taskId: TaskId;

  constructor(place: string, taskId: TaskId, problem: string, cause?: unknown) {
    super(
      'TASK_CORRUPT',
      place,
      `the record of task ${taskId} is corrupt (${problem})`,
      'Other tasks are not affected. Restore this one from a backup.',
      cause,
    );
    this.taskId = taskId;
  }

  override get forCallers(): string {
    return `The stored record of task ${this.taskId} is corrupt and cannot be used. Other tasks are not affected; contact the operator of this server.`;
  }
}

/** The store did not answer in time. It may still answer later. */
export class StoreTimedOut extends StoreError {
  readonly #mayBeDone: boolean;

  /** `mayBeDone`: the command was a write, and the store may have committed it. */
  constructor(ms: number, mayBeDone: boolean, cause?: unknown) {
    super(
      'STORE_TIMED_OUT',
      'The task store',
      `it has not answered for ${ms / 1_000} s`,
      'Check that it can be reached.',
      cause,
    );
    this.#mayBeDone = mayBeDone;
  }

  override get forCallers(): string {
    if (!this.#mayBeDone) return super.forCallers;
    return 'The task store is not available (not reachable). The request may or may not have been carried out; check before you repeat it.';
  }
}

export function storeClosed(place: string): StoreError {
  return new StoreError('STORE_CLOSED', place, 'the store is closed', 'Open it again before using it.');
}
