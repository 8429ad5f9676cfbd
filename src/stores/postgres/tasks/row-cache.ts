/**
 * The row cache contains the tasks that this process has claimed, as it last wrote them. Rules may decide on cached
 * rows, because the write takes effect only if the row still has the same version (`xmin`). So a stale entry costs time
 * but never causes a wrong decision.
 */
import type { Task, TaskId } from '../../../model/task.ts';

/** The version of a row, which is needed to update it. */
export interface RowVersion {
  readonly seq: number;
  /** The transaction that wrote this version of the row, as in the system column of the same name. */
  readonly xmin: string;
  /** The length of the stored body. */
  readonly length: number;
}

export interface CachedRow {
  readonly version: RowVersion;
  readonly task: Task;
}

const maxRows = 2_000;
/** Longer bodies are not cached, to limit the memory. */
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
   * Called after a lost connection: after a fail-over the server may have lost commits and may reuse transaction ids.
   */
  clear(): void {
    this.#rows.clear();
  }
}

/** The 32-bit transaction id that rows contain, without the epoch of the counter. */
export function xminOf(xact: string): string {
  return String(BigInt(xact) & 0xffff_ffffn);
}
