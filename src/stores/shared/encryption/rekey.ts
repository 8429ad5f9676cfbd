/**
 * Re-encrypts, in small batches, all values of a store that are not encrypted with its newest key. Then it counts all
 * values by key. It skips values that already use the newest key, so it can be interrupted and repeated at any time. An
 * unreadable value stays unchanged and is counted.
 */
import { hasCode } from '../../../model/errors.ts';
import { pause, runtime } from '../../../runtime/runtime.ts';
import { type AuditRow, bodyLocation } from '../audit.ts';
import { Corrupt } from '../corrupt.ts';
import type { Tables, Value } from '../tables.ts';
import { taskIn } from '../task-texts.ts';
import type { Cells } from './cells.ts';
import { keyIdOf } from './cipher.ts';
import { keyBytes } from './keys.ts';
import { type EncryptionRecord, settled } from './record.ts';

export interface RekeyReport {
  /** The key for new values; null if encryption is turned off. */
  readonly newest: string | null;
  /** How many values this call re-encrypted, or stored as plain text if encryption is turned off. */
  readonly rewritten: number;
  /**
   * The number of values for each key, the newest key first. The id null counts plain text, and `'?'` values without a
   * readable key id.
   */
  readonly keys: readonly { readonly id: string | null; readonly values: number }[];
  /** How many values still do not use the newest key, for example because they are unreadable. */
  readonly left: number;
}

/** The encrypted columns of each table. Idempotency keys are hashed and are rewritten together with their tasks. */
export const valueColumns = {
  tasks: ['body'],
  commits: ['events', 'journal'],
  results: ['value'],
  sessions: ['opening'],
  secrets: ['value'],
  audit: ['body'],
} as const satisfies Record<string, readonly string[]>;

export type Table = keyof typeof valueColumns;
const tableNames = Object.keys(valueColumns) as Table[];

/**
 * A row with its values, the columns that order the scan, the columns that its values are bound to, and for a task
 * `key`, the stored idempotency key.
 */
type Row = Readonly<Record<string, Value>>;

/** How to scan a table. */
export interface Source {
  /** Columns with numbers that identify a row. Rows are scanned in their order. */
  readonly keys: readonly string[];
  /** The columns that a value is bound to, as an SQL select list. The alias of the table is `r`. */
  readonly bound: string;
}

/** The maximum length of the header of an encrypted value, in bytes: 2, and a key id of up to 64 (`cipher.ts`). */
export const headerBytes = 66;
/** The maximum size of a batch of rewritten rows. Limits how long it blocks the event loop. */
const batchRows = 100;
const batchBytes = 256 * 1024;
/** The maximum size of a batch of rows whose keys are counted. */
const scannedRows = 1_000;
/** The size of the first batch, because the size of rows is unknown until then. */
const firstRows = 4;

export interface RekeyTarget<Text extends Value> {
  readonly tables: Tables<Text>;
  readonly sources: Readonly<Record<Table, Source>>;
  /** The maximum length of the header as stored in a column: in bytes, or in characters if it is encoded as text. */
  readonly headerLength: number;
  /** Changes the record in a transaction that excludes all writers of values. */
  change(decide: (record: EncryptionRecord) => EncryptionRecord | undefined): Promise<void>;
  /** Removes plain text that the database has deleted but not overwritten. */
  compact?(): Promise<void>;
}

