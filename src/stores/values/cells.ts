/** How texts stand in their columns: as they are, or encrypted. Everything that a peer or a handler said goes through here. */
import type { IdempotencyScope } from '../../engine/store.ts';

/** `Text` is what a column of text may hold. */
export interface Cells<Text> {
  /** Whether a value can be read only by who knows whose it is. */
  readonly areBound: boolean;
  write(text: string, column: string, id: string, version?: number): Text;
  read(stored: Text, column: string, id: string, version?: number): string;
  writeBytes(bytes: Uint8Array, column: string, id: string): Uint8Array;
  readBytes(stored: Uint8Array, column: string, id: string): Uint8Array;
  /** What stands for an idempotency key in its column. */
  keyOf(scope: IdempotencyScope): Text;
  /** All that may stand for it, while a database is being rewritten. */
  keysOf(scope: IdempotencyScope): readonly Text[];
}

/** How a database tells encrypted values from plain ones in the same column. */
export interface Encoding<Text> {
  /** A text that is looked for as it is. */
  plain(text: string): Text;
  sealed(bytes: Uint8Array): Text;
  /** None of a plain text. */
  bytesOf(stored: Text): Uint8Array | undefined;
}
