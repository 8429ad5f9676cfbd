/** The registry of a host's handles in a SQLite file, which several processes may share. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { HandleRecord, Handles } from '../../client/handles.ts';
import { StoreClosed, StoreCorrupt } from '../../engine/store-errors.ts';
import { type Connection, configure, connect, worded } from './driver.ts';

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
export function sqliteHandles(path: string): Handles {
  const isMemory = path === 'memory:';
  try {
    if (!isMemory) mkdirSync(dirname(path), { recursive: true });
    // Its writes are few, and callers cannot go on without them: here waiting for a lock is right.
    const db = connect(isMemory ? ':memory:' : path, { timeout: 5_000 });
    configure(db);
    db.exec(table);
    return new SqliteHandles(db, path);
  } catch (error) {
    throw worded(error, path);
  }
}

class SqliteHandles implements Handles {
  readonly #db: Connection;
  readonly #path: string;
  readonly #sql: ReturnType<typeof prepare>;

  constructor(db: Connection, path: string) {
    this.#db = db;
    this.#path = path;
    this.#sql = prepare(db);
  }

  save(record: HandleRecord): void {
    this.#attempt(() =>
      this.#sql.save.run(record.id, record.server, record.isDelivered ? 1 : 0, JSON.stringify(record)),
    );
  }

  get(id: string): HandleRecord | undefined {
    const row = this.#attempt(() => this.#sql.get.get(id)) as { body: string } | undefined;
    return row && this.#read(row);
  }

  list({ server, onlyOpen = false }: { server?: string; onlyOpen?: boolean } = {}): HandleRecord[] {
    const rows = this.#attempt(() => this.#sql.list.all(server ?? null, server ?? null, onlyOpen ? 0 : 1));
    return (rows as { body: string }[]).map((row) => this.#read(row));
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

  #read({ body }: { body: string }): HandleRecord {
    try {
      return JSON.parse(body);
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
    get: db.prepare('select body from handles where id = ?'),
    list: db.prepare(`
      select body from handles where (? is null or server = ?) and is_delivered <= ? order by seq`),
    delete: db.prepare('delete from handles where id = ?'),
  };
}
