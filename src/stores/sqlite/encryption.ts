/**
 * What a file says of its encryption: one row in `holdfast_encryption` while it is encrypted, and one in
 * `holdfast_keys` for every key under which a value may stand, or once stood.
 */
import type { Cipher } from '../values/cipher.ts';
import { Damaged } from '../values/damaged.ts';
import { begun, type EncryptionState, type KeyInUse, notEncrypted, settled } from '../values/encryption.ts';
import type { Keys } from '../values/keys.ts';
import type { Connection } from './driver.ts';

/** Part of a released migration: never to be changed. */
export const encryptionTables = `
  create table if not exists holdfast_encryption (
    mode text not null,
    salt blob not null,
    stage text,
    position integer not null,
    has_leftovers integer not null
  );
  create table if not exists holdfast_keys (
    id text primary key,
    place integer not null,
    proof blob not null,
    retired_at integer
  );
`;

/** Also of a file that is older than encryption. */
export function readEncryption(db: Connection): EncryptionState {
  const tables = db.prepare("select count(*) as count from sqlite_schema where name = 'holdfast_encryption'");
  if ((tables.get() as { count: number }).count === 0) return notEncrypted;
  const [row, ...more] = db
    .prepare('select mode, salt, stage, position, has_leftovers as hasLeftovers from holdfast_encryption')
    .all();
  const keys = db
    .prepare('select id, proof from holdfast_keys where retired_at is null order by place')
    .all();
  if (!row && keys.length === 0) return notEncrypted;
  if (!row || more.length > 0 || keys.length === 0)
    throw new Damaged('what it says of its encryption is not whole');
  return {
    ...(row as unknown as EncryptionState),
    hasLeftovers: row.hasLeftovers === 1,
    keys: keys as unknown as KeyInUse[],
  };
}

export function isEncrypted(db: Connection): boolean {
  return readEncryption(db).keys.length > 0;
}

/** Does what the caller wishes. True if anything changed. Inside a write transaction, after `unlock`. */
export function beginEncryption(db: Connection, keys: Keys, { isNew }: { readonly isNew: boolean }): boolean {
  const known = new Set(
    db
      .prepare('select id from holdfast_keys')
      .all()
      .map(({ id }) => id as string),
  );
  const state = begun(readEncryption(db), keys, { known, isNew });
  if (state) writeEncryption(db, state);
  return state !== undefined;
}

function writeEncryption(db: Connection, { mode, salt, stage, hasLeftovers, keys }: EncryptionState): void {
  db.exec('delete from holdfast_encryption');
  db.prepare('insert into holdfast_encryption values (?, ?, ?, 0, ?)').run(
    mode,
    salt,
    stage,
    hasLeftovers ? 1 : 0,
  );
  const put = db.prepare(`
    insert into holdfast_keys select ?, coalesce(max(place), 0) + 1, ?, null from holdfast_keys where true
    on conflict (id) do update set proof = excluded.proof`);
  for (const { id, proof } of keys) put.run(id, proof);
}

/** Goes on to the next thing to be rewritten. */
export function finishStage(db: Connection, next: string): void {
  db.prepare('update holdfast_encryption set stage = ?, position = 0').run(next);
}

export function reachPosition(db: Connection, position: number): void {
  db.prepare('update holdfast_encryption set position = ?').run(position);
}

/** Every value is as it should be. */
export function finishRewriting(db: Connection, cipher: Cipher, now: number): void {
  const state = settled(readEncryption(db), cipher);
  if (state.mode === 'plain') {
    db.exec('delete from holdfast_encryption; delete from holdfast_keys');
    return;
  }
  const retire = db.prepare('update holdfast_keys set retired_at = ? where id <> ? and retired_at is null');
  retire.run(now, state.keys[0]!.id);
  writeEncryption(db, { ...state, stage: state.hasLeftovers ? compaction : null });
}

/** The last stage: what stood there as plain text is removed from where SQLite has only forgotten it. */
export const compaction = 'compaction';

export function finishCompaction(db: Connection): void {
  db.exec(`
    update holdfast_encryption set stage = null, has_leftovers = 0 where stage = '${compaction}'`);
}
