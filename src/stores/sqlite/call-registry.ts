/** The call registry of a host in a SQLite file, which several processes may share. */
import { dirname } from 'node:path';
import type { CallRecord, CallRegistry } from '../../client/call-registry.ts';
import { StoreError, storeClosed } from '../../ports/store-errors.ts';
import { type Encryption, type Keys, readKeys } from '../shared/encryption/keys.ts';
import { introduced, settled, unlock } from '../shared/encryption/record.ts';
import {
  type Connection,
  configure,
  connect,
  inTransaction,
  isBusy,
  isInMemory,
  toStoreError,
} from './driver.ts';
import type { Stored } from './encryption/cells.ts';
import { encryptionTable, readEncryption, Vault } from './encryption/vault.ts';
import { makePrivateFile, makePrivateFolder } from './file/private-files.ts';
import { ownTables } from './schema.ts';

const column = 'handles.body';

interface HandleRow {
  readonly id: string;
  readonly body: Stored;
}

const table = `
  create table if not exists handles (
    seq integer primary key,
    id text not null unique,
    server text not null,
    is_delivered integer not null,
    body text not null
  );
  create index if not exists handles_by_server on handles (server, is_delivered);
`;

/** Opens or creates the file. `memory:` is for tests. Throws a `StoreError`, also if the keys are wrong. */
export function sqliteCallRegistry(
  path: string,
  options: { readonly encryption?: Encryption } = {},
): CallRegistry {
  const isMemory = isInMemory(path);
  const keys = options.encryption && readKeys(options.encryption, path);
  let db: Connection | undefined;
  try {
    if (!isMemory) {
      makePrivateFolder(dirname(path));
      makePrivateFile(path);
    }
    // Writes are rare and callers need them to continue, so it is right to block while another process has the lock.
    db = connect(isMemory ? ':memory:' : path, { timeout: 5_000 });
    // With a wrong path, no table must be created in a database of another program.
    ownTables(db, path, ['handles']);
    // Checks the keys before anything is written.
    unlock(readEncryption(db), keys, path);
    configure(db);
    db.exec(table + encryptionTable);
    if (keys) rekeyHandles(db, keys, path);
    return registryOf(db, path, keys);
  } catch (error) {
    db?.close();
    throw toStoreError(error, path);
  }
}

/** Re-encrypts all handles in one transaction. A host has few calls, so this is fast. */
function rekeyHandles(db: Connection, keys: Keys, path: string): void {
  const vault = new Vault(db, keys, path);
  const rows = () => db.prepare('select id, body from handles').all() as unknown as HandleRow[];
  inTransaction(db, () => {
    vault.change((record) => introduced(record, keys, rows().length === 0));
    const update = db.prepare('update handles set body = ? where id = ?');
    for (const { id, body } of rows())
      if (vault.keyIdIn(body) !== vault.record.newest)
        update.run(vault.write(vault.read(body, column, id), column, id), id);
  });
  // Until the old plain text is gone, the record still allows plain text, so the next process tries again.
  if (compact(db, vault))
    inTransaction(db, () =>
      vault.change((record) => settled(record, keys, new Map([[record.newest, rows().length]]))),
    );
}

/**
 * Rewrites the file to remove old plain text. Returns true if none can be left, or if none must be removed, and false
 * if others use the file; then the next process that opens it retries.
 */
function compact(db: Connection, { record }: Vault): boolean {
  if (!record.isMixed || record.newest === null) return true;
  try {
    db.exec('vacuum');
    return (db.prepare('pragma wal_checkpoint(truncate)').get() as { busy: number }).busy === 0;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return false;
  }
}

function registryOf(db: Connection, path: string, keys: Keys | undefined): CallRegistry {
  const sql = prepare(db);
  const cells = new Vault(db, keys, path);
  // Runs `act` and converts its errors.
  const attempt = <T>(act: () => T): T => {
    if (!db.isOpen) throw storeClosed(path);
    try {
      return act();
    } catch (error) {
      throw toStoreError(error, path);
    }
  };
  const read = ({ id, body }: HandleRow): CallRecord => {
    const text = attempt(() => cells.read(body, column, id));
    try {
      return JSON.parse(text);
    } catch {
      throw new StoreError(
        'STORE_CORRUPT',
        path,
        'a handle in it is not readable',
        'Restore the file from a copy, or delete it.',
      );
    }
  };
  return {
    save(record) {
      const { id, server, isDelivered } = record;
      attempt(() =>
        inTransaction(db, () => {
          // Another process may have introduced a key that this one does not have.
          cells.refresh();
          const body = cells.write(JSON.stringify(record), column, id);
          sql.save.run(id, server, isDelivered ? 1 : 0, body);
        }),
      );
    },
    get(id) {
      const row = attempt(() => sql.get.get(id)) as HandleRow | undefined;
      return row && read(row);
    },
    list({ server, onlyOpen = false } = {}) {
      const rows = attempt(() => sql.list.all(server ?? null, server ?? null, onlyOpen ? 0 : 1));
      return (rows as unknown as HandleRow[]).map(read);
    },
    delete: (id) => void attempt(() => sql.delete.run(id)),
    close() {
      if (db.isOpen) db.close();
    },
  };
}

/** In `list`, both first values are the server or null, and the last is 0 for open calls only, 1 for all. */
function prepare(db: Connection) {
  return {
    save: db.prepare(`
      insert into handles (id, server, is_delivered, body) values (?, ?, ?, ?)
      on conflict (id) do update set server = excluded.server, is_delivered = excluded.is_delivered,
        body = excluded.body`),
    get: db.prepare('select id, body from handles where id = ?'),
    list: db.prepare(`
      select id, body from handles where (? is null or server = ?) and is_delivered <= ? order by seq`),
    delete: db.prepare('delete from handles where id = ?'),
  };
}
