/**
 * Re-encrypts the values of a store that are not encrypted with its newest key, in small batches, and then counts all
 * values by their keys. Values under the newest key are passed over, so that it can be interrupted and repeated at any
 * time. A value that cannot be read stays as it is, and is counted.
 */
import { StoreNotUnlocked } from '../../engine/store-errors.ts';
import { pause, runtime } from '../../model/runtime.ts';
import type { Task } from '../../model/task.ts';
import { placeOfSaid, type SaidRow } from './audit.ts';
import { keyIdOf } from './cipher.ts';
import { Damaged } from './damaged.ts';
import { type EncryptionRecord, settled } from './encryption.ts';
import { keyBytes } from './keys.ts';
import type { SealedCells } from './sealed-cells.ts';
import { taskIn } from './texts.ts';

export interface RekeyReport {
  /** The key for new values; null if encryption is being switched off. */
  readonly newest: string | null;
  /** How many values were re-encrypted. */
  readonly rewritten: number;
  /** How many values there are under which key, the newest first: null for plain text, `'?'` for values that name no key. */
  readonly keys: readonly { readonly id: string | null; readonly values: number }[];
  /** How many of them are not under the newest key. */
  readonly left: number;
}

/** The columns of each table that hold values. Idempotency keys are hashed, and handled with their tasks. */
export const valueColumns = {
  tasks: ['body'],
  commits: ['events', 'journal'],
  results: ['value'],
  sessions: ['opening'],
  secrets: ['value'],
  audit: ['said'],
} as const satisfies Record<string, readonly string[]>;

export type Table = keyof typeof valueColumns;
export const tables = Object.keys(valueColumns) as Table[];

/** What a row is found by, all columns that a value is bound to, and `key`, the idempotency key of a task. */
export type Row = Readonly<Record<string, unknown>>;

/** Which values of a row change, by column. */
export interface Rewritten {
  readonly row: Row;
  readonly values: Readonly<Record<string, unknown>>;
}

/** How much of a value is enough to find the id of its key. */
export const headerBytes = 66;

/** What a database does for it. */
export interface RekeyTarget<Text> {
  readonly cells: SealedCells<Text>;
  /** In one transaction: puts the next rows after `after` through `reencrypted`, and writes those that changed. */
  rewrite(
    table: Table,
    after: Row | undefined,
  ): Promise<{ readonly rows: readonly Row[]; readonly changed: readonly Rewritten[] }>;
  /** The next rows; of their values only the beginnings are needed, and in full those of `secrets` and `key`. */
  scan(table: Table, after: Row | undefined): Promise<readonly Row[]>;
  /** In one transaction that no other one writes values next to. */
  change(decide: (record: EncryptionRecord) => EncryptionRecord | undefined): Promise<void>;
  /** Removes plain text that the database has deleted but not overwritten. */
  compact?(): Promise<void>;
}

export async function rekey<Text>(target: RekeyTarget<Text>): Promise<RekeyReport> {
  const { cells } = target;
  let rewritten = 0;
  for (const table of tables)
    await eachBatch(async (after) => {
      const { rows, changed } = await target.rewrite(table, after);
      for (const { values } of changed)
        rewritten += Object.values(values).filter((value) => value !== null).length;
      return rows;
    });
  // From here on nobody writes with an older key, unless the record changes: then its new key has a rekeying of its own.
  const { revision } = cells.record;
  const counts = new Map<string | null, number>();
  for (const table of tables)
    await eachBatch(async (after) => {
      const rows = await target.scan(table, after);
      for (const row of rows)
        for (const id of keyIdsIn(table, row, cells)) counts.set(id, (counts.get(id) ?? 0) + 1);
      return rows;
    });
  const { record } = cells;
  if (record.newest !== null && record.isMixed && !counts.has(null)) await target.compact?.();
  await target.change((record) =>
    record.revision === revision && cells.keys ? settled(record, cells.keys, counts) : undefined,
  );
  const { newest } = cells.record;
  const keys = [...counts].map(([id, values]) => ({ id, values }));
  keys.sort((one, other) => Number(other.id === newest) - Number(one.id === newest));
  const left = keys.reduce((sum, { id, values }) => (id === newest ? sum : sum + values), 0);
  return { newest, rewritten, keys, left };
}

/** Rests as long as each batch took, so that others get their share of the database. */
async function eachBatch(next: (after: Row | undefined) => Promise<readonly Row[]>): Promise<void> {
  for (let last: Row | undefined; ; ) {
    const started = runtime.monotonic();
    const rows = await next(last);
    if (rows.length === 0) return;
    last = rows.at(-1);
    await pause(runtime.monotonic() - started);
  }
}

/** Rows in which no value changes are left out. */
export function reencrypted<Text>(table: Table, rows: readonly Row[], cells: SealedCells<Text>): Rewritten[] {
  const { newest } = cells.record;
  return rows.flatMap((row) => {
    if (keyIdsIn(table, row, cells).every((id) => id === newest)) return [];
    try {
      return [{ row, values: valuesOf(table, row, cells) }];
    } catch (error) {
      if (isUnreadable(error)) return [];
      throw error;
    }
  });
}

/** Of a single value: the keys that the store has recorded were checked before. */
function isUnreadable(error: unknown): boolean {
  return error instanceof Damaged || error instanceof StoreNotUnlocked || error instanceof SyntaxError;
}

function valuesOf<Text>(table: Table, row: Row, cells: SealedCells<Text>): Record<string, unknown> {
  const id = table === 'audit' ? placeOfSaid(row as unknown as SaidRow<Text>) : (row.id as string);
  const version = row.version as number | undefined;
  if (table === 'secrets') {
    const secret = cells.readBytes(row.value as Uint8Array, 'secrets.value', id);
    return { value: cells.writeBytes(secret, 'secrets.value', id) };
  }
  const values: Record<string, unknown> = {};
  for (const name of valueColumns[table]) {
    const column = `${table}.${name}`;
    const text = row[name] === null ? null : cells.read(row[name] as Text, column, id, version);
    values[name] = text === null ? null : cells.write(text, column, id, version);
    if (table === 'tasks') values.key = row.key === null ? null : keyOf(taskIn(text!), cells);
  }
  return values;
}

function keyOf<Text>({ owner, tool, idempotency }: Task, cells: SealedCells<Text>): Text {
  return cells.keyOf({ owner, tool, key: idempotency!.key });
}

/** One for each value. A hash counts as a value under the newest key, and as one without a key if there is none. */
function keyIdsIn<Text>(table: Table, row: Row, cells: SealedCells<Text>): (string | null)[] {
  const ids = valueColumns[table].flatMap((name) => {
    const stored = row[name];
    if (stored === null) return [];
    try {
      if (table !== 'secrets') return [cells.keyIdIn(stored as Text)];
      return [(stored as Uint8Array).byteLength === keyBytes ? null : keyIdOf(stored as Uint8Array)];
    } catch (error) {
      if (error instanceof Damaged) return ['?'];
      throw error;
    }
  });
  if (table === 'tasks' && row.key !== null)
    ids.push(cells.isHashed(row.key as Text) ? (cells.record.newest ?? '?') : null);
  return ids;
}
