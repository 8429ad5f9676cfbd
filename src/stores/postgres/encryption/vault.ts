/**
 * The encryption of a Postgres database. `encryption` contains the record in one row once encryption was turned on.
 *
 * Every transaction that writes values compares the revision of the record under a lock on `commits`, which each insert
 * there takes anyway. A change of the record takes a lock that excludes all of them briefly. So nobody writes with an
 * older key after the commit that introduces a new one. Postgres takes the snapshot of a statement after its locks.
 */
import { runtime } from '../../../runtime/runtime.ts';
import { Cells, lookupSecret } from '../../shared/encryption/cells.ts';
import { type Keys, keyBytes } from '../../shared/encryption/keys.ts';
import { type EncryptionRecord, introduced, readRecord } from '../../shared/encryption/record.ts';
import { secretColumn } from '../../shared/secrets.ts';
import type { Connections, Sent, Transaction } from '../connections/pool.ts';
import { marked, name } from './cells.ts';

/** Part of a migration. */
export const encryptionTable = `
  create table encryption (revision text not null, record text not null);
  create unique index encryption_is_one_row on encryption ((true));
`;

/** An SQL expression for the current revision. */
export function revisionIn(schema: string): string {
  return `coalesce((select revision from ${schema}.encryption), '')`;
}

interface Parts {
  readonly connections: Connections;
  readonly schema: string;
  readonly keys: Keys | undefined;
  readonly place: string;
}

export class Vault extends Cells<string> {
  readonly #parts: Parts;
  #lookup: Uint8Array | null = null;

  constructor(parts: Parts) {
    super(parts.keys, parts.place, marked);
    this.#parts = parts;
  }

  /** Adds the current key to the record, if it is new to the store. Throws without the right keys. */
  async open(): Promise<void> {
    const { connections, schema, keys } = this.#parts;
    await this.#refresh(connections);
    if (!keys || !introduced(this.record, keys, false)) return;
    await this.change(async (record, transaction) =>
      introduced(record, keys, await isUnused(transaction, schema)),
    );
  }

  /** Runs a transaction that writes values. The record cannot change until it ends. */
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

  /** Changes the record in a transaction that excludes all writers of values. */
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

  #opening(lock: string): string {
    const { schema } = this.#parts;
    return `
      begin isolation level read committed;
      lock table ${schema}.commits in ${lock} mode;
      select ${revisionIn(schema)} as revision`;
  }

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

/** True for a database without values. */
async function isUnused(transaction: Transaction, schema: string): Promise<boolean> {
  const tables = ['tasks', 'commits', 'secrets', 'sessions', 'audit'];
  const some = tables.map((table) => `exists (select 1 from ${schema}.${table})`).join(' or ');
  const [row] = await transaction.query<{ used: boolean }>(`select ${some} as used`);
  return !row!.used;
}
