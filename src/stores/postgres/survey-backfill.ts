/**
 * Says of rows that are older than the column how they stand. Bodies may be encrypted, so that no migration can: it is
 * done after opening, in small batches with pauses in between. Until then surveys look into the bodies themselves.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { StoreClosed } from '../../engine/store-errors.ts';
import { standingCodeOf } from '../values/standing-codes.ts';
import { isUnknown } from '../values/survey-sql.ts';
import type { Connections } from './pool.ts';
import type { Rows, TaskRow } from './rows.ts';
import type { Vault } from './vault.ts';

const batchRows = 200;
/** How many times longer than the last batch it pauses. */
const restFactor = 2;

export class SurveyBackfill {
  readonly #connections: Connections;
  readonly #vault: Vault;
  readonly #rows: Rows;
  readonly #schema: string;
  readonly #place: string;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(parts: {
    readonly connections: Connections;
    readonly vault: Vault;
    readonly rows: Rows;
    readonly schema: string;
    readonly place: string;
  }) {
    this.#connections = parts.connections;
    this.#vault = parts.vault;
    this.#rows = parts.rows;
    this.#schema = parts.schema;
    this.#place = parts.place;
  }

  /** Begins in the background, if there is anything to do. */
  start(): void {
    this.#running = this.#toTheEnd().catch((error: unknown) => {
      if (error instanceof StoreClosed || this.#isStopped) return;
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
    const some = `select 1 from ${this.#schema}.tasks where ${isUnknown} limit 1`;
    if ((await this.#connections.query(some)).length === 0) return;
    while (!this.#isStopped) {
      const started = performance.now();
      if ((await this.#batch()) === 0) return;
      // A process has something better to do than to live for this.
      await pause((performance.now() - started) * restFactor, undefined, { ref: false });
    }
  }

  /** Rows that somebody writes at this moment will be right without us. */
  #batch(): Promise<number> {
    return this.#vault.transact(async (transaction) => {
      const rows = await transaction.query<TaskRow>(
        `select seq, id, body, lease_until, job from ${this.#schema}.tasks where ${isUnknown}
        order by seq desc limit ${batchRows} for update skip locked`,
      );
      if (rows.length === 0) return 0;
      const tasks = rows.map((row) => this.#rows.task(row));
      await transaction.query(
        `update ${this.#schema}.tasks t set standing = v.standing, created_at = v.created_at
        from unnest($1::bigint[], $2::integer[], $3::double precision[]) as v (seq, standing, created_at)
        where t.seq = v.seq`,
        [rows.map(({ seq }) => seq), tasks.map(standingCodeOf), tasks.map(({ createdAt }) => createdAt)],
      );
      return rows.length;
    });
  }
}
