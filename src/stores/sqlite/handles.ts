/** The registry of a host's handles in a SQLite file, which several processes may share. */
import { dirname } from 'node:path';
import type { HandleRecord, Handles } from '../../client/handles.ts';
import { StoreClosed, StoreCorrupt } from '../../engine/store-errors.ts';
import { runtime } from '../../model/runtime.ts';
import { unlock } from '../values/encryption.ts';
import { type Encryption, type Keys, readKeys } from '../values/keys.ts';
import { type Cells, plainCells, type Stored } from './cells.ts';
import { type Connection, configure, connect, isBusy, isInMemory, worded } from './driver.ts';
import {
  beginEncryption,
  compaction,
  encryptionTables,
  finishCompaction,
  finishRewriting,
  isEncrypted,
  readEncryption,
} from './encryption.ts';
import { makePrivateFile, makePrivateFolder } from './private-files.ts';
import { Vault } from './vault.ts';

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
export function sqliteHandles(path: string, options: { readonly encryption?: Encryption } = {}): Handles {
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
    refuseOfOthers(db, path);
    unlock(readEncryption(db), keys, path);
    configure(db);
    db.exec(table);
    if (keys) encryptHandles(db, keys, path);
    return new SqliteHandles(db, path, keys);
  } catch (error) {
    db?.close();
    throw worded(error, path);
  }
}

/** A path that was mistaken must not leave a table of ours in a database of another program. */
function refuseOfOthers(db: Connection, path: string): void {
  const tables = db.prepare("select name from sqlite_schema where type = 'table'").all();
  if (tables.length === 0 || tables.some(({ name }) => name === 'handles' || name === 'holdfast_schema'))
    return;
  throw new StoreCorrupt(
    path,
    'this is a SQLite database of another program',
    'Choose a file of its own for handles; nothing was changed here.',
  );
}

/** All at once: a host has few calls, and cannot go on before it knows them. */
function encryptHandles(db: Connection, keys: Keys, path: string): void {
  db.exec(encryptionTables);
  inTransaction(db, () => {
    unlock(readEncryption(db), keys, path);
    beginEncryption(db, keys, { isNew: false });
    const vault = new Vault(db, keys, path);
    if (vault.state.stage === null || vault.state.stage === compaction) return;
    const update = db.prepare('update handles set body = ? where id = ?');
    for (const row of db.prepare('select id, body from handles').all()) {
      const { id, body } = row as { id: string; body: Stored };
      update.run(vault.write(vault.read(body, column, id), column, id), id);
    }
    finishRewriting(db, vault.cipher!, runtime.now());
  });
  if (readEncryption(db).stage !== compaction) return;
  try {
    db.exec('vacuum');
    const { busy } = db.prepare('pragma wal_checkpoint(truncate)').get() as { busy: number };
    if (busy === 0) inTransaction(db, () => finishCompaction(db));
  } catch (error) {
    if (!isBusy(error)) throw error; // Somebody else reads or writes: the next to open the file tries again.
  }
}

function inTransaction<T>(db: Connection, act: () => T): T {
  db.exec('begin immediate');
  try {
    const value = act();
    db.exec('commit');
    return value;
  } catch (error) {
    if (db.isTransaction) db.exec('rollback');
    throw error;
  }
}

class SqliteHandles implements Handles {
  readonly #db: Connection;
  readonly #path: string;
  readonly #sql: ReturnType<typeof prepare>;
  readonly #cells: Cells;
  readonly #lookAnew: () => void;
  #dataVersion: unknown;

  constructor(db: Connection, path: string, keys: Keys | undefined) {
    this.#db = db;
    this.#path = path;
    this.#sql = prepare(db);
    const vault = keys && new Vault(db, keys, path);
    this.#cells = vault ?? plainCells(path, () => isEncrypted(db));
    this.#lookAnew = vault
      ? () => vault.refresh()
      : () => {
          unlock(readEncryption(db), undefined, path);
        };
  }

  save(record: HandleRecord): void {
    const { id, server, isDelivered } = record;
    this.#attempt(() =>
      inTransaction(this.#db, () => {
        this.#lookWhetherOthersWrote();
        const body = this.#cells.write(JSON.stringify(record), column, id);
        this.#sql.save.run(id, server, isDelivered ? 1 : 0, body);
      }),
    );
  }

  get(id: string): HandleRecord | undefined {
    const row = this.#attempt(() => this.#sql.get.get(id)) as HandleRow | undefined;
    return row && this.#read(row);
  }

  list({ server, onlyOpen = false }: { server?: string; onlyOpen?: boolean } = {}): HandleRecord[] {
    const rows = this.#attempt(() => this.#sql.list.all(server ?? null, server ?? null, onlyOpen ? 0 : 1));
    return (rows as unknown as HandleRow[]).map((row) => this.#read(row));
  }

  delete(id: string): void {
    this.#attempt(() => this.#sql.delete.run(id));
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #attempt<T>(act: () => T): T {
    if (!this.#db.isOpen) throw new StoreClosed(this.#path);
    try {
      return act();
    } catch (error) {
      throw worded(error, this.#path);
    }
  }

  /** Another process may have begun to encrypt, with keys that this one does not have. */
  #lookWhetherOthersWrote(): void {
    const version = this.#sql.dataVersion.get()?.data_version;
    if (version === this.#dataVersion) return;
    this.#lookAnew();
    this.#dataVersion = version;
  }

  #read({ id, body }: HandleRow): HandleRecord {
    const text = this.#attempt(() => this.#cells.read(body, column, id));
    try {
      return JSON.parse(text);
    } catch {
      throw new StoreCorrupt(
        this.#path,
        'a handle in it is not readable',
        'Restore it from a copy, or remove it.',
      );
    }
  }
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
    dataVersion: db.prepare('pragma data_version'),
  };
}
