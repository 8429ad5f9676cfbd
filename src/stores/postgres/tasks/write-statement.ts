/**
 * The statement that writes all commands of one transaction. Values are sent as one array per column. A statement
 * contains only the tables that its transaction writes, so there are few different statements, each planned once per
 * connection. It takes effect only if every updated row is still the version that was read, the row of the lane
 * contains the previous turn, and the encryption record has not changed since the values were encrypted.
 */
import type { AuditRow } from '../../shared/audit.ts';
import type { Statement } from '../connections/driver.ts';
import type { Turn } from '../connections/write-lanes.ts';
import { revisionIn } from '../encryption/vault.ts';
import { serverNow } from '../queue/ready-tasks.ts';
import { insertEntries } from './audit.ts';

/**
 * SQL types of columns, and two ways to send an array of texts. `names` are sent as an array literal, each quoted.
 * `texts` are JSON or encrypted values, which contain no control characters: they are only joined, which is faster, and
 * an empty text means null.
 */
type ColumnType = 'integer' | 'bigint' | 'double precision' | 'boolean' | 'xid' | 'names' | 'texts';

type Columns = Readonly<Record<string, ColumnType>>;

/** Columns that are written once, when a task is created. */
const place = {
  id: 'names',
  owner: 'names',
  tool: 'names',
  tool_version: 'names',
  parent_id: 'names',
  root_id: 'names',
  ordinal: 'integer',
  created_at: 'double precision',
  idempotency_key: 'names',
  answering: 'names',
} as const satisfies Columns;

/** Columns that every commit of a task may change. `journals` is the increment. */
const state = {
  epoch: 'integer',
  worker: 'names',
  lease_ms: 'double precision',
  ready: 'boolean',
  wake_at: 'double precision',
  deadline_at: 'double precision',
  purge_at: 'double precision',
  ended_at: 'double precision',
  unpublished: 'boolean',
  waiting: 'boolean',
  status: 'integer',
  join_key: 'names',
  body: 'texts',
  journals: 'integer',
} as const satisfies Columns;

/**
 * The lists of rows that a statement can write, with their columns. A row of a task that the same statement inserts has
 * no row number yet. Its `nth` is the position of the task among the inserted ones, from 1.
 */
const lists = {
  inserted: { ...place, ...state },
  updated: { seq: 'bigint', xmin: 'xid', ...state },
  commits: {
    task: 'bigint',
    nth: 'integer',
    version: 'integer',
    at: 'double precision',
    events: 'texts',
    journal: 'texts',
    idle: 'boolean',
  },
  removals: { id: 'names', version: 'integer', at: 'double precision' },
  results: { seq: 'bigint', nth: 'integer', value: 'texts' },
} as const satisfies Record<string, Columns>;

type Row = Record<string, string | number | boolean | null>;
type List = keyof typeof lists;
type Value<Type extends string> = Type extends 'integer' | 'bigint' | 'double precision'
  ? number | null
  : Type extends 'boolean'
    ? boolean | null
    : string | null;
export type RowOf<L extends List> = {
  readonly [Column in keyof (typeof lists)[L]]: Value<(typeof lists)[L][Column] & string>;
};

/** Everything that one transaction writes, except the deletion of rows. */
export type Lists = { readonly [L in List]: readonly RowOf<L>[] } & {
  readonly audit: readonly AuditRow<string>[];
};

/** Preconditions of the statement. */
export interface Terms {
  /** The revision of the encryption record that encrypted the values. */
  readonly revision: string;
  readonly turn: Turn;
}

/** The result of the statement. */
export interface WrittenRow {
  /** The id of its transaction; null if it wrote no commits. */
  readonly xact: string | null;
  /** The row numbers of inserted tasks in their order, separated by commas; null if there are none. */
  readonly inserted: string | null;
}

export class WriteStatements {
  readonly #schema: string;
  /** Statements by name, which lists what they write. */
  readonly #shapes = new Map<string, Statement>();

  constructor(schema: string) {
    this.#schema = schema;
  }

