/** Rows as surveys pass them, out of what a database gave: the body is opened once, and only if it is asked for. */
import { standingOf } from '../../model/standing.ts';
import type { DoneTask, Owner, Task, TaskId } from '../../model/task.ts';
import { withLease } from './body.ts';
import { Damaged } from './damaged.ts';
import { codeOf } from './standing-codes.ts';
import type { EndedSums, PassedRow } from './survey-source.ts';
import { classOf, kindOf } from './tally.ts';

export interface RowGiven {
  readonly seq: number;
  readonly id: TaskId;
  readonly owner: Owner;
  readonly tool: string;
  readonly standing: number;
  readonly created_at: number | null;
  readonly lease_until: number | null;
  readonly hidden: boolean | number;
}

/** `open` gives the text of the body; `length` is that of what is stored. */
export function passedRow(row: RowGiven, length: number, open: () => string): PassedRow {
  let text: string | undefined;
  let task: Task | undefined;
  const opened = () => {
    text ??= open();
    return text;
  };
  const read = () => {
    task ??= taskIn(opened(), row);
    return task;
  };
  return {
    seq: row.seq,
    id: row.id,
    owner: row.owner,
    tool: row.tool,
    isSeen: !row.hidden,
    standing: row.standing,
    createdAt: row.created_at,
    length,
    read,
    // Most tasks have none, and to find that out takes no parsing.
    statusMessage: () => (opened().includes('"statusMessage":') ? read().statusMessage : undefined),
  };
}

function taskIn(text: string, { id, owner, lease_until: leaseUntil }: RowGiven): Task {
  const task = JSON.parse(text) as Task | null;
  // A column of SQLite cannot hold half a character, a body can.
  if (task?.id !== id || (task.owner !== owner && task.owner.toWellFormed() !== owner))
    throw new Damaged(`task ${id} is not readable`);
  return withLease(task, leaseUntil);
}

/** How a task counts that ended. */
export function endedSumsOf(task: DoneTask): EndedSums {
  const kind = kindOf(codeOf(standingOf(task)), classOf(task.finishedAt - task.createdAt));
  return { tool: task.tool, kinds: Uint16Array.of(kind!), counts: Uint32Array.of(1) };
}
