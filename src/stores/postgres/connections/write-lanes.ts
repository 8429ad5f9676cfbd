/**
 * What became of a transaction is never guessed. Each write lane of each process has a row of its own in `lanes`, which
 * every transaction of the lane rewrites: it takes effect only if the row has the turn before it, and leaves its own.
 * When a connection breaks before the end was reported, the lane takes the turn away from that transaction: either it
 * had ended by then, and the row shows it, or it never will.
 */
import { StoreError } from '../../../ports/store-errors.ts';
import type { Connections } from './pool.ts';

export interface Turn {
  readonly lane: string;
  readonly before: number;
  readonly after: number;
}

/** Part of the schema. `hold` undoes the statement that calls it, unless all is as its sender believed. */
export const laneTables = `
  create table lanes (
    name text collate "C" primary key,
    turn bigint not null
  ) with (fillfactor = 50);
  create function hold(is_so boolean) returns boolean language plpgsql as $$
  begin
    if not is_so
    then raise exception 'Rows have moved, which is tried again.' using errcode = 'HF001';
    end if;
    return true;
  end $$;
`;

/** Whoever sees it must not try the same again. */
function endUnknown(place: string, cause?: unknown): StoreError {
  return new StoreError(
    'COMMIT_UNKNOWN',
    place,
    'what became of a change is not known, because the server could not be asked',
    'Check whether it was made before you make it again.',
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
  #last = 0;
  /** What the row says; undefined if that is not known. */
  #turn: number | undefined;

  constructor(name: string, parts: Parts) {
    this.name = name;
    this.#parts = parts;
  }

  async next(): Promise<Turn> {
    this.#turn ??= await this.#takeOver();
    return { lane: this.name, before: this.#turn, after: ++this.#last };
  }

  ended({ after }: Turn): void {
    this.#turn = after;
  }

  /** The row may not be there any more, or not say what was believed. */
  forgetTurn(): void {
    this.#turn = undefined;
  }

  /** Whether the transaction of this turn has ended well. If not, it never will. */
  async settle(turn: Turn): Promise<boolean> {
    this.#turn = undefined;
    const taken = ++this.#last;
    const found = await this.#takeAway(turn, taken).catch((error) => {
      throw endUnknown(this.#parts.place, error);
    });
    // A row that is further back lost turns with a server that was replaced: this one among them, or never had.
    const isSettled = found !== undefined && (found === turn.after || found === taken || found < turn.before);
    if (!isSettled) throw endUnknown(this.#parts.place);
    this.#turn = found;
    return found === turn.after;
  }

  /** What the row says then. However often it is tried, it comes to the same. */
  async #takeAway({ lane, before }: Turn, taken: number): Promise<number | undefined> {
    const lanes = `${this.#parts.schema}.lanes`;
    const update = `update ${lanes} set turn = $1 where name = $2 and turn = $3`;
    await this.#parts.connections.query(update, [taken, lane, before]);
    const [row] = await this.#parts.connections.query<{ turn: number }>(
      `select turn from ${lanes} where name = $1`,
      [lane],
    );
    return row?.turn;
  }

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

/** Removes the lanes of processes that are gone. */
export async function deleteOldLanes(connections: Connections, schema: string): Promise<void> {
  await connections.query(
    `delete from ${schema}.lanes where split_part(name, '/', 1) not in (select name from ${schema}.processes)`,
  );
}
