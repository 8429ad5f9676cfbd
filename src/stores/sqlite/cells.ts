/** How texts stand in their columns: as they are, or encrypted. Everything that a peer or a handler said goes through here. */

import type { IdempotencyScope } from '../../engine/store.ts';
import { StoreNotUnlocked } from '../../engine/store-errors.ts';
import { keyBytes } from './keys.ts';

/** A text in its column; encrypted, it is bytes. */
export type Stored = string | Uint8Array;

export interface Cells {
  /** Whether a value can be read only by who knows whose it is. */
  readonly areBound: boolean;
  write(text: string, column: string, id: string, version?: number): Stored;
  read(stored: Stored, column: string, id: string, version?: number): string;
  writeBytes(bytes: Uint8Array, column: string, id: string): Uint8Array;
  readBytes(stored: Uint8Array, column: string, id: string): Uint8Array;
  /** What stands for an idempotency key in its column. */
  keyOf(scope: IdempotencyScope): Stored;
  /** All that may stand for it, while a file is being rewritten. */
  keysOf(scope: IdempotencyScope): readonly Stored[];
}

export function plainCells(file: string): Cells {
  return {
    areBound: false,
    write: (text) => text,
    read: (stored) => (typeof stored === 'string' ? stored : refuse(file)),
    writeBytes: (bytes) => bytes,
    readBytes: (stored) => (stored.byteLength === keyBytes ? stored : refuse(file)),
    keyOf: ({ key }) => key,
    keysOf: ({ key }) => [key],
  };
}

function refuse(file: string): never {
  throw new StoreNotUnlocked(
    file,
    'another process has switched encryption on',
    'Restart this process with the keys as the option `encryption`.',
  );
}
