/**
 * The encryption of a Postgres database. The table `encryption` is empty until encryption is first turned on; from then
 * on its only row contains the encryption record.
 *
 * Every transaction that writes values holds the `row exclusive` lock on `commits`, which each insert there takes
 * anyway, and compares the revision of the record under it. A change of the record takes the `exclusive` lock, which
 * waits for all such transactions. So no value is encrypted with an older key after the commit that introduces a new
 * one. This also holds for a single statement, because Postgres takes its snapshot after its locks.
 */
import { runtime } from '../../../runtime/runtime.ts';
import { Cells, lookupSecret } from '../../shared/encryption/cells.ts';
import { type Keys, keyBytes } from '../../shared/encryption/keys.ts';
import { type EncryptionRecord, introduced, readRecord } from '../../shared/encryption/record.ts';
import { secretColumn } from '../../shared/secrets.ts';
import type { Connections, Sent, Transaction } from '../connections/pool.ts';
import { marked, name } from './cells.ts';

/** SQL of the first migration. The index on a constant allows only one row. */
export const encryptionTable = `
  create table encryption (revision text not null, record text not null);
  create unique index encryption_is_one_row on encryption ((true));
`;

/** An SQL expression for the current revision of the record; an empty string without a record. */
export function revisionIn(schema: string): string {
  return `coalesce((select revision from ${schema}.encryption), '')`;
}

interface Parts {
  readonly connections: Connections;
  readonly schema: string;
  readonly keys: Keys | undefined;
  /** The URL of the database without its password, for messages. */
  readonly place: string;
}

/** Encrypts and decrypts the values of one database, and changes its encryption record. */
export class Vault extends Cells<string> {
  readonly #parts: Parts;
  /** The secret for idempotency keys as stored, perhaps encrypted; null if the database has none. */
  #lookup: Uint8Array | null = null;

  constructor(parts: Parts) {
    super(parts.keys, parts.place, marked);
    this.#parts = parts;
  }

  /** Reads the record and adds the current key if it is new to the store. Throws without the right keys. */
  async open(): Promise<void> {
    const { connections, schema, keys } = this.#parts;
    await this.#refresh(connections);
    if (!keys || !introduced(this.record, keys, false)) return;
    await this.change(async (record, transaction) =>
      introduced(record, keys, await isUnused(transaction, schema)),
    );
  }

  /**
   * Runs a transaction that writes values. The record cannot change until it ends. `work` may run more than once.
   * `first` are statements that are sent in the same round trip as the opening.
   */
  transact<T>(
    work: (transaction: Transaction) => Promise<T>,
    connections = this.#parts.connections,
    first?: () => readonly Sent[],
  ): Promise<T> {
    return connections.transact(
      async (transaction) => {
        if (transaction.revision !== this.record.revision) await this.#refresh(transaction);
        return work(transaction);
      },
      this.#opening('row exclusive'),
      first,
    );
  }

  /**
   * Changes the record in a transaction that excludes all writers of values. If `decide` returns undefined, the record
   * stays unchanged.
   */
  async change(
    decide: (
      record: EncryptionRecord,
      transaction: Transaction,
    ) => EncryptionRecord | undefined | Promise<EncryptionRecord | undefined>,
  ): Promise<void> {
    const { connections, schema } = this.#parts;
    await connections.transact(async (transaction) => {
      await this.#refresh(transaction);
      const record = await decide(this.record, transaction);
      if (!record) return;
      await transaction.query(`delete from ${schema}.encryption`);
      await transaction.query(`insert into ${schema}.encryption (revision, record) values ($1, $2)`, [
        record.revision,
        JSON.stringify(record),
      ]);
      this.adopt(record);
      await this.#keepLookupSecret(transaction);
    }, this.#opening('exclusive'));
    await this.#refresh(connections);
  }

  protected readLookup(): Uint8Array | undefined {
    return this.#lookup ?? undefined;
  }

  /** Begins a transaction, takes the lock, and only then reads the revision. */
  #opening(lock: string): string {
    const { schema } = this.#parts;
    return `
      begin isolation level read committed;
      lock table ${schema}.commits in ${lock} mode;
      select ${revisionIn(schema)} as revision`;
  }

  /** Reads the record and the stored secret for idempotency keys. */
  async #refresh(source: Pick<Transaction, 'query'>): Promise<void> {
    const { schema } = this.#parts;
    const [row] = await source.query<{ record: string | null; lookup: Uint8Array | null }>(
      {
        name: 'encryption',
        text: `
          select (select record from ${schema}.encryption) as record,
            (select value from ${schema}.secrets where name = $1) as lookup`,
      },
      [name(lookupSecret)],
    );
    const { record, lookup } = row!;
    this.adopt(readRecord(record));
    this.#lookup = lookup;
  }

  /**
   * The secret for idempotency keys exists while the record has keys. Without keys it is deleted, so a secret that was
   * stored as plain text is never reused.
   */
  async #keepLookupSecret(transaction: Transaction): Promise<void> {
    const { schema } = this.#parts;
    if (this.record.keys.length === 0)
      await transaction.query(`delete from ${schema}.secrets where name = $1`, [name(lookupSecret)]);
    else
      await transaction.query(
        `insert into ${schema}.secrets (name, value) values ($1, $2) on conflict do nothing`,
        [name(lookupSecret), this.writeBytes(runtime.randomBytes(keyBytes), secretColumn, lookupSecret)],
      );
  }
}

/** True if no table contains values, so that none can be stored as plain text. */
async function isUnused(transaction: Transaction, schema: string): Promise<boolean> {
  const tables = ['tasks', 'commits', 'secrets', 'sessions', 'audit'];
  const some = tables.map((table) => `exists (select 1 from ${schema}.${table})`).join(' or ');
  const [row] = await transaction.query<{ used: boolean }>(`select ${some} as used`);
  return !row!.used;
}
