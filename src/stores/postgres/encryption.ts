/**
 * What a database says of its encryption: one row in `encryption`, and one in `keys` for every key under which a value
 * may stand, or once stood. `manner` counts how often it changed in which manner values are written. Whoever writes any
 * asks for it first, by `manner()`, which holds a shared lock until the transaction ends; who changes it waits for all
 * of them. So nobody writes in a manner that is over, and what was written in one is there for who rewrites it.
 */
import { Damaged } from '../values/damaged.ts';
import type { EncryptionState, KeyInUse } from '../values/encryption.ts';
import { lookupSecret } from '../values/sealed-cells.ts';
import { name } from './cells.ts';
import type { Transaction } from './pool.ts';

/** Part of a migration. `plpgsql`, because there each statement sees what was committed before it, not before the lock. */
export const encryptionTables = `
  create table encryption (
    manner bigint not null default 0,
    mode text not null default 'plain',
    salt bytea not null default '',
    stage text,
    position bigint not null default 0,
    has_leftovers boolean not null default false
  ) with (fillfactor = 50);
  create unique index encryption_is_one_row on encryption ((true));
  insert into encryption default values;
  create table keys (
    id text collate "C" primary key,
    place integer generated always as identity,
    proof bytea not null,
    is_retired boolean not null default false
  );
  create function manner() returns bigint language plpgsql as $$
  begin
    perform pg_advisory_xact_lock_shared(hashtextextended('holdfast manner SCHEMA', 0));
    return (select manner from SCHEMA.encryption);
  end $$;
`;

/** How a transaction begins that writes values. */
export function writing(schema: string): string {
  return `begin isolation level read committed; select ${schema}.manner() as manner`;
}

/** … and one that changes how they are written: alone. */
export function changingManner(schema: string): string {
  const lock = `pg_advisory_xact_lock(hashtextextended('holdfast manner ${schema}', 0))`;
  return `begin isolation level read committed; select ${lock}::text as manner`;
}

export interface Encrypted {
  readonly manner: number;
  readonly state: EncryptionState;
  /** The ids of all keys, those that were retired included. */
  readonly known: ReadonlySet<string>;
  /** The secret for idempotency keys, as it is stored. */
  readonly lookup: Uint8Array | null;
}

export async function readEncryption(asked: Pick<Transaction, 'query'>, schema: string): Promise<Encrypted> {
  const rows = await asked.query<{
    manner: number;
    mode: EncryptionState['mode'];
    salt: Uint8Array;
    stage: string | null;
    position: number;
    has_leftovers: boolean;
    lookup: Uint8Array | null;
    id: string | null;
    proof: Uint8Array;
    is_retired: boolean;
  }>({ name: 'encryption', text: reading(schema) }, [name(lookupSecret)]);
  const [row] = rows;
  const keys = rows.flatMap(({ id, proof, is_retired }): (KeyInUse & { is_retired: boolean })[] =>
    id === null ? [] : [{ id, proof, is_retired }],
  );
  const inUse = keys.filter(({ is_retired }) => !is_retired);
  if (!row || (row.mode === 'plain') !== (inUse.length === 0))
    throw new Damaged('what it says of its encryption is not whole');
  const { manner, mode, salt, stage, position, has_leftovers: hasLeftovers, lookup } = row;
  return {
    manner,
    state: { mode, salt, stage, position, hasLeftovers, keys: inUse },
    known: new Set(keys.map(({ id }) => id)),
    lookup,
  };
}

/** From here on every process must look anew. Inside a transaction that changes the manner. */
export async function writeEncryption(
  transaction: Transaction,
  schema: string,
  { mode, salt, stage, hasLeftovers, keys }: EncryptionState,
): Promise<void> {
  await transaction.query(
    `update ${schema}.encryption
    set manner = manner + 1, mode = $1, salt = $2, stage = $3, position = 0, has_leftovers = $4`,
    [mode, salt, stage, hasLeftovers],
  );
  const ids = keys.map(({ id }) => id);
  if (mode === 'plain') await transaction.query(`delete from ${schema}.keys`);
  else await transaction.query(`update ${schema}.keys set is_retired = true where id <> all($1)`, [ids]);
  for (const { id, proof } of keys)
    await transaction.query(
      `insert into ${schema}.keys (id, proof) values ($1, $2) on conflict (id) do update set proof = $2`,
      [id, proof],
    );
}

function reading(schema: string): string {
  return `
    select e.*, k.id, k.proof, k.is_retired, (select value from ${schema}.secrets where name = $1) as lookup
    from ${schema}.encryption e left join ${schema}.keys k on true order by k.place`;
}
