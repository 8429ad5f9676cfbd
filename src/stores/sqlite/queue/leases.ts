/**
 * Whether a lease of another process has expired, judged without its clock and without ours being right: a lease has
 * expired when it was seen unchanged for as long as it lasts. Time in which this process did not look counts as one
 * look, because then the others may have been stopped as well, and must get the chance to renew first.
 */
import type { TaskId } from '../../../model/task.ts';

export interface HeldRow {
  readonly id: TaskId;
  readonly epoch: number;
  readonly lease_until: number;
  readonly lease_ms: number;
}

interface Seen extends HeldRow {
  readonly at: number;
  readonly silentMs: number;
}

export class Leases {
  /** The longest time between two looks that counts. */
  readonly #mostMs: number;
  #seen = new Map<TaskId, Seen>();

  constructor(mostMs: number) {
    this.#mostMs = mostMs;
  }

  /** Looks at all leases there are; returns the tasks whose lease has expired. */
  expired(rows: readonly HeldRow[], at: number): Set<TaskId> {
    const before = this.#seen;
    this.#seen = new Map();
    const expired = new Set<TaskId>();
    for (const row of rows) {
      const last = before.get(row.id);
      const isSame = last?.epoch === row.epoch && last.lease_until === row.lease_until;
      const silentMs = isSame ? last.silentMs + Math.min(at - last.at, this.#mostMs) : 0;
      this.#seen.set(row.id, { ...row, at, silentMs });
      if (silentMs >= row.lease_ms) expired.add(row.id);
    }
    return expired;
  }
}
