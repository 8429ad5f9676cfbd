/** `TaskQueries` on any SQL database: pages and counts in order of row numbers, histories, and overviews. */

import { statusOf, taskStatuses } from '../../../model/status.ts';
import type { Task, TaskId } from '../../../model/task.ts';
import {
  type CorruptTask,
  type HistoryCommit,
  type HistoryPage,
  isCorrupt,
  type QueryPage,
  type TaskCount,
  type TaskFilter,
  type TaskQueries,
} from '../../../ports/query.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { runtime } from '../../../runtime/runtime.ts';
import { CorruptRecord, readingTask } from '../corrupt.ts';
import { eventsIn, taskIn, withLease } from '../task-texts.ts';
import { numberBefore } from './cursor.ts';
import { overviewsOf } from './overview.ts';
import { clockSlackMs, type Dialect, type Lane, QuerySql, type Range, type Sql } from './sql.ts';
import { codeOf, isLive, statusOfCode } from './status-codes.ts';

/** After this time a page or a count ends with the current portion. */
const budgetMs = 40;
/** The first portion of a page is small, because it is often enough. */
const minPortion = 64;
const maxPortion = 4_096;
/** How many rows one statement counts, if that many are requested. */
const minCounted = 1_024;
const maxCounted = 16_384;
/** An owner with fewer tasks than this is scanned completely. */
const maxScanned = 10_000;
/** Lists omit the results of tasks with longer bodies. */
const maxListedBody = 8 * 1024;
/** A page with more text than this ends early. */
const maxPageLength = 1024 * 1024;
const maxCommits = 1_000;

/** The database port for queries. `Text` is the type of a text column. */
export interface QuerySource<Text> extends Dialect {
  /** Runs one read-only statement. */
  all<Row>(sql: Sql): Promise<Row[]>;
  /** Decrypts the text of a column, if it is encrypted. */
  read(stored: Text, column: string, id: TaskId, version?: number): string;
}

export interface QueryOptions {
  readonly clock: Clock;
  /** Called when a query begins. Returns a function that is true once the query has taken too long. */
  readonly budget?: () => () => boolean;
}

interface Row<Text> {
  readonly seq: number;
  readonly id: TaskId;
  readonly owner: string;
  readonly tool: string;
  readonly status: number;
  readonly created_at: number;
  readonly lease_until: number | null;
  readonly body: Text;
}

/** A row of a portion. It has a body only if it fits the filter. */
interface ScannedRow<Text> extends Row<Text> {
  readonly fits: boolean | number;
  readonly scanned: number;
  readonly lowest: number;
}

export class SqlTaskQueries<Text extends { readonly length: number }> implements TaskQueries {
  readonly #source: QuerySource<Text>;
  readonly #sql: QuerySql;
  readonly #budget: () => () => boolean;
  readonly overview: TaskQueries['overview'];

