/**
 * Values as the database says that they are written now: as they are, or under which key. Every transaction that writes
 * any goes through here, and what was read before another process changed the manner is read again after a look.
 */
import type { IdempotencyScope } from '../../engine/store.ts';
import { runtime } from '../../model/runtime.ts';
import { KeyMissing } from '../values/cipher.ts';
import { Damaged } from '../values/damaged.ts';
import { begun, type EncryptionState, unlock } from '../values/encryption.ts';
import { type Keys, keyBytes } from '../values/keys.ts';
import { lookupSecret, SealedCells, secretColumn } from '../values/sealed-cells.ts';
import { type Cells, marked, name, plainCells } from './cells.ts';
import { changingManner, type Encrypted, readEncryption, writeEncryption, writing } from './encryption.ts';
import type { Connections, Sent, Transaction } from './pool.ts';

/** The manner may change while something is read, hardly more often. */
const reads = 5;

interface Parts {
  readonly connections: Connections;
  readonly schema: string;
  readonly keys: Keys | undefined;
  readonly place: string;
}

export class Vault implements Cells {
  readonly areBound = true;
  readonly #parts: Parts;
  readonly #writing: string;
  #manner = -1;
  #cells: Cells;
  #onUnfinished: () => void = () => {};

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#writing = writing(parts.schema);
    this.#cells = plainCells(parts.place);
  }

  /** Does what the caller wishes: switches encryption on or off, or begins a new key. Refuses without the right keys. */
  async open(): Promise<void> {
    const { connections, schema, keys, place } = this.#parts;
    await this.#lookAnew();
    if (!keys) return;
    const wish = (found: Encrypted, isNew: boolean) =>
      begun(found.state, keys, { known: found.known, isNew });
    if (!wish(await readEncryption(connections, schema), false)) return;
    await this.changeManner(async (transaction, found) => {
      unlock(found.state, keys, place);
      return wish(found, await isUnused(transaction, schema));
    });
  }

  /** Calls back whenever a look finds that values are still to be rewritten; whoever began that may be gone. */
  onUnfinished(listener: () => void): void {
    this.#onUnfinished = listener;
  }

  /** How often the manner had changed in which values are written now. */
  get manner(): number {
    return this.#manner;
  }

  /** The cells, if values may be encrypted. */
  get sealed(): SealedCells<string> | undefined {
    return this.#cells instanceof SealedCells ? this.#cells : undefined;
  }

  /** A transaction that writes values: until it ends, the manner in which they are written stays. */
  transact<T>(
    work: (transaction: Transaction) => Promise<T>,
    connections = this.#parts.connections,
    first?: () => readonly Sent[],
  ): Promise<T> {
    const { schema } = this.#parts;
    return connections.transact(
      async (transaction) => {
        if (transaction.manner !== this.#manner) {
          // Nobody changes it now. So if it is an older one, the server was replaced by another that is behind.
          const found = await readEncryption(transaction, schema);
          this.#manner = -1;
          this.#adopt(found);
        }
        return work(transaction);
      },
      this.#writing,
      first,
    );
  }

  /** A transaction beside which nobody writes values. What `decide` gives holds from its end on; nothing changes nothing. */
  async changeManner(
    decide: (transaction: Transaction, found: Encrypted) => Promise<EncryptionState | undefined>,
  ): Promise<void> {
    const { connections, schema } = this.#parts;
    await connections.transact(async (transaction) => {
      const found = await readEncryption(transaction, schema);
      const state = await decide(transaction, found);
      if (!state) return;
      await writeEncryption(transaction, schema, state);
      if (state.mode === 'plain') await this.#forgetLookupSecret(transaction);
      else if (found.lookup === null) await this.#makeLookupSecret(transaction, state);
    }, changingManner(schema));
    await this.#lookAnew();
  }

  /** What was written in a manner that this process has not heard of is read again, once it has. */
  async reading<T>(read: () => T | Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const manner = this.#manner;
      try {
        return await read();
      } catch (error) {
        if (!(error instanceof KeyMissing || error instanceof Damaged)) throw error;
        await this.#lookAnew(); // Names the key that is missing, if the database says that it is in use.
        if (this.#manner === manner || tries === reads)
          throw error instanceof Damaged
            ? error
            : new Damaged('an encrypted value names a key that the database does not know');
      }
    }
  }

  write(text: string, column: string, id: string, version?: number): string {
    return this.#cells.write(text, column, id, version);
  }

  read(stored: string, column: string, id: string, version?: number): string {
    return this.#cells.read(stored, column, id, version);
  }

  writeBytes(bytes: Uint8Array, column: string, id: string): Uint8Array {
    return this.#cells.writeBytes(bytes, column, id);
  }

  readBytes(stored: Uint8Array, column: string, id: string): Uint8Array {
    return this.#cells.readBytes(stored, column, id);
  }

  keyOf(scope: IdempotencyScope): string {
    return this.#cells.keyOf(scope);
  }

  keysOf(scope: IdempotencyScope): readonly string[] {
    return this.#cells.keysOf(scope);
  }

  async #lookAnew(): Promise<void> {
    const { connections, schema } = this.#parts;
    this.#adopt(await readEncryption(connections, schema));
  }

  /** Looks that began earlier may end later. */
  #adopt(found: Encrypted): void {
    const { keys, place } = this.#parts;
    if (found.manner < this.#manner) return;
    const cipher = unlock(found.state, keys, place);
    if (keys) this.#cells = cellsOf(found.state, cipher, found.lookup);
    this.#manner = found.manner;
    if (found.state.stage !== null) this.#onUnfinished();
  }

  async #makeLookupSecret(transaction: Transaction, state: EncryptionState): Promise<void> {
    const { schema, keys, place } = this.#parts;
    const cells = cellsOf(state, unlock(state, keys, place), null);
    await transaction.query(`insert into ${schema}.secrets (name, value) values ($1, $2)`, [
      name(lookupSecret),
      cells.writeBytes(runtime.randomBytes(keyBytes), secretColumn, lookupSecret),
    ]);
  }

  /** Once it has stood there as plain text it is no secret any more: the next time gets a new one. */
  async #forgetLookupSecret(transaction: Transaction): Promise<void> {
    await transaction.query(`delete from ${this.#parts.schema}.secrets where name = $1`, [
      name(lookupSecret),
    ]);
  }
}

function cellsOf(
  state: EncryptionState,
  cipher: ReturnType<typeof unlock>,
  lookup: Uint8Array | null,
): SealedCells<string> {
  const readLookup = () => {
    if (!lookup) throw new Damaged('the secret for idempotency keys is missing');
    return lookup;
  };
  return new SealedCells(state, cipher, { encoding: marked, readLookup });
}

/** True of a database in which nothing stands. */
async function isUnused(transaction: Transaction, schema: string): Promise<boolean> {
  const tables = ['tasks', 'commits', 'secrets', 'sessions', 'audit'];
  const some = tables.map((table) => `exists (select 1 from ${schema}.${table})`).join(' or ');
  const [row] = await transaction.query<{ used: boolean }>(`select ${some} as used`);
  return !row!.used;
}
