/** What the rule makes of tasks that a claim has selected and locked. */
import type { ClaimedChange, ClaimRule, Claims, CommitNotice } from '../../engine/store.ts';
import type { Clock } from '../../model/clock.ts';
import { Refusal } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import type { Task, TaskId } from '../../model/task.ts';
import { eventsIn } from '../values/texts.ts';
import { type Cells, named } from './cells.ts';
import { worded } from './driver.ts';
import type { ReadyRow, ReadyTasks } from './ready-tasks.ts';
import type { Rows } from './rows.ts';
import { Writes } from './writes.ts';

export interface DecidedClaims extends Claims {
  readonly writes: Writes;
  /** The creation of tasks that never ran: others may not have heard of it. */
  readonly firstCommits: readonly CommitNotice[];
}

interface Parts {
  readonly rows: Rows;
  readonly ready: ReadyTasks;
  readonly vault: Cells;
  readonly clock: Clock;
  readonly place: string;
}

/** A row that cannot be read affects no other. */
export function decideClaims(selected: readonly ReadyRow[], decide: ClaimRule, parts: Parts): DecidedClaims {
  const { rows, ready, vault, clock, place } = parts;
  const writes = new Writes(vault);
  const claimed: ClaimedChange[] = [];
  const failed: { taskId: TaskId; error: unknown }[] = [];
  const firstCommits: CommitNotice[] = [];
  for (const row of selected) {
    try {
      const found = rows.cached(row);
      const verdict = decide(found.task, ready.freedHolder(row));
      if (verdict instanceof Refusal) continue;
      writes.add([found]);
      writes.apply(verdict, clock.now());
      const first = firstCommit(row, found.task, vault);
      if (first) firstCommits.push(first.notice);
      claimed.push({ change: verdict, ...(first?.journal && { journal: first.journal }) });
    } catch (error) {
      failed.push({ taskId: named(row.id), error: worded(error, place) });
    }
  }
  return { writes, claimed, failed, firstCommits };
}

/** What was read of a task that never ran: its creation, for those who listen, and its journal, for the pass. */
function firstCommit(row: ReadyRow, { id, rootId, version }: Task, cells: Cells) {
  if (row.at === null || version > 1) return undefined;
  try {
    const events = eventsIn(cells.read(row.events, 'commits.events', id, 1));
    const journal: Json[] | null =
      row.journal && JSON.parse(cells.read(row.journal, 'commits.journal', id, 1));
    const notice: CommitNotice = { taskId: id, rootId, version: 1, at: row.at, events };
    return { notice, journal };
  } catch {
    return undefined; // Damaged: it is read again by those who need it, and reported then.
  }
}
