/** Values encrypted in their columns, as one state of a database wants it. What does not fit it throws. */
import { createHmac } from 'node:crypto';
import type { IdempotencyScope } from '../../engine/store.ts';
import type { Cells, Encoding } from './cells.ts';
import type { Cipher } from './cipher.ts';
import { Damaged } from './damaged.ts';
import type { EncryptionState } from './encryption.ts';
import { keyBytes } from './keys.ts';

export const secretColumn = 'secrets.value';
/** The name of the secret under which idempotency keys are hashed; it outlives every key. */
export const lookupSecret = 'idempotency keys';

export class SealedCells<Text> implements Cells<Text> {
  readonly areBound = true;
  readonly state: EncryptionState;
  readonly cipher: Cipher | undefined;
  readonly #encoding: Encoding<Text>;
  readonly #readLookup: () => Uint8Array;
  readonly #writingKey: string | undefined;
  #lookup: Uint8Array | undefined;

  /** `readLookup` gives the value of the secret for idempotency keys as it is stored. */
  constructor(
    state: EncryptionState,
    cipher: Cipher | undefined,
    { encoding, readLookup }: { encoding: Encoding<Text>; readLookup: () => Uint8Array },
  ) {
    this.state = state;
    this.cipher = cipher;
    this.#encoding = encoding;
    this.#readLookup = readLookup;
    const { mode } = state;
    this.#writingKey = mode === 'plain' || mode === 'decrypting' ? undefined : state.keys.at(-1)!.id;
  }

  write(text: string, column: string, id: string, version?: number): Text {
    if (this.#writingKey === undefined) return text as Text;
    const sealed = this.cipher!.seal(this.#writingKey, text, placeOf(column, id, version));
    return this.#encoding.sealed(sealed);
  }

  read(stored: Text, column: string, id: string, version?: number): string {
    const bytes = this.#encoding.bytesOf(stored);
    if (bytes) return this.#open(bytes, placeOf(column, id, version)).toString();
    this.#expectPlain(column, id);
    return stored as string;
  }

  writeBytes(bytes: Uint8Array, column: string, id: string): Uint8Array {
    if (this.#writingKey === undefined) return bytes;
    return this.cipher!.seal(this.#writingKey, bytes, placeOf(column, id));
  }

  readBytes(stored: Uint8Array, column: string, id: string): Uint8Array {
    if (stored.byteLength !== keyBytes) return new Uint8Array(this.#open(stored, placeOf(column, id)));
    this.#expectPlain(column, id);
    return stored;
  }

  keyOf(scope: IdempotencyScope): Text {
    return this.#writingKey === undefined ? this.#encoding.plain(scope.key) : this.#hashed(scope);
  }

  keysOf(scope: IdempotencyScope): readonly Text[] {
    const { mode } = this.state;
    if (mode === 'plain') return [this.#encoding.plain(scope.key)];
    const hashed = this.#hashed(scope);
    return mode === 'encrypted' ? [hashed] : [hashed, this.#encoding.plain(scope.key)];
  }

  get writesPlain(): boolean {
    return this.#writingKey === undefined;
  }

  /** True of an idempotency key that is as it would be written now. */
  isKeyAsWritten(stored: Text): boolean {
    return (this.#encoding.bytesOf(stored) === undefined) === this.writesPlain;
  }

  /** True of a text that is as it would be written now. */
  isAsWritten(stored: Text): boolean {
    const bytes = this.#encoding.bytesOf(stored);
    if (this.#writingKey === undefined) return bytes === undefined;
    return bytes !== undefined && this.cipher!.isUnder(this.#writingKey, bytes);
  }

  #open(sealed: Uint8Array, place: string): Buffer {
    if (!this.cipher) throw new Damaged(`a value is encrypted in a database that is not (${place})`);
    return this.cipher.open(sealed, place);
  }

  /** Plain text where none may be is not ours. */
  #expectPlain(column: string, id: string): void {
    if (this.state.mode === 'encrypted')
      throw new Damaged(`a value that must be encrypted is not (${placeOf(column, id)})`);
  }

  #hashed({ owner, tool, key }: IdempotencyScope): Text {
    this.#lookup ??= this.readBytes(this.#readLookup(), secretColumn, lookupSecret);
    const hash = createHmac('sha256', this.#lookup)
      .update(JSON.stringify([owner, tool, key]))
      .digest();
    return this.#encoding.sealed(hash);
  }
}

function placeOf(column: string, id: string, version?: number): string {
  return version === undefined ? `${column}/${id}` : `${column}/${id}/${version}`;
}
