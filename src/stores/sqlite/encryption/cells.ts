/** Text columns of SQLite, where each value has its own type: encrypted values are blobs. */
import type { Encoding, Cells as Of } from '../../shared/encryption/cells.ts';

/** A value of a text column; bytes if it is encrypted. */
export type Stored = string | Uint8Array;

export type Cells = Of<Stored>;

/** SQLite stores ids, owners and other names unchanged. */
export function name(text: string): string {
  return text;
}

export const blobs: Encoding<Stored> = {
  plain: name,
  sealed: (bytes) => bytes,
  bytesOf: (stored) => (typeof stored === 'string' ? undefined : stored),
};
