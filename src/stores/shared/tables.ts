/** A database as it is used by what is written once for all of them: sessions, secrets, calls and the audit log. */
import type { Cells } from './encryption/cells.ts';

export type Value = string | number | null | Uint8Array;

/**
 * In statements the names of tables begin with `prefix`, and each question mark stands for a value. In rows, texts that
 * were stored with `name` are what they were before.
 */
export interface Tables<Text extends Value> {
  readonly prefix: string;
  readonly cells: Cells<Text>;
  /** Goes after a table and names the index to use, where the planner needs that. */
  by(index: string): string;
  /** How a text that is looked for as it is stands in its column. */
  name(text: string): string;
  /** The rows of a statement that only reads, as `use` returns them. */
  read<Row, T>(text: string, values: readonly Value[], use: (row: Row) => T): Promise<T[]>;
  /** A statement that may be run twice. */
  write<Row>(text: string, values: readonly Value[]): Promise<Row[]>;
  /** One that writes cells, for the values of each row. `rows` is called in its transaction. */
  writeCells(text: string, rows: () => readonly (readonly Value[])[]): Promise<void>;
}
