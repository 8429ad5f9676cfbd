/**
 * Says of rows that are older than the column how they stand. Bodies may be encrypted, so that no migration can: it is
 * done after opening, in small batches through the same group commit as all other commands, with pauses in between.
 * Until then surveys look into the bodies of such rows themselves.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { StoreClosed } from '../../engine/store-errors.ts';
import { standingCodeOf } from '../values/standing-codes.ts';
import { isUnknown } from '../values/survey-sql.ts';
import { type TaskRow, toTask } from './body.ts';
import type { Cells } from './cells.ts';
import type { Connection } from './driver.ts';
import type { GroupCommit } from './group-commit.ts';

/** Bounds how long the event loop stands still for one batch. */
const batchRows = 100;
/** How many times longer than the last batch it pauses. */
const restFactor = 4;

export class SurveyBackfill {
  readonly #db: Connection;
  readonly #cells: Cells;
  readonly #commands: GroupCommit;
  readonly #place: string;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(parts: {
    readonly db: Connection;
    readonly cells: Cells;
    readonly commands: GroupCommit;
    readonly place: string;
  }) {
    this.#db = parts.db;
    this.#cells = parts.cells;
    this.#commands = parts.commands;
    this.#place = parts.place;
  }

  /** Begins in the background, if there is anything to do. */
  start(): void {
    if (this.#some(1).length === 0) return;
    this.#running = this.#toTheEnd().catch((error: unknown) => {
      if (error instanceof StoreClosed) return;
      process.emitWarning(
        `How tasks stand could not be added in ${this.#place}: ${(error as Error).message}`,
      );
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #toTheEnd(): Promise<void> {
    while (!this.#isStopped) {
      const started = performance.now();
      if ((await this.#commands.submit(() => this.#batch())) === 0) return;
      // A process has something better to do than to live for this.
      await pause((performance.now() - started) * restFactor, undefined, { ref: false });
    }
  }

  /** Inside a transaction. */
  #batch(): number {
    const rows = this.#some(batchRows);
    const update = this.#db.prepare('update tasks set standing = ?, created_at = ? where seq = ?');
    for (const row of rows) {
      const task = toTask(row, this.#cells);
      update.run(standingCodeOf(task), task.createdAt, row.seq);
    }
    return rows.length;
  }

  #some(limit: number): TaskRow[] {
    const sql = `
      select seq, body, lease_until, id from tasks indexed by tasks_of_unknown_standing
      where ${isUnknown} order by seq desc limit ?`;
    return this.#db.prepare(sql).all(limit) as unknown as TaskRow[];
  }
}