  constructor(source: QuerySource<Text>, { clock, budget = timeBudget }: QueryOptions) {
    this.#source = source;
    this.#sql = new QuerySql(source);
    this.#budget = budget;
    this.overview = overviewsOf(source, this.#sql, clock);
  }

  async list({
    limit,
    cursor,
    ...filter
  }: TaskFilter & { readonly limit: number; readonly cursor?: string }): Promise<QueryPage> {
    let reached = numberBefore(cursor);
    const isOutOfTime = this.#budget();
    const known = await this.#findById(filter);
    if (known) return { tasks: cursor === undefined ? known.map((row) => this.#listed(row)) : [] };
    const tasks: (Task | CorruptTask)[] = [];
    let length = 0;
    for await (const { rows, isLast } of this.#portions(filter, reached, limit + 1)) {
      for (const row of rows) {
        if (this.#isFound(row, filter)) {
          if (tasks.length === limit || length > maxPageLength) return { tasks, nextCursor: String(reached) };
          tasks.push(this.#listed(row));
          length += Math.min(row.body.length, maxListedBody);
        }
        reached = row.seq;
      }
      if (!isLast && isOutOfTime()) return { tasks, nextCursor: String(reached) };
    }
    return { tasks };
  }

  async count(filter: TaskFilter, upTo: number): Promise<TaskCount> {
    const isOutOfTime = this.#budget();
    const known = await this.#findById(filter);
    if (known) return { count: known.length, isMore: false };
    let total = 0;
    for await (const { count, isLast } of this.#counts(filter, upTo + 1)) {
      total += count;
      if (total > upTo || (!isLast && isOutOfTime())) return { count: Math.min(total, upTo), isMore: true };
    }
    return { count: total, isMore: false };
  }

  async history(
    id: TaskId,
    { afterVersion, limit }: { readonly afterVersion: number; readonly limit: number },
  ): Promise<HistoryPage | undefined> {
    const [row] = await this.#source.all<Row<Text>>(this.#sql.find(id));
    if (!row) return undefined;
    const rows = await this.#source.all<{
      version: number;
      at: number;
      events: Text;
      journal: Text | null;
      left_out: number;
    }>(this.#sql.history(row.seq, afterVersion, Math.min(limit, maxCommits)));
    const commits = rows.map(({ version, at, events, journal, left_out }, n): HistoryCommit => {
      // Each commit is one version. Commits omitted since the previous page was read may overlap with that page.
      const known = rows[n - 1]?.version ?? afterVersion;
      const isGap = version - 1 - left_out > known || (n > 0 && version - 1 - left_out < known);
      if (isGap) throw new CorruptRecord(id, 'some of its commits are missing');
      const read = (stored: Text, column: string) => this.#source.read(stored, column, id, version);
      return readingTask(id, () => ({
        version,
        at,
        events: eventsIn(read(events, 'commits.events')),
        journal: journal === null ? [] : JSON.parse(read(journal, 'commits.journal')),
      }));
    });
    // The version of the task shows whether the history is complete.
    const task = this.#taskIn(row);
    if (isCorrupt(task)) throw new CorruptRecord(id, 'a stored value is not readable');
    const last = commits.at(-1)?.version ?? task.version;
    return last < task.version ? { commits, nextVersion: last } : { commits };
  }

  // --- Searching ------------------------------------------------------------------------------------------

  /** If the text is a complete task id, the query returns only that task, even if it is a subtask. */
  async #findById(filter: TaskFilter): Promise<Row<Text>[] | undefined> {
    const { owner, tool, statuses, since, until } = filter;
    if (statuses?.length === 0) return [];
    const id = filter.text?.trim();
    const [row] = id ? await this.#source.all<Row<Text>>(this.#sql.find(id)) : [];
    if (!row) return undefined;
    const task = this.#taskIn(row);
    const status = isCorrupt(task) ? (task.status ?? 'lost') : statusOf(task);
    const fits =
      (owner ?? task.owner) === task.owner &&
      (tool ?? task.tool) === task.tool &&
      (statuses ?? taskStatuses).includes(status) &&
      (since ?? task.createdAt) <= task.createdAt &&
      (until === undefined || task.createdAt < until);
    return fits ? [row] : [];
  }

  /** Rows whose columns fit the filter, newest first, and the last row of each portion. */
  async *#portions(filter: TaskFilter, below: number, wanted: number) {
    const lanes = await this.#lanes(filter);
    let range = await this.#range(filter, below);
    for (let size = Math.max(wanted, minPortion); ; ) {
      const rows = await this.#source.all<ScannedRow<Text>>(this.#sql.portion(lanes, range, size, filter));
      const last = rows.at(-1);
      const isCut = last !== undefined && last.seq !== last.lowest;
      const isLast = !isCut && (last?.scanned ?? 0) < size;
      yield { rows, isLast };
      if (isLast) return;
      range = { ...range, before: last!.seq };
      // With long bodies, larger portions would be cut and read in vain.
      size = isCut ? rows.length : Math.min(size * 4, maxPortion);
    }
  }

  async *#counts(filter: TaskFilter, wanted: number): AsyncGenerator<{ count: number; isLast: boolean }> {
    if (filter.text?.trim()) {
      for await (const { rows, isLast } of this.#portions(filter, Number.MAX_SAFE_INTEGER, minPortion))
        yield { count: rows.filter((row) => this.#isFound(row, filter)).length, isLast };
      return;
    }
    const lanes = await this.#lanes(filter);
    let range = await this.#range(filter, Number.MAX_SAFE_INTEGER);
    const size = Math.min(Math.max(wanted, minCounted), maxCounted);
    for (let isLast = false; !isLast; ) {
      const sql = this.#sql.count(lanes, range, size, filter);
      const [row] = await this.#source.all<{ count: number; scanned: number; lowest: number }>(sql);
      isLast = row!.scanned < size;
      yield { count: row!.count, isLast };
      range = { ...range, before: row!.lowest };
    }
  }

  /** The smallest set of index ranges that contains every matching task exactly once. */
  async #lanes(filter: TaskFilter): Promise<Lane[]> {
    const { owner, tool, statuses = taskStatuses } = filter;
    const asking = filter.statuses?.includes('waiting') ? [this.#sql.asking()] : [];
    const widest = owner === undefined ? [this.#sql.all()] : [this.#sql.ofOwner(owner), ...asking];
    const isRare = !statuses.includes('completed');
    if (!isRare && tool === undefined) return widest;
    if (owner !== undefined && (await this.#isShorter(widest[0]!, maxScanned))) return widest;
    const live = statuses.some(isLive) ? [this.#sql.live(filter)] : [];
    const ended = isRare
      ? statuses.filter((one) => !isLive(one)).map((one) => this.#sql.ended(codeOf(one)))
      : [this.#sql.endedOfTool(tool!)];
    return [...live, ...asking, ...ended];
  }

  async #isShorter(lane: Lane, than: number): Promise<boolean> {
    const [row] = await this.#source.all<{ count: number }>(this.#sql.size(lane, than));
    return row!.count < than;
  }

  /** The row numbers of tasks created in the time range of the filter. */
  async #range({ since, until }: TaskFilter, below: number): Promise<Range> {
    const firstSince = async (at: number) =>
      (await this.#source.all<{ seq: number }>(this.#sql.firstSince(at)))[0]!.seq;
    return {
      from: since === undefined ? 0 : await firstSince(since - clockSlackMs),
      before: until === undefined ? below : Math.min(below, await firstSince(until + clockSlackMs)),
    };
  }

  #isFound(row: ScannedRow<Text>, { text }: TaskFilter): boolean {
    if (!row.fits) return false;
    const needle = text?.trim().toLowerCase();
    if (!needle) return true;
    return (
      [row.id, row.tool, row.owner].some((one) => one.toLowerCase().includes(needle)) ||
      (this.#statusMessageIn(row)?.toLowerCase().includes(needle) ?? false)
    );
  }

  // --- Reading rows ---------------------------------------------------------------------------------------

  #listed(row: Row<Text>): Task | CorruptTask {
    const task = this.#taskIn(row);
    if (row.body.length <= maxListedBody || isCorrupt(task)) return task;
    if (task.phase !== 'done' || task.outcome.kind !== 'result') return task;
    return { ...task, outcome: { ...task.outcome, value: null } };
  }

  #taskIn(row: Row<Text>): Task | CorruptTask {
    const { id, owner, tool, created_at: createdAt } = row;
    const task = this.#unlessCorrupt(row, (text) => {
      const found = taskIn(text);
      // JSON can contain a lone surrogate, but a text column of SQLite cannot.
      if (found.id !== id || (found.owner !== owner && found.owner.toWellFormed() !== owner))
        throw new CorruptRecord(id, 'its row contains another task');
      return withLease(found, row.lease_until);
    });
    if (task) return task;
    const status = statusOfCode(row.status);
    return { isCorrupt: true, id, owner, tool, ...(status && { status }), createdAt };
  }

  #statusMessageIn(row: Row<Text>): string | undefined {
    // Most tasks have none, and this check needs no parsing.
    if (!this.#unlessCorrupt(row, (text) => text.includes('"statusMessage":'))) return undefined;
    const task = this.#taskIn(row);
    return isCorrupt(task) ? undefined : task.statusMessage;
  }

  #unlessCorrupt<T>({ id, body }: Row<Text>, use: (text: string) => T): T | undefined {
    try {
      return readingTask(id, () => use(this.#source.read(body, 'tasks.body', id)));
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error;
      return undefined;
    }
  }
}

/** Runs every query through `guard`. */
export function guarded(queries: TaskQueries, guard: <T>(read: () => Promise<T>) => Promise<T>): TaskQueries {
  return {
    list: (query) => guard(() => queries.list(query)),
    count: (filter, upTo) => guard(() => queries.count(filter, upTo)),
    overview: (query) => guard(() => queries.overview(query)),
    history: (id, query) => guard(() => queries.history(id, query)),
  };
}

function timeBudget(): () => boolean {
  const started = runtime.monotonic();
  return () => runtime.monotonic() - started > budgetMs;
}
