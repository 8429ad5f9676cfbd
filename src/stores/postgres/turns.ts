/**
 * What became of a transaction is never guessed. Each lane of each process has a row of its own in `sizes`, which every
 * transaction of the lane rewrites: it holds only if the row says that it is its turn, and says whose turn it was.
 * When a connection breaks before the end was heard, the lane takes the turn away from that transaction: either it had
 * ended by then, and the row says so, or it never will.
 */
import { StoreError } from '../../engine/store-errors.ts';
import type { Connections } from './pool.ts';

export interface Turn {
  readonly writer: string;
  readonly before: number;
  readonly after: number;
}

/** Part of a migration. `hold` undoes the statement that calls it, unless all is as its sender believed. */
export const turnTables = `
  alter table sizes add column turn bigint not null default 0;
  create function hold(is_so boolean) returns boolean language plpgsql as $$
  begin
    if not is_so
    then raise exception 'Rows have moved, which is tried again.' using errcode = 'HF001';
    end if;
    return true;
  end $$;
`;

/** Of a kind of its own: whoever sees it must not try the same again. */
export class EndUnknown extends StoreError {
  constructor(place: string, cause?: unknown) {
    super(
      place,
      'what became of a change is not known, because the server could not be asked',
      'Look whether it was made before you make it again.',
      cause,
    );
  }
}

export class Lane {
  /** What this lane is called among those who add to the size. */
  readonly writer: string;
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #place: string;
  #last = 0;
  /** What the row says; undefined if that is not known. */
  #turn: number | undefined;

  constructor(writer: string, parts: { connections: Connections; schema: string; place: string }) {
    this.writer = writer;
    this.#connections = parts.connections;
    this.#schema = parts.schema;
    this.#place = parts.place;
  }

  async next(): Promise<Turn> {
    this.#turn ??= await this.#takeOver();
    return { writer: this.writer, before: this.#turn, after: ++this.#last };
  }

  ended({ after }: Turn): void {
    this.#turn = after;
  }

  /** The row may not be there any more, or not say what was believed. */
  doubt(): void {
    this.#turn = undefined;
  }

  /** Whether the transaction of this turn has ended well. If not, it never will. */
  async settle(turn: Turn): Promise<boolean> {
    this.#turn = undefined;
    const taken = ++this.#last;
    const found = await this.#takeAway(turn, taken).catch((error) => {
      throw new EndUnknown(this.#place, error);
    });
    // A row that is further back lost turns with a server that was replaced: this one among them, or never had.
    const isSettled = found !== undefined && (found === turn.after || found === taken || found < turn.before);
    if (!isSettled) throw new EndUnknown(this.#place);
    this.#turn = found;
    return found === turn.after;
  }

  /** What the row says then. However often it is tried, it comes to the same. */
  async #takeAway({ writer, before }: Turn, taken: number): Promise<number | undefined> {
    const sizes = `${this.#schema}.sizes`;
    const update = `update ${sizes} set turn = $1 where writer = $2 and turn = $3`;
    await this.#connections.query(update, [taken, writer, before]);
    const [row] = await this.#connections.query<{ turn: number }>(
      `select turn from ${sizes} where writer = $1`,
      [writer],
    );
    return row?.turn;
  }

  async #takeOver(): Promise<number> {
    const turn = ++this.#last;
    await this.#connections.query(
      `insert into ${this.#schema}.sizes (writer, bytes, turn) values ($1, 0, $2)
      on conflict (writer) do update set turn = excluded.turn`,
      [this.writer, turn],
    );
    return turn;
  }
}
