/** The registry of a host's handles in a SQLite file, which several processes may share. */
import { dirname } from 'node:path';
import type { CallRecord, CallRegistry } from '../../client/call-registry.ts';
import { StoreError, storeClosed } from '../../ports/store-errors.ts';
import { type Encryption, type Keys, readKeys } from '../shared/encryption/keys.ts';
import { introduced, settled, unlock } from '../shared/encryption/record.ts';
import { type Connection, configure, connect, inTransaction, isBusy, isInMemory, worded } from './driver.ts';
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

/** Opens the file, or makes it. `memory:` is for tests. */
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
    // Its writes are few, and callers cannot go on without them: here waiting for a lock is right.
    db = connect(isMemory ? ':memory:' : path, { timeout: 5_000 });
    // A path that was mistaken must not leave a table of ours in a database of another program.
    ownTables(db, path, ['handles']);
    unlock(readEncryption(db), keys, path);
    configure(db);
    db.exec(table + encryptionTable);
    if (keys) rekeyHandles(db, keys, path);
    return handlesIn(db, path, keys);
  } catch (error) {
    db?.close();
    throw worded(error, path);
  }
}

/** All at once: a host has few calls, and cannot continue before it knows them. */
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
  if (isCompacted(db, vault))
    inTransaction(db, () =>
      vault.change((record) => settled(record, keys, new Map([[record.newest, rows().length]]))),
    );
}

/** Plain text is gone only when the file was rewritten. While others use it, the next one to open it tries again. */
function isCompacted(db: Connection, { record }: Vault): boolean {
  if (!record.isMixed || record.newest === null) return true;
  try {
    db.exec('vacuum');
    return (db.prepare('pragma wal_checkpoint(truncate)').get() as { busy: number }).busy === 0;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return false;
  }
}

function handlesIn(db: Connection, path: string, keys: Keys | undefined): CallRegistry {
  const sql = prepare(db);
  const cells = new Vault(db, keys, path);
  const attempt = <T>(act: () => T): T => {
    if (!db.isOpen) throw storeClosed(path);
    try {
      return act();
    } catch (error) {
      throw worded(error, path);
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
        'Restore it from a copy, or remove it.',
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
