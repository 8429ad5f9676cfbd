/** What can be wrong with the place where tasks are kept. Every message names the place and the remedy. */
import { Unavailable } from '../model/errors.ts';
import type { TaskId } from '../model/task.ts';

export type StoreTrouble = 'full' | 'readOnly' | 'damaged' | 'busy' | 'unreachable' | 'closed' | 'other';

export class StoreError extends Unavailable {
  /** In one word, for counting. */
  readonly trouble: StoreTrouble = 'other';

  /** What callers are told: neither where the store is nor what it said. */
  get forCallers(): string {
    const { trouble } = this;
    const reason = reasons[trouble];
    return `The task store is not available${reason && ` (${reason})`}. ${remedies[trouble] ?? 'Nothing was changed; try again.'}`;
  }

  constructor(place: string, problem: string, remedy: string, cause?: unknown) {
    super(`${place}: ${problem}. ${remedy}`, cause === undefined ? undefined : { cause });
  }
}

const reasons: Record<StoreTrouble, string> = {
  full: 'disk full',
  readOnly: 'read-only',
  damaged: 'damaged',
  busy: 'busy',
  unreachable: 'not reachable',
  closed: 'the server is stopping',
  other: '',
};

/** Where trying again soon would not help. */
const remedies: Partial<Record<StoreTrouble, string>> = {
  readOnly: 'Nothing was changed; tell whoever runs this server.',
  damaged: 'Nothing was changed; tell whoever runs this server.',
};

export class StoreFull extends StoreError {
  override readonly trouble: StoreTrouble = 'full';
}
export class StoreReadOnly extends StoreError {
  override readonly trouble: StoreTrouble = 'readOnly';
}
export class StoreCorrupt extends StoreError {
  override readonly trouble: StoreTrouble = 'damaged';
}
/** What is stored of one task cannot be read. All other tasks are as they were. */
export class TaskDamaged extends StoreCorrupt {
  readonly taskId: TaskId;

  constructor(place: string, taskId: TaskId, problem: string, cause?: unknown) {
    super(
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
export class StoreBusy extends StoreError {
  override readonly trouble: StoreTrouble = 'busy';
}
/** It gives no answer in time. Whoever waits for it longer may still get one. */
export class StoreSilent extends StoreError {
  override readonly trouble: StoreTrouble = 'unreachable';
  readonly #mayBeDone: boolean;

  /** `mayBeDone`: it was told to change something, and did not say whether it has. */
  constructor(ms: number, mayBeDone: boolean, cause?: unknown) {
    super(
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
export class StoreTooNew extends StoreError {}
export class StoreNotOpened extends StoreError {
  override readonly trouble: StoreTrouble = 'unreachable';
}
/** It is encrypted, and a key is missing, wrong, or not a key at all. */
export class StoreNotUnlocked extends StoreError {}
export class StoreClosed extends StoreError {
  override readonly trouble: StoreTrouble = 'closed';

  constructor(place: string) {
    super(place, 'the store is closed', 'Open it again before using it.');
  }
}
