/**
 * Re-encrypts the values of a store that are not encrypted with its newest key, in small batches, and then counts all
 * values by their keys. Values under the newest key are passed over, so that it can be interrupted and repeated at any
 * time. A value that cannot be read stays as it is, and is counted.
 */
import { hasCode } from '../../../model/errors.ts';
import { pause, runtime } from '../../../runtime/runtime.ts';
import { type AuditRow, placeOfSaid } from '../audit.ts';
import { Corrupt } from '../corrupt.ts';
import type { Tables, Value } from '../tables.ts';
import { taskIn } from '../task-texts.ts';
import type { Cells } from './cells.ts';
import { keyIdOf } from './cipher.ts';
import { keyBytes } from './keys.ts';
import { type EncryptionRecord, settled } from './record.ts';

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
const tableNames = Object.keys(valueColumns) as Table[];

/** What a row is found by, all columns that a value is bound to, and `key`, the idempotency key of a task. */
type Row = Readonly<Record<string, Value>>;

/** How a database finds the rows of a table: by numbers that grow, and with the columns that a value is bound to. */
export interface Source {
  readonly keys: readonly string[];
  /** The table itself is `r`. */
  readonly bound: string;
}

/** How many bytes of a value are enough to find the id of its key. */
export const headerBytes = 66;
/** Bounds how long the event loop is blocked by one batch. */
const batchRows = 100;
const batchBytes = 256 * 1024;
const scannedRows = 1_000;
const firstRows = 4;

export interface RekeyTarget<Text extends Value> {
  readonly tables: Tables<Text>;
  readonly sources: Readonly<Record<Table, Source>>;
  /** How long the beginning of a value is that names its key, as it stands in a column. */
  readonly headerLength: number;
  /** In one transaction that no other one writes values next to. */
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
  // From here on nobody writes with an older key, unless the record changes: then its new key has a rekeying of its own.
  const { revision } = cells.record;
  const counts = new Map<string | null, number>();
  for (const table of tableNames) {
    const start = (column: string) => `substr(${column}, 1, ${headerLength}) as ${column}`;
    const sql = select(target, table, table === 'secrets' ? (column) => column : start);
    for await (const rows of batches(target, table, sql, scannedRows))
      for (const row of rows)
        for (const id of keyIdsIn(table, row, cells)) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
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

/** All rows of a table. Rests as long as each batch took, so that others get their share of the database. */
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

/** Returns how many values were re-encrypted. */
async function rewrite<Text extends Value>(
  { tables, sources }: RekeyTarget<Text>,
  table: Table,
  rows: readonly Row[],
): Promise<number> {
  const columns = table === 'tasks' ? ['body', 'idempotency_key'] : valueColumns[table];
  // A row that has changed since it was read has been written with the newest key.
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

/** The values of a row under the newest key; undefined if they are already, or cannot be read. */
function reencrypted<Text extends Value>(table: Table, row: Row, cells: Cells<Text>): Value[] | undefined {
  const { newest } = cells.record;
  if (keyIdsIn(table, row, cells).every((id) => id === newest)) return undefined;
  try {
    return valuesOf(table, row, cells);
  } catch (error) {
    // Of a single value: the keys that the store has recorded were checked before.
    if (error instanceof Corrupt || error instanceof SyntaxError || hasCode(error, 'STORE_NOT_UNLOCKED'))
      return undefined;
    throw error;
  }
}

function valuesOf<Text extends Value>(table: Table, row: Row, cells: Cells<Text>): Value[] {
  const id = table === 'audit' ? placeOfSaid(row as unknown as AuditRow<Text>) : (row.id as string);
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

/** One for each value. A hash counts as a value under the newest key, and as one without a key if there is none. */
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