export async function rekey<Text extends Value>(target: RekeyTarget<Text>): Promise<RekeyReport> {
  const { headerLength } = target;
  const { cells } = target.tables;
  let rewritten = 0;
  for (const table of tableNames) {
    const sql = select(target, table, (column) => column);
    for await (const rows of batches(target, table, sql, batchRows))
      rewritten += await rewrite(target, table, rows);
  }
  // From here on nobody writes with an older key, unless the record changes. If it does, the counts are not used to
  // retire keys, and a later `rekey` repeats the work.
  const { revision } = cells.record;
  const counts = new Map<string | null, number>();
  for (const table of tableNames) {
    const start = (column: string) => `substr(${column}, 1, ${headerLength}) as ${column}`;
    // Only the header is needed to count. A secret is read completely, because its length shows whether it is plain.
    const sql = select(target, table, table === 'secrets' ? (column) => column : start);
    for await (const rows of batches(target, table, sql, scannedRows))
      for (const row of rows)
        for (const id of keyIdsIn(table, row, cells)) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const { record } = cells;
  // All plain text was rewritten. The database must not keep old copies of it.
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

/** A statement that reads the next rows of a table. `value` returns the SQL expression for a column with values. */
function select<Text extends Value>(
  { tables, sources }: RekeyTarget<Text>,
  table: Table,
  value: (column: string) => string,
): string {
  const { keys, bound } = sources[table];
  return `
    select ${keys}, ${bound}, ${valueColumns[table].map(value)} from ${tables.prefix}${table} as r
    where (${keys}) > (${keys.map(() => '?')}) order by ${keys} limit ?`;
}

/**
 * Reads all rows of a table in batches, of at most `maxRows` rows and roughly `batchBytes`. Pauses after each batch for
 * as long as the batch took, to leave the database to others.
 */
async function* batches<Text extends Value>(
  { tables, sources }: RekeyTarget<Text>,
  table: Table,
  sql: string,
  maxRows: number,
): AsyncGenerator<readonly Row[]> {
  let last: Row | undefined;
  for (let limit = firstRows; ; ) {
    const started = runtime.monotonic();
    const from = sources[table].keys.map((key) => last?.[key] ?? 0);
    const rows = await tables.read(sql, [...from, limit], (row: Row) => row);
    if (rows.length === 0) return;
    yield rows;
    last = rows.at(-1);
    const values = rows.flatMap((row) => valueColumns[table].map((name) => row[name] as string | Uint8Array));
    const bytes = values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
    limit = Math.ceil(Math.min(maxRows, limit * 2, (rows.length * batchBytes) / bytes));
    await pause(runtime.monotonic() - started);
  }
}

/** Re-encrypts a batch. Returns how many values it re-encrypted. */
async function rewrite<Text extends Value>(
  { tables, sources }: RekeyTarget<Text>,
  table: Table,
  rows: readonly Row[],
): Promise<number> {
  const columns = table === 'tasks' ? ['body', 'idempotency_key'] : valueColumns[table];
  // The update matches a row only if its first value is unchanged. A row that changed since it was read already has the
  // newest key.
  const found = [...sources[table].keys, columns[0]!];
  const equal = (names: readonly string[]) => names.map((name) => `${name} = ?`);
  const update = `update ${tables.prefix}${table} set ${equal(columns)} where ${equal(found).join(' and ')}`;
  let rewritten = 0;
  await tables.writeCells(update, () => {
    const changed = rows.flatMap((row) => {
      const values = reencrypted(table, row, tables.cells);
      return values ? [{ row, values }] : [];
    });
    rewritten = changed.flatMap(({ values }) => values.filter((value) => value !== null)).length;
    return changed.map(({ row, values }) => [...values, ...found.map((name) => row[name]!)]);
  });
  return rewritten;
}

/** The values of a row, encrypted with the newest key. Undefined if they already are, or if one is unreadable. */
function reencrypted<Text extends Value>(table: Table, row: Row, cells: Cells<Text>): Value[] | undefined {
  const { newest } = cells.record;
  if (keyIdsIn(table, row, cells).every((id) => id === newest)) return undefined;
  try {
    return valuesOf(table, row, cells);
  } catch (error) {
    // Only this row is affected: this process has all keys of the record, so the value itself is damaged.
    if (error instanceof Corrupt || error instanceof SyntaxError || hasCode(error, 'STORE_NOT_UNLOCKED'))
      return undefined;
    throw error;
  }
}

/** Decrypts the values of a row and encrypts them again, in the order of the columns that `rewrite` updates. */
function valuesOf<Text extends Value>(table: Table, row: Row, cells: Cells<Text>): Value[] {
  const id = table === 'audit' ? bodyLocation(row as unknown as AuditRow<Text>) : (row.id as string);
  const version = row.version as number | undefined;
  if (table === 'secrets') {
    const secret = cells.readBytes(row.value as Uint8Array, 'secrets.value', id);
    return [cells.writeBytes(secret, 'secrets.value', id)];
  }
  const texts = valueColumns[table].map((name) => {
    const column = `${table}.${name}`;
    const text = row[name] === null ? null : cells.read(row[name] as Text, column, id, version);
    return { text, value: text === null ? null : cells.write(text, column, id, version) };
  });
  const values: Value[] = texts.map(({ value }) => value);
  if (table !== 'tasks') return values;
  const { owner, tool, idempotency } = taskIn(texts[0]!.text!);
  return [...values, row.key === null ? null : cells.keyOf({ owner, tool, key: idempotency!.key })];
}

/**
 * The key id of each value; null is plain text, and `'?'` is unreadable. A hashed idempotency key counts as encrypted
 * with the newest key, or as `'?'` if encryption is turned off, so that it is rewritten.
 */
function keyIdsIn<Text>(table: Table, row: Row, cells: Cells<Text>): (string | null)[] {
  const ids = valueColumns[table].flatMap((name) => {
    const stored = row[name];
    if (stored === null) return [];
    try {
      if (table !== 'secrets') return [cells.keyIdIn(stored as Text)];
      return [(stored as Uint8Array).byteLength === keyBytes ? null : keyIdOf(stored as Uint8Array)];
    } catch (error) {
      if (error instanceof Corrupt) return ['?'];
      throw error;
    }
  });
  if (table === 'tasks' && row.key !== null)
    ids.push(cells.isHashed(row.key as Text) ? (cells.record.newest ?? '?') : null);
  return ids;
}
