/** A task as the text in its row, and back. Large results are kept apart, so that polling and listing stay cheap. */
import type { Outcome } from '../../model/outcome.ts';
import type { ActiveTask, DoneTask, Task, TaskId } from '../../model/task.ts';
import type { Cells, Stored } from './cells.ts';
import { Damaged } from './driver.ts';

export interface TaskRow {
  readonly seq: number;
  readonly body: Stored;
  readonly lease_until: number | null;
  /** There where a value can be read only by who knows whose it is. */
  readonly id?: TaskId;
}

/** In characters of JSON. */
const largeResult = 256 * 1024;

/** A result that stands in a row of its own; what is left here is how long it is. */
export type ResultApart = Extract<Outcome, { kind: 'result' }> & { readonly apart: number };

export function hasResultApart(task: Task): task is DoneTask & { readonly outcome: ResultApart } {
  return task.phase === 'done' && isApart(task.outcome);
}

/** The row's text, and the result to be kept apart, if it is large and not there already. */
export function bodyOf(task: Task): { readonly body: string; readonly large?: string } {
  const outcome = task.phase === 'done' ? task.outcome : task.heldOutcome;
  if (outcome?.kind !== 'result' || isApart(outcome)) return { body: JSON.stringify(task) };
  const large = JSON.stringify(outcome.value);
  if (large.length <= largeResult) return { body: JSON.stringify(task) };
  const apart = { ...outcome, value: null, apart: large.length };
  const slim: Task =
    task.phase === 'done' ? { ...task, outcome: apart } : ({ ...task, heldOutcome: apart } as ActiveTask);
  return { body: JSON.stringify(slim), large };
}

function isApart(outcome: Outcome): outcome is ResultApart {
  return 'apart' in outcome;
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
    if (remembered !== undefined && isSame(remembered.body, body)) return withLease(remembered.task, row);
    const task = parsed(row, this.#cells);
    // Only from the second time on: of a million tasks that are each looked at once, none is worth the room.
    if (this.#asked[place] === row.seq) this.remember(row.seq, body, task);
    else this.#asked[place] = row.seq;
    return withLease(task, row);
  }

  /** What has just been written need not be parsed to be read. If it is undone, its text is not there either. */
  remember(seq: number, body: Stored, task: Task): void {
    if (body.length <= longestRemembered) this.#remembered[seq % places] = { body, task };
  }
}

export function toTask(row: TaskRow, cells: Cells): Task {
  return withLease(parsed(row, cells), row);
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
  const id = cells.areBound ? row.id! : '';
  const task = JSON.parse(cells.read(row.body, 'tasks.body', id)) as Task | null;
  if (!task?.id) throw new Damaged('a stored task is not readable');
  return task;
}

/** Leases are renewed in their column alone. */
function withLease(task: Task, { lease_until: leaseUntil }: TaskRow): Task {
  if (leaseUntil === null || task.phase === 'done' || !task.holder || task.holder.leaseUntil === leaseUntil)
    return task;
  return { ...task, holder: { ...task.holder, leaseUntil } };
}
