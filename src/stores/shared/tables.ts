/** The database port of the code in `shared`, such as sessions, secrets, calls, the audit log, look-ups and `rekey`. */
import type { Cells } from './encryption/cells.ts';

export type Value = string | number | null | Uint8Array;

/**
 * In statements, table names begin with `prefix` and each question mark is a value. In the rows that `read` returns,
 * texts that were stored with `name` are decoded. `Text` is the type of a text column.
 */
export interface Tables<Text extends Value> {
  /** The schema and a dot; empty on databases without schemas. */
  readonly prefix: string;
  readonly cells: Cells<Text>;
  /** Follows a table name and selects the index, on databases whose planner needs that. */
  by(index: string): string;
  /** Encodes a text that SQL compares as it is, such as an id or an owner. */
  name(text: string): string;
  /** Runs a read-only statement and maps its rows with `use`. */
  read<Row, T>(text: string, values: readonly Value[], use: (row: Row) => T): Promise<T[]>;
  /** Runs a statement that is safe to repeat, and returns its rows. Values that may be encrypted need `writeCells`. */
  write<Row>(text: string, values: readonly Value[]): Promise<Row[]>;
  /**
   * Runs a statement once for each row, all in one transaction. Calls `rows` inside the transaction, where the
   * encryption record cannot change, so encrypt values there. `rows` may run more than once.
   */
  writeCells(text: string, rows: () => readonly (readonly Value[])[]): Promise<void>;
}
