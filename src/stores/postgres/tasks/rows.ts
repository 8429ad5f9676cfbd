/** Reads and locks rows of tasks. */

import type { Json } from '../../../model/json.ts';
import type { Owner, Task, TaskId } from '../../../model/task.ts';
import type { Family } from '../../../ports/change.ts';
import type { IdempotencyScope } from '../../../ports/store.ts';
import { CorruptRecord } from '../../shared/corrupt.ts';
import { hasSeparateResult, journalIn, taskOf, withResult } from '../../shared/task-texts.ts';
import { familyIn } from '../../shared/trees.ts';
import { prepared } from '../connections/driver.ts';
import type { Connections, Transaction } from '../connections/pool.ts';
import { type Cells, name, named } from '../encryption/cells.ts';
import { BatchedReads } from './batched-reads.ts';
import type { CachedRow } from './row-cache.ts';

export interface TaskRow {
  readonly seq: number;
  readonly id: string;
  readonly body: string;
  readonly lease_until: number | null;
  /** See `RowVersion.xmin`. */
  readonly xmin: string;
}

/** The id of a task, and its owner if that must match; both encoded as in their columns. */
interface LookUp {
  readonly id: string;
  readonly owner: string | null;
}

/** The journal entries of one commit. */
interface JournalRow {
  /** The position of the task in the request, from 1. */
  readonly nth: number;
  /** The number of commits of the task that have journal entries, to detect missing ones. */
  readonly journals: number;
  readonly version: number;
  readonly journal: string;
}

/** Runs statements: a connection or a transaction. */
type Source = Pick<Transaction, 'query'>;

export class Rows {
  readonly #connections: Connections;
  readonly #cells: Cells;
  readonly #sql: ReturnType<typeof statements>;
  readonly #gets = new BatchedReads<LookUp, TaskRow | undefined>((some) => this.#find(some));
  readonly #journals = new BatchedReads<string, JournalRow[]>((some) => this.#findJournals(some));

  constructor(connections: Connections, cells: Cells, schema: string) {
    this.#connections = connections;
    this.#cells = cells;
    this.#sql = statements(schema);
  }

