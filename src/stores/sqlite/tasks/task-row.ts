/** Parses tasks from rows, with a cache. */
import type { Task, TaskId } from '../../../model/task.ts';
import { taskIn, withLease } from '../../shared/task-texts.ts';
import type { Cells, Stored } from '../encryption/cells.ts';

export interface TaskRow {
  readonly seq: number;
  readonly body: Stored;
  readonly lease_until: number | null;
  /** Present if values are encrypted, because decryption needs it. */
  readonly id?: TaskId;
}

/** How many parsed tasks are cached, and up to which length of text. */
const slots = 4_096;
const maxRememberedLength = 4_096;

/**
 * Parses rows and caches the latest ones, because callers poll the same tasks repeatedly. The cache compares the stored
 * text, so it needs no invalidation. The row number determines the slot, so it needs no eviction.
 */
export class ParsedTasks {
  /** The row that was last read in each slot. */
  readonly #lastRead = new Float64Array(slots);
  readonly #remembered: { readonly body: Stored; readonly task: Task }[] = [];
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  taskOf(row: TaskRow): Task {
    const { body } = row;
    const slot = row.seq % slots;
    const remembered = this.#remembered[slot];
    if (remembered !== undefined && isSame(remembered.body, body))
      return withLease(remembered.task, row.lease_until);
    const task = parsed(row, this.#cells);
    // Cached only from the second read on: tasks that are read once would only waste memory.
    if (this.#lastRead[slot] === row.seq) this.remember(row.seq, body, task);
    else this.#lastRead[slot] = row.seq;
    return withLease(task, row.lease_until);
  }

  /** Caches a task that was just written. After a rollback its text no longer matches the row. */
  remember(seq: number, body: Stored, task: Task): void {
    if (body.length <= maxRememberedLength) this.#remembered[seq % slots] = { body, task };
  }
}

/** Encrypting a text again gives another value. So equal values were decrypted and verified before. */
function isSame(one: Stored, other: Stored): boolean {
  return one === other || (typeof one !== 'string' && typeof other !== 'string' && isEqual(one, other));
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

function parsed(row: TaskRow, cells: Cells): Task {
  // Reading a missing property of an SQLite row costs more than everything else here.
  const id = cells.keys ? row.id! : '';
  return taskIn(cells.read(row.body, 'tasks.body', id));
}
