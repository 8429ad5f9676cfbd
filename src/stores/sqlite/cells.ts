/** Texts in columns of SQLite, where each value has a type of its own: encrypted ones are bytes. */
import type { Encoding, Cells as Of } from '../values/cells.ts';

/** A text in its column; encrypted, it is bytes. */
export type Stored = string | Uint8Array;

export type Cells = Of<Stored>;

export const blobs: Encoding<Stored> = {
  plain: (text) => text,
  sealed: (bytes) => bytes,
  bytesOf: (stored) => (typeof stored === 'string' ? undefined : stored),
};
