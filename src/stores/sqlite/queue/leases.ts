/**
 * Detects expired leases of other processes without relying on any wall clock: a lease has expired if this process saw
 * it unchanged for its whole duration. A long gap between two checks counts only as `maxGapMs`: if this process was
 * stopped, the others may have been stopped too and must get a chance to renew first.
 */
import type { TaskId } from '../../../model/task.ts';

export interface LeaseRow {
  readonly id: TaskId;
  readonly epoch: number;
  readonly lease_until: number;
  readonly lease_ms: number;
}

interface Seen extends LeaseRow {
  readonly at: number;
  readonly silentMs: number;
}

export class Leases {
  /** The maximum time that counts between two checks. */
  readonly #maxGapMs: number;
  #seen = new Map<TaskId, Seen>();

  constructor(maxGapMs: number) {
    this.#maxGapMs = maxGapMs;
  }

  /** Takes all current leases; returns the tasks whose lease has expired. */
  expired(rows: readonly LeaseRow[], at: number): Set<TaskId> {
    const before = this.#seen;
    this.#seen = new Map();
    const expired = new Set<TaskId>();
    for (const row of rows) {
      const last = before.get(row.id);
      const isSame = last?.epoch === row.epoch && last.lease_until === row.lease_until;
      const silentMs = isSame ? last.silentMs + Math.min(at - last.at, this.#maxGapMs) : 0;
      this.#seen.set(row.id, { ...row, at, silentMs });
      if (silentMs >= row.lease_ms) expired.add(row.id);
    }
    return expired;
  }
}
