/**
 * The statement by which the commands of one transaction are written. Values go to the server as one array for each
 * column; what a transaction has nothing of is left out of its statement, so that there are a few shapes of it, each
 * planned once. It holds as a whole or not at all: every row that is changed must be the one that was read, the lane
 * must have its turn, and values must be encrypted with the newest key of the store.
 */
import type { AuditRow } from '../../shared/audit.ts';
import type { Statement } from '../connections/driver.ts';
import type { Turn } from '../connections/write-lanes.ts';
import { revisionIn } from '../encryption/vault.ts';
import { serverNow } from '../queue/ready-tasks.ts';
import { insertEntries } from './audit.ts';

/**
 * `names` are escaped one by one. `texts` are what JSON or encryption made, in which control characters never stand as
 * they are: they are only joined, and an empty one stands for none.
 */
type ColumnType = 'integer' | 'bigint' | 'double precision' | 'boolean' | 'xid' | 'names' | 'texts';

type Columns = Readonly<Record<string, ColumnType>>;

/** What is written once, when a task is made. */
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

/** What every commit of a task may change. `journals` is by how much that grows. */
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

/** `nth` is the place of a row that the same statement makes, among those it makes. */
const lists = {
  made: { ...place, ...state },
  changed: { seq: 'bigint', xmin: 'xid', ...state },
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

/** All that one transaction writes, but for what it removes. */
export type Lists = { readonly [L in List]: readonly RowOf<L>[] } & {
  readonly audit: readonly AuditRow<string>[];
};

export interface Terms {
  /** That of the encryption's record as values were written. */
  readonly revision: string;
  readonly turn: Turn;
}

/** What the statement gives: its transaction, and the numbers of the tasks that it made, with commas. */
export interface WrittenRow {
  readonly xact: string | null;
  readonly made: string | null;
}

export class WriteStatements {
  readonly #schema: string;
  readonly #shapes = new Map<string, Statement>();

  constructor(schema: string) {
    this.#schema = schema;
  }

  of(written: Lists, { revision, turn }: Terms): { statement: Statement; values: unknown[] } {
    const used = (Object.keys(lists) as List[]).filter((list) => written[list].length > 0);
    const isSaid = written.audit.length > 0;
    const name = `write ${used.join(' ')}${isSaid ? ' audit' : ''}`;
    let statement = this.#shapes.get(name);
    if (!statement) {
      statement = { name, text: this.#text(new Set(used), isSaid) };
      this.#shapes.set(name, statement);
    }
    const values: unknown[] = [
      ...[turn.lane, turn.before, turn.after, revision, written.changed.length],
      ...(isSaid ? [JSON.stringify(written.audit)] : []),
    ];
    for (const list of used)
      for (const [column, type] of Object.entries<ColumnType>(lists[list]))
        values.push(arrayOf<object>(type, written[list], (row) => (row as Row)[column]!));
    return { statement, values };
  }

  #text(used: ReadonlySet<List>, isSaid: boolean): string {
    const schema = this.#schema;
    let parameters = isSaid ? 6 : 5;
    const rows = new Map(
      [...used].map((list) => {
        const columns: Columns = lists[list];
        const arrays = Object.values(columns).map((type) => arrayIn(type, `$${++parameters}`));
        return [list, `unnest(${arrays}) with ordinality as v (${Object.keys(columns)}, place)`];
      }),
    );
    const all = Object.keys(lists.made);
    const one = (seq: string) =>
      used.has('made')
        ? `coalesce(v.${seq}, ((select array_agg(seq order by seq) from made))[v.nth])`
        : `v.${seq}`;
    const assignments = Object.keys(state).map((name) =>
      name === 'journals' ? 'journals = t.journals + v.journals' : `${name} = v.${name}`,
    );
    const until = `${serverNow} + v.lease_ms`;
    const parts: Partial<Record<List | 'said', string>> = {
      made: `
        insert into ${schema}.tasks (${all}, lease_until) select ${all}, ${until} from ${rows.get('made')} returning seq`,
      // A claim is known by its epoch: only with it does a lease begin.
      changed: `
        update ${schema}.tasks t set deserted = false, ${assignments},
          lease_until = case when v.epoch > t.epoch then ${until} when v.worker is not null then t.lease_until end,
          alone = case when v.epoch = t.epoch and v.worker is not null then t.alone end
        from ${rows.get('changed')} where t.seq = v.seq and t.xmin = v.xmin returning 1`,
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
    if (isSaid) ctes.push(`said as (${insertEntries(schema, '$6::text::json')})`);
    const made = used.has('made') ? `(select string_agg(seq::text, ',' order by seq) from made)` : 'null';
    const areAll = used.has('changed') ? '(select count(*) from changed) = $5' : '$5 = 0';
    return `
      with ${ctes.join(', ')},
      turned as (update ${schema}.lanes set turn = $3 where name = $1 and turn = $2 returning 1),
      held as materialized (
        select ${schema}.hold(
          ${areAll} and (select count(*) from turned) = 1 and ${revisionIn(schema)} = $4) as is_so)
      select ${used.has('commits') ? '(select max(xact::text) from commits)' : 'null'} as xact,
        ${made} as made
      from held where is_so`;
  }
}

// --- Columns on their way to the server: written out here, because `pg` would ask each value what it is.

type Cell = string | number | boolean | null;

const between = '\u001f';

/** The parameter as an array, in SQL. */
function arrayIn(type: ColumnType, parameter: string): string {
  if (type === 'texts') return `string_to_array(${parameter}::text, chr(31), '')`;
  return `${parameter}::${type === 'names' ? 'text' : type}[]`;
}

function arrayOf<Row>(type: ColumnType, rows: readonly Row[], value: (row: Row) => Cell): string {
  if (type === 'texts') return rows.map((row) => value(row) ?? '').join(between);
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
