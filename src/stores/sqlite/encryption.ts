/**
 * Whether a file is encrypted, and with which keys: one row in `holdfast_encryption` while it is, and one in
 * `holdfast_keys` for every key under which a value may stand. The youngest key that is not retired is the one for
 * new values, for every process, whatever each was started with; so a rewriting of older values that has come to its
 * end is at its end for good. Each key's row carries a proof: who can open it has the right key.
 *
 *   plain ──▶ encrypting ──▶ encrypted ──▶ (another key) encrypted … ──▶ decrypting ──▶ plain
 *
 * Only while `encrypting` or `decrypting` may values be of both kinds.
 */
import { randomBytes } from 'node:crypto';
import { StoreNotUnlocked } from '../../engine/store-errors.ts';
import { Cipher } from './cipher.ts';
import { type Connection, Damaged } from './driver.ts';
import type { Keys } from './keys.ts';

export type Mode = 'plain' | 'encrypting' | 'encrypted' | 'decrypting';

export interface KeyInUse {
  readonly id: string;
  readonly proof: Uint8Array;
}

export interface EncryptionState {
  readonly mode: Mode;
  readonly salt: Uint8Array;
  /** Under which values may stand, the oldest first. New ones stand under the last. */
  readonly keys: readonly KeyInUse[];
  /** What is being rewritten, if anything is; what was rewritten of it ends here. */
  readonly stage: string | null;
  readonly position: number;
  /** Whether freed pages, or the log, may still hold what once stood there as plain text. */
  readonly hasLeftovers: boolean;
}

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

const plain: EncryptionState = {
  mode: 'plain',
  salt: new Uint8Array(),
  keys: [],
  stage: null,
  position: 0,
  hasLeftovers: false,
};

/** Also of a file that is older than encryption. */
export function readEncryption(db: Connection): EncryptionState {
  const tables = db.prepare("select count(*) as count from sqlite_schema where name = 'holdfast_encryption'");
  if ((tables.get() as { count: number }).count === 0) return plain;
  const [row, ...more] = db
    .prepare('select mode, salt, stage, position, has_leftovers as hasLeftovers from holdfast_encryption')
    .all();
  const keys = db
    .prepare('select id, proof from holdfast_keys where retired_at is null order by place')
    .all();
  if (!row && keys.length === 0) return plain;
  if (!row || more.length > 0 || keys.length === 0)
    throw new Damaged('what it says of its encryption is not whole');
  return {
    ...(row as unknown as EncryptionState),
    hasLeftovers: row.hasLeftovers === 1,
    keys: keys as unknown as KeyInUse[],
  };
}

/** What reads the values of a file in this state; none if nothing in it is encrypted. Refuses without the right keys. */
export function unlock(state: EncryptionState, keys: Keys | undefined, file: string): Cipher | undefined {
  if (state.mode === 'plain') return undefined;
  const names = state.keys.map(({ id }) => id).join(', ');
  if (!keys) {
    throw new StoreNotUnlocked(
      file,
      `it is encrypted (with ${names})`,
      'Give the keys as the option `encryption`; nothing was changed.',
    );
  }
  const cipher = new Cipher(keys.byId, state.salt);
  for (const { id, proof } of state.keys) {
    if (!keys.byId.has(id)) {
      throw new StoreNotUnlocked(
        file,
        `key ${id} is missing: values in it are encrypted with that key`,
        `Give it among the keys, until the values are rewritten under the current one; nothing was changed.`,
      );
    }
    try {
      if (cipher.open(proof, proofPlace(state.mode)).toString() === id) continue;
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
    }
    throw new StoreNotUnlocked(
      file,
      `key ${id} is wrong: it is not the one that the file is encrypted with`,
      `Give the right key under this id, and a new key under a new id; nothing was changed.`,
    );
  }
  return cipher;
}

/**
 * Does what the caller wishes: switches encryption on or off, or begins a new key. True if anything changed. Inside a
 * write transaction, after `unlock`.
 */
export function beginEncryption(db: Connection, keys: Keys, { isNew }: { readonly isNew: boolean }): boolean {
  const state = readEncryption(db);
  const { current } = keys;
  if (current === null) {
    if (state.mode === 'plain' || state.mode === 'decrypting') return false;
    enter(db, keys, { ...state, mode: 'decrypting' });
    return true;
  }
  if (state.mode === 'plain') {
    db.prepare("insert into holdfast_encryption values ('plain', ?, null, 0, 0)").run(randomBytes(16));
  }
  const isKnown = db.prepare('select 1 from holdfast_keys where id = ?').get(current) !== undefined;
  if (isKnown && (state.mode === 'encrypted' || state.mode === 'encrypting')) return false;
  if (!isKnown) {
    db.prepare(
      "insert into holdfast_keys select ?, coalesce(max(place), 0) + 1, x'', null from holdfast_keys",
    ).run(current);
  }
  const mode = state.mode === 'encrypted' || isNew ? 'encrypted' : 'encrypting';
  if (mode === 'encrypting') db.exec('update holdfast_encryption set has_leftovers = 1');
  enter(db, keys, { ...readEncryption(db), mode });
  // Of a file that was never plain there is nothing to rewrite.
  if (isNew) finishStage(db, null);
  return true;
}

/** Everything is to be rewritten, from the beginning. */
function enter(db: Connection, keys: Keys, { mode, salt, keys: inUse }: EncryptionState): void {
  db.prepare('update holdfast_encryption set mode = ?, stage = ?, position = 0').run(mode, firstStage);
  prove(db, new Cipher(keys.byId, salt), mode, inUse);
}

/** The proofs speak of the mode too: who has no key cannot make others take plain text for good. */
function prove(db: Connection, cipher: Cipher, mode: Mode, inUse: readonly KeyInUse[]): void {
  const update = db.prepare('update holdfast_keys set proof = ? where id = ?');
  for (const { id } of inUse) update.run(cipher.seal(id, id, proofPlace(mode)), id);
}

function proofPlace(mode: Mode): string {
  return `holdfast_keys.proof/${mode}`;
}

const firstStage = 'tasks';

/** Goes on to the next thing to be rewritten; with null there is none. */
export function finishStage(db: Connection, next: string | null): void {
  db.prepare('update holdfast_encryption set stage = ?, position = 0').run(next);
}

export function reachPosition(db: Connection, position: number): void {
  db.prepare('update holdfast_encryption set position = ?').run(position);
}

/** Every value is as it should be: keys other than the youngest are no longer needed. */
export function finishRewriting(db: Connection, cipher: Cipher, now: number): void {
  const { mode, keys } = readEncryption(db);
  if (mode === 'decrypting') {
    db.exec('delete from holdfast_encryption; delete from holdfast_keys');
    return;
  }
  const youngest = keys.at(-1)!;
  db.prepare('update holdfast_keys set retired_at = ? where id <> ? and retired_at is null').run(
    now,
    youngest.id,
  );
  db.exec(`
    update holdfast_encryption
    set mode = 'encrypted', stage = iif(has_leftovers, '${compaction}', null), position = 0`);
  prove(db, cipher, 'encrypted', [youngest]);
}

/** The last stage: what stood there as plain text is removed from where SQLite has only forgotten it. */
export const compaction = 'compaction';

export function finishCompaction(db: Connection): void {
  db.exec(`
    update holdfast_encryption set stage = null, has_leftovers = 0 where stage = '${compaction}'`);
}
