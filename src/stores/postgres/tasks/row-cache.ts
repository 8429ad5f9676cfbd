/**
 * The row cache: tasks that this process holds, as it last wrote their rows. A rule may decide on a cached row, because
 * the statement that writes takes effect only if the row is still the same version of itself (`xmin`). So a stale entry
 * costs time, and never leads to a wrong decision.
 */
import type { Task, TaskId } from '../../../model/task.ts';

/** What must be known of a row to write it. */
export interface RowVersion {
  readonly seq: number;
  /** The transaction that wrote this version of the row, as Postgres numbers them in rows. */
  readonly xmin: string;
  /** The length of the stored body. */
  readonly length: number;
}

export interface CachedRow {
  readonly version: RowVersion;
  readonly task: Task;
}

const maxRows = 2_000;
/** Larger ones are read again: memory is for the many. */
const maxLength = 16 * 1024;

export class RowCache {
  readonly #rows = new Map<TaskId, CachedRow>();

  get(id: TaskId): CachedRow | undefined {
    return this.#rows.get(id);
  }

  set(row: CachedRow): void {
    const { id } = row.task;
    this.#rows.delete(id);
    if (row.version.length > maxLength) return;
    this.#rows.set(id, row);
    if (this.#rows.size > maxRows) this.#rows.delete(this.#rows.keys().next().value!);
  }

  delete(id: TaskId): void {
    this.#rows.delete(id);
  }

  /** A server that is back may have lost what it had acknowledged (a fail-over), and reuse numbers of transactions. */
  clear(): void {
    this.#rows.clear();
  }
}

/** The number of a transaction as rows have it: without the epochs of the counter. */
export function xminOf(xact: string): string {
  return String(BigInt(xact) & 0xffff_ffffn);
}
