/**
 * Says of rows that are older than the column how they stand. Bodies may be encrypted, so that no migration can: it is
 * done after opening, in small batches with pauses in between. Until then surveys look into the bodies themselves.
 */
import { BackgroundWork } from '../values/background-work.ts';
import { soundOnly } from '../values/sound.ts';
import { standingCodeOf } from '../values/standing-codes.ts';
import { isUnknown } from '../values/survey-sql.ts';
import { name } from './cells.ts';
import type { Connections } from './pool.ts';
import type { Rows, TaskRow } from './rows.ts';
import type { Vault } from './vault.ts';

const batchRows = 200;

export class SurveyBackfill {
  readonly #connections: Connections;
  readonly #vault: Vault;
  readonly #rows: Rows;
  readonly #schema: string;
  readonly #work: BackgroundWork;
  /** It goes back from here, so that a row that is damaged is met once. */
  #before = Number.MAX_SAFE_INTEGER;

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
    this.#work = new BackgroundWork({
      failure: `How tasks stand could not be added in ${parts.place}`,
      batch: async () => ((await this.#hasSome()) && (await this.#batch()) > 0 ? 'rest' : 'end'),
    });
  }

  /** Begins in the background. */
  start(): void {
    this.#work.start();
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  async #hasSome(): Promise<boolean> {
    const some = `select 1 from ${this.#schema}.tasks where ${isUnknown} and seq < $1 limit 1`;
    return (await this.#connections.query(some, [this.#before])).length > 0;
  }

  /** Rows that somebody writes at this moment will be right without us. */
  #batch(): Promise<number> {
    return this.#vault.transact(async (transaction) => {
      const rows = await transaction.query<TaskRow>(
        `select seq, id, body, lease_until from ${this.#schema}.tasks where ${isUnknown} and seq < $1
        order by seq desc limit ${batchRows} for update skip locked`,
        [this.#before],
      );
      if (rows.length === 0) return 0;
      const { tasks } = soundOnly(rows, (row) => this.#rows.task(row));
      await transaction.query(
        `update ${this.#schema}.tasks t set standing = v.standing, created_at = v.created_at
        from unnest($1::text[], $2::integer[], $3::double precision[]) as v (id, standing, created_at)
        where t.id = v.id`,
        [tasks.map(({ id }) => name(id)), tasks.map(standingCodeOf), tasks.map(({ createdAt }) => createdAt)],
      );
      this.#before = rows.at(-1)!.seq;
      return rows.length;
    });
  }
}