  async get(id: TaskId, owner?: Owner): Promise<Task | undefined> {
    const row = await this.#gets.get({ id: name(id), owner: owner === undefined ? null : name(owner) });
    if (!row) return undefined;
    const task = this.task(row);
    if (!hasSeparateResult(task)) return task;
    const [result] = await this.#connections.query<{ value: string }>(this.#sql.resultApart, [row.seq]);
    if (result) return withResult(task, result.value, this.#cells);
    // The task may have been purged between the two statements.
    if (!(await this.#gets.get({ id: name(id), owner: null }))) return undefined;
    throw new CorruptRecord(id, 'its result is missing');
  }

  async family(id: TaskId): Promise<Family | undefined> {
    const rows = await this.#connections.query<TaskRow>(this.#sql.family, [name(id)]);
    const tasks = new Map(rows.map((row) => [named(row.id), this.task(row)]));
    return familyIn(tasks, id);
  }

  async asking(rootId: TaskId): Promise<Task[]> {
    const rows = await this.#connections.query<TaskRow>(this.#sql.asking, [name(rootId)]);
    return rows.map((row) => this.task(row)).sort((one, other) => one.depth - other.depth);
  }

  async journal(id: TaskId): Promise<Json[]> {
    const commits = await this.#journals.get(name(id));
    return commits.length === 0 ? [] : journalIn(id, commits, commits[0]!.journals, this.#cells);
  }

  async leaveOut(before: number, limit: number): Promise<number> {
    const [row] = await this.#connections.query<{ passes: number }>(this.#sql.leaveOut, [before, limit]);
    return row!.passes;
  }

  // --- For commands, inside a transaction -----------------------------------------------------------------

  /**
   * Locks tasks in order of their row numbers. Every transaction uses this order, which prevents deadlocks. Missing
   * tasks are omitted.
   */
  async lock(transaction: Source, { tasks, lineages, families }: Closure): Promise<CachedRow[]> {
    const rows =
      lineages.length + families.length === 0
        ? await transaction.query<TaskRow>(this.#sql.lock, [tasks.map(name)])
        : await transaction.query<TaskRow>(
            this.#sql.lockAround,
            [tasks, lineages, families].map((ids) => ids.map(name)),
          );
    return rows.map((row) => this.cached(row));
  }

  /** Locks the tasks with these idempotency keys, in whatever form the keys are stored. */
  async lockBearers(transaction: Source, scopes: readonly IdempotencyScope[]): Promise<CachedRow[]> {
    const borne = scopes.flatMap((scope) => this.#cells.keysOf(scope).map((key) => ({ ...scope, key })));
    const rows = await transaction.query<TaskRow>(this.#sql.lockBearers, [
      borne.map(({ owner }) => name(owner)),
      borne.map(({ tool }) => name(tool)),
      borne.map(({ key }) => key),
    ]);
    return rows.map((row) => this.cached(row));
  }

  cached(row: TaskRow): CachedRow {
    const { seq, xmin, body } = row;
    return { task: this.task(row), version: { seq, xmin, length: body.length } };
  }

  task(row: TaskRow): Task {
    return taskOf({ ...row, id: named(row.id) }, this.#cells);
  }

  async #findJournals(ids: readonly string[]): Promise<JournalRow[][]> {
    const rows = await this.#connections.query<JournalRow>(this.#sql.journals, [ids]);
    const found: JournalRow[][] = ids.map(() => []);
    for (const row of rows) found[row.nth - 1]!.push(row);
    return found;
  }

  async #find(some: readonly LookUp[]): Promise<(TaskRow | undefined)[]> {
    const rows = await this.#connections.query<TaskRow & { nth: number }>(this.#sql.find, [
      some.map(({ id }) => id),
      some.map(({ owner }) => owner),
    ]);
    const found = new Map(rows.map((row) => [row.nth - 1, row]));
    return some.map((_, nth) => found.get(nth));
  }
}

/**
 * The tasks that a transaction must read: by themselves (`tasks`), with their ancestors (`lineages`), or with ancestors
 * and descendants (`families`).
 */
export interface Closure {
  readonly tasks: readonly TaskId[];
  readonly lineages: readonly TaskId[];
  readonly families: readonly TaskId[];
}

function statements(schema: string) {
  const columns = 't.seq, t.id, t.body, t.lease_until, t.xmin::text as xmin';
  const tasks = `${schema}.tasks`;
  // `offset 0` forces a look-up for each row. The planner overestimates the number of rows and would scan whole tables.
  const above = (ids: string) => `
    select seq, parent_id from ${tasks} where id = any(${ids})
    union select t.seq, t.parent_id from above
      cross join lateral (select seq, parent_id from ${tasks} where id = above.parent_id offset 0) t`;
  const below = (ids: string) => `
    select seq, id from ${tasks} where id = any(${ids})
    union select t.seq, t.id from below
      cross join lateral (select seq, id from ${tasks} where parent_id = below.id offset 0) t`;
  return prepared({
    // Compares the owner before reading the body, so that the duration does not reveal whether a task exists.
    find: `
      select v.nth, ${columns} from unnest($1::text[], $2::text[]) with ordinality as v (id, owner, nth)
      cross join lateral (
        select *, xmin from ${tasks} where id = v.id and (v.owner is null or owner = v.owner) offset 0) t`,
    family: `
      with recursive above as (${above('array[$1::text]')}), below as (${below('array[$1::text]')})
      select ${columns} from ${tasks} t
      where seq = any(array(select seq from above union select seq from below))
      order by seq`,
    // The left join returns a row even if all commits are missing, so that this is reported as corrupt.
    journals: `
      select v.nth, t.journals, c.version, c.journal
      from unnest($1::text[]) with ordinality as v (id, nth)
      cross join lateral (select seq, journals from ${tasks} where id = v.id offset 0) t
      left join lateral (
        select version, journal from ${schema}.commits where task = t.seq and journal is not null offset 0) c on true
      order by v.nth, c.version`,
    leaveOut: `select ${schema}.leave_out($1, $2) as passes`,
    // Tasks of a tree with an open question, and those between them and the root, without the root.
    asking: `
      with recursive path as (
        select seq, parent_id from ${tasks} where root_id = $1 and waiting
        union select t.seq, t.parent_id from path cross join lateral (
          select seq, parent_id from ${tasks} where id = path.parent_id and parent_id is not null offset 0) t)
      select ${columns} from ${tasks} t where seq = any(array(select seq from path)) order by seq`,
    resultApart: `select value from ${schema}.results where task = $1`,
    lock: `select ${columns} from ${tasks} t where id = any($1::text[]) order by seq for update`,
    // $1: tasks; $2: lineages; $3: families.
    lockAround: `
      with recursive above as (${above('$2::text[] || $3::text[]')}), below as (${below('$3::text[]')})
      select ${columns} from ${tasks} t
      where seq = any(array(
        select seq from ${tasks} where id = any($1::text[]) union select seq from above union select seq from below))
      order by seq for update of t`,
    lockBearers: `
      select ${columns} from ${tasks} t
      where seq = any(array(
        select b.seq from unnest($1::text[], $2::text[], $3::text[]) as v (owner, tool, key)
        cross join lateral (
          select seq from ${tasks}
          where owner = v.owner and tool = v.tool and idempotency_key = v.key offset 0) b))
      order by seq for update of t`,
  });
}
