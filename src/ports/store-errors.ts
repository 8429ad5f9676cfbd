/** What can be wrong with the place where tasks are kept. Every message names the place and the remedy. */
import { type StoreErrorCode, Unavailable } from '../model/errors.ts';
import type { TaskId } from '../model/task.ts';

export type StoreTrouble = 'full' | 'readOnly' | 'corrupt' | 'busy' | 'unreachable' | 'closed' | 'other';

export class StoreError extends Unavailable {
  declare readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, place: string, problem: string, remedy: string, cause?: unknown) {
    super(code, `${place}: ${problem}. ${remedy}`, cause === undefined ? undefined : { cause });
  }

  /** In one word, for counting. */
  get trouble(): StoreTrouble {
    return troubles[this.code] ?? 'other';
  }

  /** What callers are told: neither where the store is nor what it reported. */
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

/** Where trying again soon would not help. */
const remedies: Partial<Record<StoreTrouble, string>> = {
  readOnly: 'Nothing was changed; tell whoever runs this server.',
  corrupt: 'Nothing was changed; tell whoever runs this server.',
};

/** The stored record of one task cannot be read. All other tasks are as they were. */
export class TaskCorrupt extends StoreError {
  readonly taskId: TaskId;

  constructor(place: string, taskId: TaskId, problem: string, cause?: unknown) {
    super(
      'TASK_CORRUPT',
      place,
      `the record of task ${taskId} is damaged (${problem})`,
      'Other tasks are not affected. Restore this one from a back-up.',
      cause,
    );
    this.taskId = taskId;
  }

  override get forCallers(): string {
    return `What is stored of task ${this.taskId} is damaged, and nothing can be done with it. Other tasks are not affected; tell whoever runs this server.`;
  }
}

/** The store gives no answer in time. Whoever waits for it longer may still get one. */
export class StoreTimedOut extends StoreError {
  readonly #mayBeDone: boolean;

  /** `mayBeDone`: it was told to change something, and did not report whether it has. */
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
    return 'The task store is not available (not reachable). Whether the request was carried out is not known; check before you repeat it.';
  }
}

export function storeClosed(place: string): StoreError {
  return new StoreError('STORE_CLOSED', place, 'the store is closed', 'Open it again before using it.');
}
