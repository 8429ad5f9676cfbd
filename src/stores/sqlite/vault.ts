/** Values encrypted in their columns, under the keys that the file says. */
import type { IdempotencyScope } from '../../engine/store.ts';
import { runtime } from '../../model/runtime.ts';
import { type Cipher, KeyMissing } from '../values/cipher.ts';
import { Damaged } from '../values/damaged.ts';
import { type EncryptionState, unlock } from '../values/encryption.ts';
import { type Keys, keyBytes } from '../values/keys.ts';
import { lookupSecret, SealedCells, secretColumn } from '../values/sealed-cells.ts';
import { blobs, type Cells, type Stored } from './cells.ts';
import type { Connection } from './driver.ts';
import { readEncryption } from './encryption.ts';

export class Vault implements Cells {
  readonly areBound = true;
  readonly #db: Connection;
  readonly #keys: Keys;
  readonly #file: string;
  #cells!: SealedCells<Stored>;

  constructor(db: Connection, keys: Keys, file: string) {
    this.#db = db;
    this.#keys = keys;
    this.#file = file;
    this.refresh();
  }

  get cells(): SealedCells<Stored> {
    return this.#cells;
  }

  get state(): EncryptionState {
    return this.#cells.state;
  }

  get cipher(): Cipher | undefined {
    return this.#cells.cipher;
  }

  get writesPlain(): boolean {
    return this.#cells.writesPlain;
  }

  /** Reads anew what the file says of its encryption. Throws if it can no longer be read with the keys given. */
  refresh(): void {
    const state = readEncryption(this.#db);
    const readLookup = () => this.#readLookup();
    this.#cells = new SealedCells(state, unlock(state, this.#keys, this.#file), {
      encoding: blobs,
      readLookup,
    });
  }

  write(text: string, column: string, id: string, version?: number): Stored {
    return this.#cells.write(text, column, id, version);
  }

  read(stored: Stored, column: string, id: string, version?: number): string {
    try {
      return this.#cells.read(stored, column, id, version);
    } catch (error) {
      return this.#anew(error).read(stored, column, id, version);
    }
  }

  writeBytes(bytes: Uint8Array, column: string, id: string): Uint8Array {
    return this.#cells.writeBytes(bytes, column, id);
  }

  readBytes(stored: Uint8Array, column: string, id: string): Uint8Array {
    try {
      return this.#cells.readBytes(stored, column, id);
    } catch (error) {
      return this.#anew(error).readBytes(stored, column, id);
    }
  }

  keyOf(scope: IdempotencyScope): Stored {
    return this.#cells.keyOf(scope);
  }

  keysOf(scope: IdempotencyScope): readonly Stored[] {
    return this.#cells.keysOf(scope);
  }

  /** Inside a transaction. */
  makeLookupSecret(): void {
    this.#db
      .prepare('insert or ignore into secrets (name, value) values (?, ?)')
      .run(lookupSecret, this.writeBytes(runtime.randomBytes(keyBytes), secretColumn, lookupSecret));
  }

  /** Once it has stood there as plain text it is no secret any more: the next time gets a new one. Inside a transaction. */
  forgetLookupSecret(): void {
    this.#db.prepare('delete from secrets where name = ?').run(lookupSecret);
  }

  /** Another process may have switched encryption on or off, or both, since we last looked. */
  #anew(error: unknown): SealedCells<Stored> {
    if (!(error instanceof KeyMissing || error instanceof Damaged)) throw error;
    const before = this.state;
    this.refresh(); // Names the key that is missing, if the file says that it is in use.
    if (before.mode !== this.state.mode || Buffer.compare(before.salt, this.state.salt) !== 0)
      return this.#cells;
    throw error instanceof Damaged
      ? error
      : new Damaged('an encrypted value names a key that the file does not know');
  }

  #readLookup(): Uint8Array {
    const row = this.#db.prepare('select value from secrets where name = ?').get(lookupSecret);
    if (!row) throw new Damaged('the secret for idempotency keys is missing');
    return row.value as Uint8Array;
  }
}
