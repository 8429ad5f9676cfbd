/**
 * The row cache contains the tasks that this process has claimed, as it last wrote them. Rules may decide on cached
 * rows, because the write takes effect only if the row still has the same version (`xmin`). So a stale entry costs time
 * but never causes a wrong decision.
 */
import type { Task, TaskId } from '../../../model/task.ts';

/** The version of a row, which is needed to update it. */
export interface RowVersion {
  /** The row number. */
  readonly seq: number;
  /** The id of the transaction that wrote this version of the row: the system column of the same name. */
  readonly xmin: string;
  /** The length of the stored body, in characters. */
  readonly length: number;
}

export interface CachedRow {
  readonly version: RowVersion;
  readonly task: Task;
}

/** Above this number the row that was written first is evicted. */
const maxRows = 2_000;
/** Tasks with longer bodies (in characters) are not cached, to limit the memory. */
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

  /**
   * Called after a lost connection: after a fail-over the server may have lost commits and may reuse transaction ids,
   * so `xmin` no longer identifies a version.
   */
  clear(): void {
    this.#rows.clear();
  }
}

/** Converts a 64-bit transaction id to the lower 32 bits, which `xmin` contains. */
export function xminOf(xact: string): string {
  return String(BigInt(xact) & 0xffff_ffffn);
}
