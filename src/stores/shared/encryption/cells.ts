/**
 * How texts stand in their columns: as they are, or encrypted, as the store's record of its encryption demands.
 * Everything that a peer or a handler said goes through here.
 */
import { createHmac } from 'node:crypto';
import type { IdempotencyScope } from '../../../ports/store.ts';
import { StoreError } from '../../../ports/store-errors.ts';
import { Corrupt } from '../corrupt.ts';
import { secretColumn } from '../secrets.ts';
import { type Cipher, KeyMissing, keyIdOf } from './cipher.ts';
import { type Keys, keyBytes } from './keys.ts';
import { type EncryptionRecord, notEncrypted, unlock } from './record.ts';

/** The name of the secret under which idempotency keys are hashed; it outlives every key. */
export const lookupSecret = 'idempotency keys';

/** How a database tells encrypted values from plain ones in the same column. */
export interface Encoding<Text> {
  /** A text that is looked for as it is. */
  plain(text: string): Text;
  sealed(bytes: Uint8Array): Text;
  /** None of a plain text. */
  bytesOf(stored: Text): Uint8Array | undefined;
}

/** `Text` is what a column of text may hold. */
export abstract class Cells<Text> {
  /** With keys, a value can be read only by who knows whose it is. */
  readonly keys: Keys | undefined;
  readonly #place: string;
  readonly #encoding: Encoding<Text>;
  #record = notEncrypted;
  #cipher: Cipher | undefined;
  #lookup: Uint8Array | undefined;

  constructor(keys: Keys | undefined, place: string, encoding: Encoding<Text>) {
    this.keys = keys;
    this.#place = place;
    this.#encoding = encoding;
  }

  /** As far as this process knows. Who writes makes sure of it first. */
  get record(): EncryptionRecord {
    return this.#record;
  }

  /** Throws if this process has not the keys for it. */
  adopt(record: EncryptionRecord): void {
    this.#cipher = unlock(record, this.keys, this.#place);
    this.#record = record;
    this.#lookup = undefined;
  }

  write(text: string, column: string, id: string, version?: number): Text {
    const { newest } = this.#record;
    if (newest === null) return text as Text;
    return this.#encoding.sealed(this.#cipher!.seal(newest, text, placeOf(column, id, version)));
  }

  read(stored: Text, column: string, id: string, version?: number): string {
    const bytes = this.#encoding.bytesOf(stored);
    if (bytes) return this.#open(bytes, placeOf(column, id, version)).toString();
    this.#expectPlain(column, id);
    return stored as string;
  }

  writeBytes(bytes: Uint8Array, column: string, id: string): Uint8Array {
    const { newest } = this.#record;
    return newest === null ? bytes : this.#cipher!.seal(newest, bytes, placeOf(column, id));
  }

  readBytes(stored: Uint8Array, column: string, id: string): Uint8Array {
    if (stored.byteLength !== keyBytes) return new Uint8Array(this.#open(stored, placeOf(column, id)));
    this.#expectPlain(column, id);
    return stored;
  }

  /** What stands for an idempotency key in its column. */
  keyOf(scope: IdempotencyScope): Text {
    return this.#record.newest === null ? this.#encoding.plain(scope.key) : this.#hashed(scope);
  }

  /** All that may stand for it, while a database is being rewritten. */
  keysOf(scope: IdempotencyScope): readonly Text[] {
    const { keys, isMixed } = this.#record;
    if (keys.length === 0) return [this.#encoding.plain(scope.key)];
    return isMixed ? [this.#hashed(scope), this.#encoding.plain(scope.key)] : [this.#hashed(scope)];
  }

  /** The id of the key that a text is encrypted with; null if it is plain. */
  keyIdIn(stored: Text): string | null {
    const bytes = this.#encoding.bytesOf(stored);
    return bytes === undefined ? null : keyIdOf(bytes);
  }

  isHashed(idempotencyKey: Text): boolean {
    return this.#encoding.bytesOf(idempotencyKey) !== undefined;
  }

  /** The secret for idempotency keys as it is stored. */
  protected abstract readLookup(): Uint8Array | undefined;

  /** Adopts the record as it is now, where that can be read without waiting; false if there is no way to do so. */
  protected refresh(): boolean {
    return false;
  }

  #open(sealed: Uint8Array, place: string): Buffer {
    try {
      if (this.#cipher) return this.#cipher.open(sealed, place);
    } catch (error) {
      if (!(error instanceof KeyMissing)) throw error;
    }
    const id = keyIdOf(sealed);
    if (this.refresh())
      throw new Corrupt(`an encrypted value names key ${id}, which the store does not know`);
    throw new StoreError(
      'STORE_NOT_UNLOCKED',
      this.#place,
      `key ${id} is missing: a value is encrypted with it`,
      'Add it to the keys of this process and restart it. If there is no such key, the value is damaged.',
    );
  }

  /** Plain text where none may be is a forgery. */
  #expectPlain(column: string, id: string): void {
    if (this.#record.isMixed || (this.refresh() && this.#record.isMixed)) return;
    throw new Corrupt(`a value that must be encrypted is not (${placeOf(column, id)})`);
  }

  #hashed({ owner, tool, key }: IdempotencyScope): Text {
    if (!this.#lookup) {
      const stored = this.readLookup();
      if (!stored) throw new Corrupt('the secret for idempotency keys is missing');
      this.#lookup = this.readBytes(stored, secretColumn, lookupSecret);
    }
    const hash = createHmac('sha256', this.#lookup)
      .update(JSON.stringify([owner, tool, key]))
      .digest();
    return this.#encoding.sealed(hash);
  }
}

function placeOf(column: string, id: string, version?: number): string {
  return version === undefined ? `${column}/${id}` : `${column}/${id}/${version}`;
}
