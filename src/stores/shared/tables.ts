/** The small database port of the shared code: sessions, secrets, calls and the audit log. */
import type { Cells } from './encryption/cells.ts';

export type Value = string | number | null | Uint8Array;

/**
 * In statements, table names begin with `prefix` and each question mark is a value. In rows, texts that were stored
 * with `name` are decoded.
 */
export interface Tables<Text extends Value> {
  readonly prefix: string;
  readonly cells: Cells<Text>;
  /** Follows a table name and selects the index, on databases whose planner needs that. */
  by(index: string): string;
  /** Encodes a text that SQL compares as it is, such as an id or an owner. */
  name(text: string): string;
  /** Runs a read-only statement and maps its rows with `use`. */
  read<Row, T>(text: string, values: readonly Value[], use: (row: Row) => T): Promise<T[]>;
  /** Runs a statement that is safe to repeat. */
  write<Row>(text: string, values: readonly Value[]): Promise<Row[]>;
  /** Runs a statement that writes cells once for each row. Calls `rows` inside the transaction. */
  writeCells(text: string, rows: () => readonly (readonly Value[])[]): Promise<void>;
}
