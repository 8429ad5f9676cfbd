/** Values encrypted in their columns, under the keys that the file says. */
import { createHmac, randomBytes } from 'node:crypto';
import type { IdempotencyScope } from '../../engine/store.ts';
import type { Cells, Stored } from './cells.ts';
import { type Cipher, KeyMissing } from './cipher.ts';
import { type Connection, Damaged } from './driver.ts';
import { type EncryptionState, readEncryption, unlock } from './encryption.ts';
import { type Keys, keyBytes } from './keys.ts';

const secretColumn = 'secrets.value';
/** The name of the secret under which idempotency keys are hashed; it outlives every key. */
const lookupSecret = 'idempotency keys';

export class Vault implements Cells {
  readonly areBound = true;
  readonly #db: Connection;
  readonly #keys: Keys;
  readonly #file: string;
  #state!: EncryptionState;
  #cipher: Cipher | undefined;
  #writingKey: string | undefined;
  #lookup: Uint8Array | undefined;

  constructor(db: Connection, keys: Keys, file: string) {
    this.#db = db;
    this.#keys = keys;
    this.#file = file;
    this.refresh();
  }

  get state(): EncryptionState {
    return this.#state;
  }

  get cipher(): Cipher | undefined {
    return this.#cipher;
  }

  /** Reads anew what the file says of its encryption. Throws if it can no longer be read with the keys given. */
  refresh(): void {
    const state = readEncryption(this.#db);
    this.#cipher = unlock(state, this.#keys, this.#file);
    this.#state = state;
    this.#writingKey = writesPlain(state) ? undefined : state.keys.at(-1)!.id;
    this.#lookup = undefined;
  }

  write(text: string, column: string, id: string, version?: number): Stored {
    if (this.#writingKey === undefined) return text;
    return this.#cipher!.seal(this.#writingKey, text, placeOf(column, id, version));
  }

  read(stored: Stored, column: string, id: string, version?: number): string {
    if (typeof stored !== 'string') return this.#open(stored, placeOf(column, id, version)).toString();
    this.#expectPlain(column, id);
    return stored;
  }

  writeBytes(bytes: Uint8Array, column: string, id: string): Uint8Array {
    if (this.#writingKey === undefined) return bytes;
    return this.#cipher!.seal(this.#writingKey, bytes, placeOf(column, id));
  }

  readBytes(stored: Uint8Array, column: string, id: string): Uint8Array {
    if (stored.byteLength !== keyBytes) return new Uint8Array(this.#open(stored, placeOf(column, id)));
    this.#expectPlain(column, id);
    return stored;
  }

  keyOf(scope: IdempotencyScope): Stored {
    return this.#writingKey === undefined ? scope.key : this.#hashed(scope);
  }

  keysOf(scope: IdempotencyScope): readonly Stored[] {
    switch (this.#state.mode) {
      case 'plain':
        return [scope.key];
      case 'encrypted':
        return [this.#hashed(scope)];
      default:
        return [this.#hashed(scope), scope.key];
    }
  }

  get writesPlain(): boolean {
    return this.#writingKey === undefined;
  }

  /** True of a text that is as it would be written now. */
  isAsWritten(stored: Stored): boolean {
    if (this.#writingKey === undefined) return typeof stored === 'string';
    return typeof stored !== 'string' && this.#cipher!.isUnder(this.#writingKey, stored);
  }

  /** Inside a transaction. */
  makeLookupSecret(): void {
    this.#db
      .prepare('insert or ignore into secrets (name, value) values (?, ?)')
      .run(lookupSecret, this.writeBytes(randomBytes(keyBytes), secretColumn, lookupSecret));
  }

  /** Once it has stood there as plain text it is no secret any more: the next time gets a new one. Inside a transaction. */
  forgetLookupSecret(): void {
    this.#db.prepare('delete from secrets where name = ?').run(lookupSecret);
  }

  #open(sealed: Uint8Array, place: string): Buffer {
    const { salt } = this.#state;
    try {
      if (this.#cipher) return this.#cipher.open(sealed, place);
    } catch (error) {
      if (!(error instanceof KeyMissing || error instanceof Damaged)) throw error;
      this.refresh(); // Names the key that is missing, if the file says that it is in use.
      if (this.#state.mode !== 'plain' && Buffer.compare(salt, this.#state.salt) === 0)
        throw error instanceof Damaged
          ? error
          : new Damaged(`an encrypted value names a key that the file does not know (${place})`);
    }
    // Another process may have switched encryption on, or off and on again, since we last looked.
    this.refresh();
    if (!this.#cipher) throw new Damaged(`a value is encrypted in a file that is not (${place})`);
    return this.#cipher.open(sealed, place);
  }

  /** Plain text where none may be is not ours. Another process may have begun to write it since we last looked. */
  #expectPlain(column: string, id: string): void {
    if (this.#state.mode !== 'encrypted') return;
    this.refresh();
    if (this.#state.mode === 'encrypted')
      throw new Damaged(`a value that must be encrypted is not (${placeOf(column, id)})`);
  }

  #hashed({ owner, tool, key }: IdempotencyScope): Uint8Array {
    this.#lookup ??= this.#readLookup();
    return createHmac('sha256', this.#lookup)
      .update(JSON.stringify([owner, tool, key]))
      .digest();
  }

  #readLookup(): Uint8Array {
    const row = this.#db.prepare('select value from secrets where name = ?').get(lookupSecret);
    if (!row) throw new Damaged('the secret for idempotency keys is missing');
    return this.readBytes(row.value as Uint8Array, secretColumn, lookupSecret);
  }
}

function writesPlain({ mode }: EncryptionState): boolean {
  return mode === 'plain' || mode === 'decrypting';
}

function placeOf(column: string, id: string, version?: number): string {
  return version === undefined ? `${column}/${id}` : `${column}/${id}/${version}`;
}
