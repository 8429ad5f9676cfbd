/** Texts in columns of SQLite, where each value has a type of its own: encrypted ones are bytes. */
import { StoreNotUnlocked } from '../../engine/store-errors.ts';
import type { Encoding, Cells as Of } from '../values/cells.ts';
import { Damaged } from '../values/damaged.ts';
import { keyBytes } from '../values/keys.ts';

/** A text in its column; encrypted, it is bytes. */
export type Stored = string | Uint8Array;

export type Cells = Of<Stored>;

export const blobs: Encoding<Stored> = {
  plain: (text) => text,
  sealed: (bytes) => bytes,
  bytesOf: (stored) => (typeof stored === 'string' ? undefined : stored),
};

/** `isEncrypted` is asked only when a value is met that cannot be read: it may as well be damaged. */
export function plainCells(file: string, isEncrypted: () => boolean): Cells {
  const refuse = (): never => {
    if (!isEncrypted()) throw new Damaged('a stored value is not readable');
    throw new StoreNotUnlocked(
      file,
      'another process has switched encryption on',
      'Restart this process with the keys as the option `encryption`.',
    );
  };
  return {
    areBound: false,
    write: (text) => text,
    read: (stored) => (typeof stored === 'string' ? stored : refuse()),
    writeBytes: (bytes) => bytes,
    readBytes: (stored) => (stored.byteLength === keyBytes ? stored : refuse()),
    keyOf: ({ key }) => key,
    keysOf: ({ key }) => [key],
  };
}
