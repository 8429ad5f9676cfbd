/**
 * Says of rows that are older than the column how they stand. Bodies may be encrypted, so that no migration can: it is
 * done after opening, in small batches through the same group commit as all other commands, with pauses in between.
 * Until then surveys look into the bodies of such rows themselves.
 */
import { BackgroundWork } from '../values/background-work.ts';
import { readingTask } from '../values/damaged.ts';
import { soundOnly } from '../values/sound.ts';
import { standingCodeOf } from '../values/standing-codes.ts';
import { isUnknown } from '../values/survey-sql.ts';
import { type TaskRow, toTask } from './body.ts';
import type { Cells } from './cells.ts';
import type { Connection } from './driver.ts';
import type { GroupCommit } from './group-commit.ts';

/** Bounds how long the event loop stands still for one batch. */
const batchRows = 100;

export class SurveyBackfill {
  readonly #db: Connection;
  readonly #cells: Cells;
  readonly #commands: GroupCommit;
  readonly #work: BackgroundWork;
  /** It goes back from here, so that a row that is damaged is met once. */
  #before = Number.MAX_SAFE_INTEGER;

  constructor(parts: {
    readonly db: Connection;
    readonly cells: Cells;
    readonly commands: GroupCommit;
    readonly place: string;
  }) {
    this.#db = parts.db;
    this.#cells = parts.cells;
    this.#commands = parts.commands;
    this.#work = new BackgroundWork({
      failure: `How tasks stand could not be added in ${parts.place}`,
      batch: async () => ((await this.#commands.submit(() => this.#batch())) === 0 ? 'end' : 'rest'),
    });
  }

  /** Begins in the background, if there is anything to do. */
  start(): void {
    if (this.#some(1).length > 0) this.#work.start();
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  /** Inside a transaction. */
  #batch(): number {
    const rows = this.#some(batchRows);
    const update = this.#db.prepare('update tasks set standing = ?, created_at = ? where id = ?');
    const { tasks } = soundOnly(rows, (row) => readingTask(row.id!, () => toTask(row, this.#cells)));
    for (const task of tasks) update.run(standingCodeOf(task), task.createdAt, task.id);
    this.#before = rows.at(-1)?.seq ?? this.#before;
    return rows.length;
  }

  #some(limit: number): TaskRow[] {
    const sql = `
      select seq, body, lease_until, id from tasks indexed by tasks_of_unknown_standing
      where ${isUnknown} and seq < ? order by seq desc limit ?`;
    return this.#db.prepare(sql).all(this.#before, limit) as unknown as TaskRow[];
  }
}
