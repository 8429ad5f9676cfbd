/**
 * The encryption of a SQLite file. The table `holdfast_encryption` is empty until encryption is turned on; then its
 * only row contains the encryption record. Every write transaction first reads the record again if its revision has
 * changed (`refresh`). SQLite serializes write transactions, so after the commit that introduces a key, no process
 * writes with an older one.
 */
import { runtime } from '../../../runtime/runtime.ts';
import { Cells, lookupSecret } from '../../shared/encryption/cells.ts';
import { type Keys, keyBytes } from '../../shared/encryption/keys.ts';
import { type EncryptionRecord, notEncrypted, readRecord } from '../../shared/encryption/record.ts';
import { secretColumn } from '../../shared/secrets.ts';
import type { Connection } from '../driver.ts';
import { blobs, type Stored } from './cells.ts';

export const encryptionTable = `
  create table if not exists holdfast_encryption (revision text not null, record text not null);
`;

/** Reads the encryption record. Returns `notEncrypted` if there is none, also for a file without tables. */
export function readEncryption(db: Connection): EncryptionRecord {
  const tables = db.prepare("select count(*) as count from sqlite_schema where name = 'holdfast_encryption'");
  if ((tables.get() as { count: number }).count === 0) return notEncrypted;
  const row = db.prepare('select record from holdfast_encryption').get();
  return readRecord(row ? row.record : null);
}

export class Vault extends Cells<Stored> {
  readonly #db: Connection;
  readonly #revision: ReturnType<Connection['prepare']>;

  /** The tables must exist. `file` is named in errors. */
  constructor(db: Connection, keys: Keys | undefined, file: string) {
    super(keys, file, blobs);
    this.#db = db;
    this.#revision = db.prepare('select revision from holdfast_encryption');
    this.adopt(readEncryption(db));
  }

  /**
   * Reads the record again if another process has changed it. Returns true because the record is then always current.
   */
  override refresh(): true {
    const row = this.#revision.get() as { revision: string } | undefined;
    if ((row?.revision ?? '') !== this.record.revision) this.adopt(readEncryption(this.#db));
    return true;
  }

  /** Replaces the record with the one that `decide` returns, if any. Call it inside a write transaction. */
  change(decide: (record: EncryptionRecord) => EncryptionRecord | undefined): void {
    this.refresh();
    const record = decide(this.record);
    if (!record) return;
    this.#db.exec('delete from holdfast_encryption');
    const insert = this.#db.prepare('insert into holdfast_encryption (revision, record) values (?, ?)');
    insert.run(record.revision, JSON.stringify(record));
    this.adopt(record);
  }

  /**
   * Creates the secret that hashes idempotency keys if the record has keys and the secret is missing. Without keys,
   * deletes it, so that a secret that was stored as plain text is never reused. Call it inside a write transaction.
   */
  keepLookupSecret(): void {
    if (this.record.keys.length === 0)
      this.#db.prepare('delete from secrets where name = ?').run(lookupSecret);
    else
      this.#db
        .prepare('insert or ignore into secrets (name, value) values (?, ?)')
        .run(lookupSecret, this.writeBytes(runtime.randomBytes(keyBytes), secretColumn, lookupSecret));
  }

  protected readLookup(): Uint8Array | undefined {
    const row = this.#db.prepare('select value from secrets where name = ?').get(lookupSecret);
    return row?.value as Uint8Array | undefined;
  }
}
