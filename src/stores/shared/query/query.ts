/** The `TaskQueries` of any database: pages and counts by number, histories, and overviews. */

import { taskStatuses as allStandings, statusOf } from '../../../model/status.ts';
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

/** After this time a page or a count ends with the portion that it has read. */
const budgetMs = 40;
/** The first portion of a page is small, because it often needs no more. */
const minPortion = 64;
const maxPortion = 4_096;
/** How many rows are counted at once, if as many are wanted. */
const minCounted = 1_024;
const maxCounted = 16_384;
/** All tasks of an owner with fewer than these are compared with a filter. */
const few = 10_000;
/** Results of longer tasks are left out of lists. */
const longBody = 8 * 1024;
/** How much text a page may hold before it ends early. */
const pageLength = 1024 * 1024;
const maxCommits = 1_000;

/** A database as queries need it. `Text` is what a column of text may hold. */
export interface QuerySource<Text> extends Dialect {
  /** Runs one statement that only reads. */
  all<Row>(sql: Sql): Promise<Row[]>;
  /** The text in a column that may be encrypted. */
  read(stored: Text, column: string, id: TaskId, version?: number): string;
}

export interface QueryOptions {
  readonly clock: Clock;
  /** Called when a query begins; returns what tells whether it has taken too long. */
  readonly budget?: () => () => boolean;
}

interface Row<Text> {
  readonly seq: number;
  readonly id: TaskId;
  readonly owner: string;
  readonly tool: string;
  readonly standing: number;
  readonly created_at: number;
  readonly lease_until: number | null;
  readonly body: Text;
}

