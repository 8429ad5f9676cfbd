/**
 * Encodes texts for SQLite columns. There each value has its own type: plain text is a string, an encrypted value a
 * blob.
 */
import type { Encoding, Cells as Of } from '../../shared/encryption/cells.ts';

/** A value of a text column; bytes if it is encrypted. */
export type Stored = string | Uint8Array;

export type Cells = Of<Stored>;

/** Encodes a name, such as an id or an owner. SQLite stores it unchanged. */
export function name(text: string): string {
  return text;
}

export const blobs: Encoding<Stored> = {
  plain: name,
  sealed: (bytes) => bytes,
  bytesOf: (stored) => (typeof stored === 'string' ? undefined : stored),
};
