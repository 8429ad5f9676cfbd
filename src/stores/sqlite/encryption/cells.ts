/** Texts in columns of SQLite, where each value has a type of its own: encrypted ones are bytes. */
import type { Encoding, Cells as Of } from '../../shared/encryption/cells.ts';

/** A text in its column; encrypted, it is bytes. */
export type Stored = string | Uint8Array;

export type Cells = Of<Stored>;

/** As which texts that are looked for as they are stand in their columns. */
export function name(text: string): string {
  return text;
}

export const blobs: Encoding<Stored> = {
  plain: name,
  sealed: (bytes) => bytes,
  bytesOf: (stored) => (typeof stored === 'string' ? undefined : stored),
};
