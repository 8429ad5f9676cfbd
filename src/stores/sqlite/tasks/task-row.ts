/** Tasks out of the texts in their rows. */
import type { Task, TaskId } from '../../../model/task.ts';
import { taskIn, withLease } from '../../shared/task-texts.ts';
import type { Cells, Stored } from '../encryption/cells.ts';

export interface TaskRow {
  readonly seq: number;
  readonly body: Stored;
  readonly lease_until: number | null;
  /** There where a value can be read only by who knows whose it is. */
  readonly id?: TaskId;
}

/** How many parsed tasks are remembered, and up to which length of text. */
const places = 4_096;
const longestRemembered = 4_096;

/**
 * Parses rows, and remembers the latest: callers poll the same tasks again and again, and a text that has not changed
 * need not be parsed again. The text itself is compared, so there is nothing to invalidate. Each row has one place,
 * by its number, so there is nothing to evict either.
 */
export class ParsedTasks {
  /** Which row was last asked for at each place. */
  readonly #asked = new Float64Array(places);
  readonly #remembered: { readonly body: Stored; readonly task: Task }[] = [];
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  taskOf(row: TaskRow): Task {
    const { body } = row;
    const place = row.seq % places;
    const remembered = this.#remembered[place];
    if (remembered !== undefined && isSame(remembered.body, body))
      return withLease(remembered.task, row.lease_until);
    const task = parsed(row, this.#cells);
    // Only from the second time on: of a million tasks that are each looked at once, none is worth the room.
    if (this.#asked[place] === row.seq) this.remember(row.seq, body, task);
    else this.#asked[place] = row.seq;
    return withLease(task, row.lease_until);
  }

  /** What has just been written need not be parsed to be read. If it is undone, its text is not there either. */
  remember(seq: number, body: Stored, task: Task): void {
    if (body.length <= longestRemembered) this.#remembered[seq % places] = { body, task };
  }
}

/** Encrypted anew, the same text is another value: one that is the same was found sound before. */
function isSame(one: Stored, other: Stored): boolean {
  return one === other || (typeof one !== 'string' && typeof other !== 'string' && isEqual(one, other));
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

function parsed(row: TaskRow, cells: Cells): Task {
  // To look for what a row of SQLite does not have costs more than all else here.
  const id = cells.keys ? row.id! : '';
  return taskIn(cells.read(row.body, 'tasks.body', id));
}
