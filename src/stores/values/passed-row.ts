/** Rows as surveys pass them, out of what a database gave: the body is opened once, and only if it is asked for. */
import { type DamagedTask, isDamaged } from '../../engine/survey.ts';
import { standingOf } from '../../model/standing.ts';
import type { DoneTask, Owner, Task, TaskId } from '../../model/task.ts';
import { withLease } from './body.ts';
import { DamagedRecord, readingTask } from './damaged.ts';
import { codeOf, standingAt } from './standing-codes.ts';
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

/**
 * `open` gives the text of the body; `length` is that of what is stored. A body that is damaged is `shown` as what the
 * columns tell of its task, or its error is `thrown`, where reading it again may help.
 */
export function passedRow(
  row: RowGiven,
  length: number,
  open: () => string,
  damage: 'shown' | 'thrown' = 'shown',
): PassedRow {
  let text: string | undefined;
  let task: Task | DamagedTask | undefined;
  const opened = () => {
    text ??= open();
    return text;
  };
  const orDamaged = <T>(get: () => T): T | DamagedTask => {
    try {
      return readingTask(row.id, get);
    } catch (error) {
      if (damage === 'thrown' || !(error instanceof DamagedRecord)) throw error;
      return damagedTask(row);
    }
  };
  const read = () => {
    task ??= orDamaged(() => taskIn(opened(), row));
    return task;
  };
  const statusMessage = () => {
    const found = orDamaged(() => (opened().includes('"statusMessage":') ? read() : undefined));
    return found && 'statusMessage' in found ? found.statusMessage : undefined;
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
    statusMessage,
  };
}

function taskIn(text: string, { id, owner, lease_until: leaseUntil }: RowGiven): Task {
  const task = JSON.parse(text) as Task | null;
  // A column of SQLite cannot hold half a character, a body can.
  if (task?.id !== id || (task.owner !== owner && task.owner.toWellFormed() !== owner))
    throw new DamagedRecord(id, 'what stands there is not this task');
  return withLease(task, leaseUntil);
}

function damagedTask({ id, owner, tool, standing: code, created_at: createdAt }: RowGiven): DamagedTask {
  const standing = standingAt(code);
  return { isDamaged: true, id, owner, tool, ...(standing && { standing }), createdAt: createdAt ?? 0 };
}

/** Whether a history is whole only the body tells. */
export function versionOf(task: Task | DamagedTask): number {
  if (isDamaged(task)) throw new DamagedRecord(task.id, 'a stored value is not readable');
  return task.version;
}

/** How a task counts that ended. */
export function endedSumsOf(task: DoneTask): EndedSums {
  const kind = kindOf(codeOf(standingOf(task)), classOf(task.finishedAt - task.createdAt));
  return { tool: task.tool, kinds: Uint16Array.of(kind!), counts: Uint32Array.of(1) };
}