  /** The statement for these rows, and its values. */
  of(written: Lists, { revision, turn }: Terms): { statement: Statement; values: unknown[] } {
    const used = (Object.keys(lists) as List[]).filter((list) => written[list].length > 0);
    const hasAudit = written.audit.length > 0;
    const name = `write ${used.join(' ')}${hasAudit ? ' audit' : ''}`;
    let statement = this.#shapes.get(name);
    if (!statement) {
      statement = { name, text: this.#text(new Set(used), hasAudit) };
      this.#shapes.set(name, statement);
    }
    const values: unknown[] = [
      ...[turn.lane, turn.before, turn.after, revision, written.updated.length],
      ...(hasAudit ? [JSON.stringify(written.audit)] : []),
    ];
    for (const list of used)
      for (const [column, type] of Object.entries<ColumnType>(lists[list]))
        values.push(arrayOf<object>(type, written[list], (row) => (row as Row)[column]!));
    return { statement, values };
  }

  /**
   * $1: lane; $2 and $3: its turn before and after; $4: revision; $5: number of updated rows; $6: audit entries, if
   * there are some. One array for each column follows.
   */
  #text(used: ReadonlySet<List>, hasAudit: boolean): string {
    const schema = this.#schema;
    let parameters = hasAudit ? 6 : 5;
    const rows = new Map(
      [...used].map((list) => {
        const columns: Columns = lists[list];
        const arrays = Object.values(columns).map((type) => arrayIn(type, `$${++parameters}`));
        return [list, `unnest(${arrays}) with ordinality as v (${Object.keys(columns)}, place)`];
      }),
    );
    const all = Object.keys(lists.inserted);
    // The row number of a task; for an inserted one, the row number that the insertion returned.
    const one = (seq: string) =>
      used.has('inserted')
        ? `coalesce(v.${seq}, ((select array_agg(seq order by seq) from inserted))[v.nth])`
        : `v.${seq}`;
    const assignments = Object.keys(state).map((name) =>
      name === 'journals' ? 'journals = t.journals + v.journals' : `${name} = v.${name}`,
    );
    const until = `${serverNow} + v.lease_ms`;
    const parts: Record<List, string> = {
      inserted: `
        insert into ${schema}.tasks (${all}, lease_until) select ${all}, ${until} from ${rows.get('inserted')} returning seq`,
      // Only a new claim has a higher epoch, and only a new claim begins a lease. Other commits keep the lease and
      // `alone` if the worker stays the same.
      updated: `
        update ${schema}.tasks t set deserted = false, ${assignments},
          lease_until = case when v.epoch > t.epoch then ${until} when v.worker is not null then t.lease_until end,
          alone = case when v.epoch = t.epoch and v.worker is not null then t.alone end
        from ${rows.get('updated')} where t.seq = v.seq and t.xmin = v.xmin returning 1`,
      results: `
        insert into ${schema}.results (task, value) select ${one('seq')}, v.value from ${rows.get('results')}
        on conflict (task) do update set value = excluded.value`,
      commits: `
        insert into ${schema}.commits (task, version, at, events, journal, idle)
        select ${one('task')}, v.version, v.at, v.events, v.journal, v.idle from ${rows.get('commits')} returning xact`,
      removals: `
        insert into ${schema}.removals (id, version, at) select v.id, v.version, v.at from ${rows.get('removals')}`,
    };
    const ctes = [...used].map((list) => `${list} as (${parts[list]})`);
    if (hasAudit) ctes.push(`audited as (${insertEntries(schema, '$6::text::json')})`);
    const inserted = used.has('inserted')
      ? `(select string_agg(seq::text, ',' order by seq) from inserted)`
      : 'null';
    // True if every row to update still had the expected version.
    const areAll = used.has('updated') ? '(select count(*) from updated) = $5' : '$5 = 0';
    return `
      with ${ctes.join(', ')},
      turned as (update ${schema}.lanes set turn = $3 where name = $1 and turn = $2 returning 1),
      verified as materialized (
        select ${schema}.verify(
          ${areAll} and (select count(*) from turned) = 1 and ${revisionIn(schema)} = $4) as is_valid)
      select ${used.has('commits') ? '(select max(xact::text) from commits)' : 'null'} as xact,
        ${inserted} as inserted
      from verified where is_valid`;
  }
}

// --- Encoding of columns: done here, because `pg` would inspect each value, which is slower.

type Cell = string | number | boolean | null;

/** `chr(31)` in SQL. */
const separator = '\u001f';

/** An SQL expression that converts the parameter from `arrayOf` to an array. */
function arrayIn(type: ColumnType, parameter: string): string {
  if (type === 'texts') return `string_to_array(${parameter}::text, chr(31), '')`;
  return `${parameter}::${type === 'names' ? 'text' : type}[]`;
}

/** The values of one column as the text of one parameter. */
function arrayOf<Row>(type: ColumnType, rows: readonly Row[], value: (row: Row) => Cell): string {
  if (type === 'texts') return rows.map((row) => value(row) ?? '').join(separator);
  const literal = type === 'names' ? quoted : String;
  let written = '{';
  for (const [index, row] of rows.entries()) {
    const one = value(row);
    if (index > 0) written += ',';
    written += one === null ? 'NULL' : literal(one);
  }
  return `${written}}`;
}

function quoted(text: Cell): string {
  return `"${(text as string).replace(/["\\]/g, '\\$&')}"`;
}
