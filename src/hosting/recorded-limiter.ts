import type { AuditRecorder } from '../engine/audit-recorder.ts';
import type { Requests } from '../engine/requests.ts';
import type { Owner } from '../model/task.ts';
import { OverLimit } from '../protocol/errors.ts';
import { Limiter, type Limits, type Spending } from './limits.ts';

/** Limits, and a note in the audit log of everybody who met one. */
export class RecordedLimiter extends Limiter {
  readonly #recorder: AuditRecorder;

  constructor(limits: Limits, recorder: AuditRecorder) {
    super(limits);
    this.#recorder = recorder;
  }

  override spend(owner: Owner, kind: Spending): Promise<void> | undefined {
    return super.spend(owner, kind)?.catch((error: unknown) => this.#noted(owner, error));
  }

  override admitTask(requests: Requests, owner: Owner): Promise<void> {
    return super.admitTask(requests, owner).catch((error: unknown) => this.#noted(owner, error));
  }

  override subscribe(owner: Owner): () => void {
    try {
      return super.subscribe(owner);
    } catch (error) {
      return this.#noted(owner, error);
    }
  }

  #noted(owner: Owner, error: unknown): never {
    if (error instanceof OverLimit)
      this.#recorder.refuse({
        action: 'limited',
        owner,
        taskId: null,
        by: 'caller',
        reason: error.message,
        details: { limit: error.limit },
      });
    throw error;
  }
}
