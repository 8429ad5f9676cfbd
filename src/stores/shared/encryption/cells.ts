/**
 * Encodes texts for their columns: plain, or encrypted, as the store's encryption record requires. All data of peers
 * and handlers goes through here.
 */
import { createHmac } from 'node:crypto';
import type { IdempotencyScope } from '../../../ports/store.ts';
import { StoreError } from '../../../ports/store-errors.ts';
import { Corrupt } from '../corrupt.ts';
import { secretColumn } from '../secrets.ts';
import { type Cipher, KeyMissing, keyIdOf } from './cipher.ts';
import { type Keys, keyBytes } from './keys.ts';
import { type EncryptionRecord, notEncrypted, unlock } from './record.ts';

/** The name of the secret that hashes idempotency keys. The secret stays the same when encryption keys rotate. */
export const lookupSecret = 'idempotency keys';

/** How a database distinguishes encrypted values from plain ones in the same column. */
export interface Encoding<Text> {
  /** Encodes a plain text that SQL compares as it is. */
  plain(text: string): Text;
  /** Encodes an encrypted value or a hash. */
  sealed(bytes: Uint8Array): Text;
  /** The bytes that `sealed` encoded; undefined for plain text. */
  bytesOf(stored: Text): Uint8Array | undefined;
}

/**
 * Encrypts and decrypts values. Each value is bound to its location: the name of its column, and the id (and version)
 * of its row. `Text` is the type of a text column.
 */
export abstract class Cells<Text> {
  /** Undefined if this process has no keys. Then it can use only a store without encrypted values. */
  readonly keys: Keys | undefined;
  /** The location of the database, for messages. */
  readonly #database: string;
  readonly #encoding: Encoding<Text>;
  #record = notEncrypted;
  #cipher: Cipher | undefined;
  /** The decrypted secret for idempotency keys; read when it is first needed. */
  #lookup: Uint8Array | undefined;

  constructor(keys: Keys | undefined, database: string, encoding: Encoding<Text>) {
    this.keys = keys;
    this.#database = database;
    this.#encoding = encoding;
  }

  /** The last record that this process has read. Writers refresh it first. */
  get record(): EncryptionRecord {
    return this.#record;
  }

  /** Uses this record from now on. Throws if this process lacks keys of the record. */
  adopt(record: EncryptionRecord): void {
    this.#cipher = unlock(record, this.keys, this.#database);
    this.#record = record;
    this.#lookup = undefined;
  }

  /** Encrypts a text with the newest key, if the record has one. */
  write(text: string, column: string, id: string, version?: number): Text {
    const { newest } = this.#record;
    if (newest === null) return text as Text;
    return this.#encoding.sealed(this.#cipher!.seal(newest, text, locationOf(column, id, version)));
  }

  /** Decrypts a value. Throws `Corrupt` if it was modified or moved, or is plain text but must not be. */
  read(stored: Text, column: string, id: string, version?: number): string {
    const bytes = this.#encoding.bytesOf(stored);
    if (bytes) return this.#open(bytes, locationOf(column, id, version)).toString();
    this.#expectPlain(column, id);
    return stored as string;
  }

  /** Like `write`, for secrets of `keyBytes` bytes. */
  writeBytes(bytes: Uint8Array, column: string, id: string): Uint8Array {
    const { newest } = this.#record;
    return newest === null ? bytes : this.#cipher!.seal(newest, bytes, locationOf(column, id));
  }

  /** Like `read`, for secrets. They have a fixed length, and encrypted ones are longer. */
  readBytes(stored: Uint8Array, column: string, id: string): Uint8Array {
    if (stored.byteLength !== keyBytes) return new Uint8Array(this.#open(stored, locationOf(column, id)));
    this.#expectPlain(column, id);
    return stored;
  }

  /** An idempotency key as stored in its column: hashed if the store is encrypted. */
  keyOf(scope: IdempotencyScope): Text {
    return this.#record.newest === null ? this.#encoding.plain(scope.key) : this.#hashed(scope);
  }

  /** All forms in which the column may contain the key; there are two while values are re-encrypted. */
  keysOf(scope: IdempotencyScope): readonly Text[] {
    const { keys, isMixed } = this.#record;
    if (keys.length === 0) return [this.#encoding.plain(scope.key)];
    return isMixed ? [this.#hashed(scope), this.#encoding.plain(scope.key)] : [this.#hashed(scope)];
  }

  /** The id of the key that encrypts a value; null for plain text. Throws `Corrupt` if it is not readable. */
  keyIdIn(stored: Text): string | null {
    const bytes = this.#encoding.bytesOf(stored);
    return bytes === undefined ? null : keyIdOf(bytes);
  }

  /** Whether a stored idempotency key is a hash. */
  isHashed(idempotencyKey: Text): boolean {
    return this.#encoding.bytesOf(idempotencyKey) !== undefined;
  }

  /** The stored secret for idempotency keys, perhaps encrypted; undefined if there is none. */
  protected abstract readLookup(): Uint8Array | undefined;

  /** Reads the current record and returns true, or returns false if that is not possible synchronously. */
  protected refresh(): boolean {
    return false;
  }

  #open(sealed: Uint8Array, location: string): Buffer {
    try {
      if (this.#cipher) return this.#cipher.open(sealed, location);
    } catch (error) {
      if (!(error instanceof KeyMissing)) throw error;
    }
    const id = keyIdOf(sealed);
    // With the current record, this process has all keys of the store.
    if (this.refresh())
      throw new Corrupt(`a value is encrypted with key ${id}, which is not in the encryption record`);
    throw new StoreError(
      'STORE_NOT_UNLOCKED',
      this.#database,
      `key ${id} is missing: a value is encrypted with it`,
      'Add it to the keys of this process and restart it. If this key never existed, the value is damaged.',
    );
  }

  /** Throws if the store is fully encrypted: plain text there is a forgery. */
  #expectPlain(column: string, id: string): void {
    if (this.#record.isMixed || (this.refresh() && this.#record.isMixed)) return;
    throw new Corrupt(`a value is plain text but must be encrypted (${locationOf(column, id)})`);
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

/** The location that is authenticated with a value. Stored values depend on this format. */
function locationOf(column: string, id: string, version?: number): string {
  return version === undefined ? `${column}/${id}` : `${column}/${id}/${version}`;
}