/** A row of a portion; its body is there if it fits. */
interface PassedRow<Text> extends Row<Text> {
  readonly fits: boolean | number;
  readonly passed: number;
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
    const isOver = this.#budget();
    const known = await this.#withoutSearch(filter);
    if (known) return { tasks: cursor === undefined ? known.map((row) => this.#listed(row)) : [] };
    const tasks: (Task | CorruptTask)[] = [];
    let length = 0;
    for await (const { rows, isLast } of this.#portions(filter, reached, limit + 1)) {
      for (const row of rows) {
        if (this.#isFound(row, filter)) {
          if (tasks.length === limit || length > pageLength) return { tasks, nextCursor: String(reached) };
          tasks.push(this.#listed(row));
          length += Math.min(row.body.length, longBody);
        }
        reached = row.seq;
      }
      if (!isLast && isOver()) return { tasks, nextCursor: String(reached) };
    }
    return { tasks };
  }

  async count(filter: TaskFilter, upTo: number): Promise<TaskCount> {
    const isOver = this.#budget();
    const known = await this.#withoutSearch(filter);
    if (known) return { count: known.length, isMore: false };
    let total = 0;
    for await (const { count, isLast } of this.#counts(filter, upTo + 1)) {
      total += count;
      if (total > upTo || (!isLast && isOver())) return { count: Math.min(total, upTo), isMore: true };
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
      // Every commit is one version. What was left out since the previous page was read may reach back into it.
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
    // Only the task itself tells whether its history is complete.
    const task = this.#taskIn(row);
    if (isCorrupt(task)) throw new CorruptRecord(id, 'a stored value is not readable');
    const last = commits.at(-1)?.version ?? task.version;
    return last < task.version ? { commits, nextVersion: last } : { commits };
  }

  // --- Searching ------------------------------------------------------------------------------------------

  /** A text that is the whole id of a task finds that task, a subtask too, and nothing else. */
  async #withoutSearch(filter: TaskFilter): Promise<Row<Text>[] | undefined> {
    const { owner, tool, statuses: standings, since, until } = filter;
    if (standings?.length === 0) return [];
    const id = filter.text?.trim();
    const [row] = id ? await this.#source.all<Row<Text>>(this.#sql.find(id)) : [];
    if (!row) return undefined;
    const task = this.#taskIn(row);
    const standing = isCorrupt(task) ? (task.status ?? 'lost') : statusOf(task);
    const fits =
      (owner ?? task.owner) === task.owner &&
      (tool ?? task.tool) === task.tool &&
      (standings ?? allStandings).includes(standing) &&
      (since ?? task.createdAt) <= task.createdAt &&
      (until === undefined || task.createdAt < until);
    return fits ? [row] : [];
  }

  /** Rows that fit as far as columns tell, the newest first, and the last row of each portion. */
  async *#portions(filter: TaskFilter, below: number, wanted: number) {
    const lanes = await this.#lanes(filter);
    let range = await this.#range(filter, below);
    for (let size = Math.max(wanted, minPortion); ; ) {
      const rows = await this.#source.all<PassedRow<Text>>(this.#sql.portion(lanes, range, size, filter));
      const last = rows.at(-1);
      const isCut = last !== undefined && last.seq !== last.lowest;
      const isLast = !isCut && (last?.passed ?? 0) < size;
      yield { rows, isLast };
      if (isLast) return;
      range = { ...range, before: last!.seq };
      // Where bodies are long, larger portions would be read for nothing.
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
      const [row] = await this.#source.all<{ count: number; passed: number; lowest: number }>(sql);
      isLast = row!.passed < size;
      yield { count: row!.count, isLast };
      range = { ...range, before: row!.lowest };
    }
  }

  /** The narrowest lanes that together have everything that fits, and no task twice. */
  async #lanes(filter: TaskFilter): Promise<Lane[]> {
    const { owner, tool, statuses: standings = allStandings } = filter;
    const asking = filter.statuses?.includes('waiting') ? [this.#sql.asking()] : [];
    const widest = owner === undefined ? [this.#sql.all()] : [this.#sql.ofOwner(owner), ...asking];
    const isRare = !standings.includes('completed');
    if (!isRare && tool === undefined) return widest;
    if (owner !== undefined && (await this.#isShorter(widest[0]!, few))) return widest;
    const live = standings.some(isLive) ? [this.#sql.live(filter)] : [];
    const ended = isRare
      ? standings.filter((one) => !isLive(one)).map((one) => this.#sql.ended(codeOf(one)))
      : [this.#sql.endedOfTool(tool!)];
    return [...live, ...asking, ...ended];
  }

  async #isShorter(lane: Lane, than: number): Promise<boolean> {
    const [row] = await this.#source.all<{ count: number }>(this.#sql.size(lane, than));
    return row!.count < than;
  }

  /** The numbers of tasks that were created in the time that a filter names. */
  async #range({ since, until }: TaskFilter, below: number): Promise<Range> {
    const firstSince = async (at: number) =>
      (await this.#source.all<{ seq: number }>(this.#sql.firstSince(at)))[0]!.seq;
    return {
      from: since === undefined ? 0 : await firstSince(since - clockSlackMs),
      before: until === undefined ? below : Math.min(below, await firstSince(until + clockSlackMs)),
    };
  }

  #isFound(row: PassedRow<Text>, { text }: TaskFilter): boolean {
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
    if (row.body.length <= longBody || isCorrupt(task)) return task;
    if (task.phase !== 'done' || task.outcome.kind !== 'result') return task;
    return { ...task, outcome: { ...task.outcome, value: null } };
  }

  #taskIn(row: Row<Text>): Task | CorruptTask {
    const { id, owner, tool, created_at: createdAt } = row;
    const task = this.#unlessDamaged(row, (text) => {
      const found = taskIn(text);
      // A column of SQLite cannot hold half a character, a body can.
      if (found.id !== id || (found.owner !== owner && found.owner.toWellFormed() !== owner))
        throw new CorruptRecord(id, 'the stored value is another task');
      return withLease(found, row.lease_until);
    });
    if (task) return task;
    const standing = statusOfCode(row.standing);
    return { isCorrupt: true, id, owner, tool, ...(standing && { status: standing }), createdAt };
  }

  #statusMessageIn(row: Row<Text>): string | undefined {
    // Most tasks have none, and finding that out takes no parsing.
    if (!this.#unlessDamaged(row, (text) => text.includes('"statusMessage":'))) return undefined;
    const task = this.#taskIn(row);
    return isCorrupt(task) ? undefined : task.statusMessage;
  }

  #unlessDamaged<T>({ id, body }: Row<Text>, use: (text: string) => T): T | undefined {
    try {
      return readingTask(id, () => use(this.#source.read(body, 'tasks.body', id)));
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error;
      return undefined;
    }
  }
}

/** The same `TaskQueries`, whose every query goes through `reading`. */
export function guarded(
  survey: TaskQueries,
  reading: <T>(read: () => Promise<T>) => Promise<T>,
): TaskQueries {
  return {
    list: (query) => reading(() => survey.list(query)),
    count: (filter, upTo) => reading(() => survey.count(filter, upTo)),
    overview: (query) => reading(() => survey.overview(query)),
    history: (id, query) => reading(() => survey.history(id, query)),
  };
}

function timeBudget(): () => boolean {
  const started = runtime.monotonic();
  return () => runtime.monotonic() - started > budgetMs;
}
