/**
 * Determines reliably whether a transaction was committed. Each write lane of each process has a row in `lanes`. Every
 * transaction of the lane that writes also updates this row: it commits only if the row contains the previous turn, and
 * writes its own turn, a number that grows. If a connection breaks before the result arrives, the lane revokes the turn
 * of that transaction. Then either the row shows that it was committed, or it can never commit.
 */
import { StoreError } from '../../../ports/store-errors.ts';
import type { Connections } from './pool.ts';

/** The transaction replaces the turn `before` in the row of its lane by the turn `after`. */
export interface Turn {
  readonly lane: string;
  readonly before: number;
  readonly after: number;
}

/** Part of the schema. `verify` rolls back the statement that calls it, unless all its preconditions are true. */
export const laneTables = `
  create table lanes (
    name text collate "C" primary key,
    turn bigint not null
  ) with (fillfactor = 50);
  create function verify(is_valid boolean) returns boolean language plpgsql as $$
  begin
    if not is_valid
    then raise exception 'Rows have changed; Holdfast retries this statement.' using errcode = 'HF001';
    end if;
    return true;
  end $$;
`;

/** An error that must not be retried. */
function commitUnknown(place: string, cause?: unknown): StoreError {
  return new StoreError(
    'COMMIT_UNKNOWN',
    place,
    'the connection broke during a commit, and whether the change was written is unknown',
    'Check whether the change was written before you repeat it.',
    cause,
  );
}

interface Parts {
  readonly connections: Connections;
  readonly schema: string;
  readonly place: string;
}

export class WriteLane {
  readonly name: string;
  readonly #parts: Parts;
  /** The highest turn that was used or tried. */
  #last = 0;
  /** The turn in the row; undefined if unknown. Then the next transaction first overwrites the row. */
  #turn: number | undefined;

  constructor(name: string, parts: Parts) {
    this.name = name;
    this.#parts = parts;
  }

  async next(): Promise<Turn> {
    this.#turn ??= await this.#takeOver();
    return { lane: this.name, before: this.#turn, after: ++this.#last };
  }

  /** The transaction of this turn was committed. */
  ended({ after }: Turn): void {
    this.#turn = after;
  }

  /** Call this if the row may be missing or contain another turn. */
  forgetTurn(): void {
    this.#turn = undefined;
  }

  /** Whether the transaction of this turn was committed. If not, it never will be. */
  async settle(turn: Turn): Promise<boolean> {
    this.#turn = undefined;
    const revoking = ++this.#last;
    const found = await this.#revoke(turn, revoking).catch((error) => {
      throw commitUnknown(this.#parts.place, error);
    });
    // A lower turn means that a replaced server lost turns, including this one if it was committed.
    const isSettled =
      found !== undefined && (found === turn.after || found === revoking || found < turn.before);
    if (!isSettled) throw commitUnknown(this.#parts.place);
    this.#turn = found;
    return found === turn.after;
  }

  /**
   * Replaces the turn `before`, if the row still contains it. Returns the turn in the row afterwards. Safe to repeat.
   */
  async #revoke({ lane, before }: Turn, revoking: number): Promise<number | undefined> {
    const lanes = `${this.#parts.schema}.lanes`;
    const update = `update ${lanes} set turn = $1 where name = $2 and turn = $3`;
    await this.#parts.connections.query(update, [revoking, lane, before]);
    const [row] = await this.#parts.connections.query<{ turn: number }>(
      `select turn from ${lanes} where name = $1`,
      [lane],
    );
    return row?.turn;
  }

  /** Writes a new turn, whatever the row contains. */
  async #takeOver(): Promise<number> {
    const turn = ++this.#last;
    await this.#parts.connections.query(
      `insert into ${this.#parts.schema}.lanes (name, turn) values ($1, $2)
      on conflict (name) do update set turn = excluded.turn`,
      [this.name, turn],
    );
    return turn;
  }
}

/** Deletes the lanes of dead processes. The name of a lane is `PROCESS/NUMBER`. */
export async function deleteOldLanes(connections: Connections, schema: string): Promise<void> {
  await connections.query(
    `delete from ${schema}.lanes where split_part(name, '/', 1) not in (select name from ${schema}.processes)`,
  );
}
