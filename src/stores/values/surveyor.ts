/**
 * The `Survey` of any database. Tasks are passed the newest first, in one lane or in several at once; which ones depends
 * on the filter, so that what is rare is found by an index and what is common simply by going back. Whatever a lane
 * gives is compared with the whole filter again. A look that takes too long ends, and its cursor goes on.
 */
import {
  type DamagedTask,
  type HistoryPage,
  isDamaged,
  type Overview,
  type OverviewQuery,
  type Survey,
  type SurveyCount,
  type SurveyFilter,
  type SurveyPage,
} from '../../engine/survey.ts';
import type { Clock } from '../../model/clock.ts';
import { runtime } from '../../model/runtime.ts';
import type { Task, TaskId } from '../../model/task.ts';
import { InvalidCursor } from './invalid-cursor.ts';
import { Overviews } from './overview.ts';
import { codeOf, isLive, standingAt, unknown } from './standing-codes.ts';
import { type Asked, asked, fits, lanesFor } from './survey-filter.ts';
import { merged } from './survey-lanes.ts';
import type { PassedRow, SurveyedCount, SurveySource } from './survey-source.ts';
import { clockSlackMs } from './survey-sql.ts';

/** How long one page, or one count, may take. */
const usualBudgetMs = 150;
/** Results of longer tasks are left out of lists. */
const longBody = 8 * 1024;
/** How much text a page may hold before it ends early. */
const pageLength = 1024 * 1024;
const mostCommits = 1_000;
/** How many portions are gone through to count what may be rare. */
const fewPortions = 8;
/** How many rows are compared before others have their turn. */
const rowsPerTurn = 64;

export interface SurveyorOptions {
  readonly clock: Clock;
  /** Gives what tells whether a look that begins now has taken too long. */
  readonly budget?: () => () => boolean;
}

export function timeBudget(ms = usualBudgetMs): () => boolean {
  const started = runtime.monotonic();
  return () => runtime.monotonic() - started > ms;
}

export class Surveyor implements Survey {
  readonly #source: SurveySource;
  readonly #budget: () => () => boolean;
  readonly #overviews: Overviews;

  constructor(source: SurveySource, { clock, budget = timeBudget }: SurveyorOptions) {
    this.#source = source;
    this.#budget = budget;
    this.#overviews = new Overviews(source, clock);
  }

  async list({
    limit,
    cursor,
    ...filter
  }: SurveyFilter & { readonly limit: number; readonly cursor?: string }): Promise<SurveyPage> {
    const query = asked(filter);
    const whole = await this.#withWholeId(query);
    if (whole) return { tasks: cursor === undefined ? [...whole] : [] };
    const tasks: (Task | DamagedTask)[] = [];
    let length = 0;
    const end = await this.#pass(
      query,
      { before: numberOf(cursor), bodies: true, isOver: this.#budget() },
      (row) => {
        if (tasks.length === limit) return 'stop';
        const task = slim(row);
        tasks.push(task);
        length += Math.min(row.length, longBody);
        return length > pageLength ? 'last' : 'on';
      },
    );
    return end === undefined ? { tasks } : { tasks, nextCursor: String(end) };
  }

  async count(filter: SurveyFilter, upTo: number): Promise<SurveyCount> {
    const query = asked(filter);
    const whole = await this.#withWholeId(query);
    if (whole) return { count: whole.length, isMore: false };
    const isByIndex = query.text === undefined && !(await this.#source.hasUnknown());
    const isOver = this.#budget();
    if (!isByIndex) return this.#countRows(query, upTo, isOver);
    // What is rare is counted by going through it, if it turns out to be.
    if (isNarrow(query)) {
      let portions = 0;
      const counted = await this.#countRows(query, upTo, () => ++portions > fewPortions || isOver());
      if (!counted.isMore || counted.count === upTo) return counted;
    }
    return this.#countByIndex(query, upTo, isOver);
  }

  async #countRows(query: Asked, upTo: number, isOver: () => boolean): Promise<SurveyCount> {
    let count = 0;
    const take = () => {
      if (count === upTo) return 'stop';
      count++;
      return 'on';
    };
    const how = { before: Number.MAX_SAFE_INTEGER, bodies: query.text !== undefined, isOver };
    const end = await this.#pass(query, how, take);
    return { count, isMore: end !== undefined };
  }

  /** No row of an ended task is read: the index of ends says all that a filter without a text asks for. */
  async #countByIndex(query: Asked, upTo: number, isOver: () => boolean): Promise<SurveyCount> {
    const live = await this.#countLive(query, isOver);
    const canHaveEnded = query.standings?.some((one) => !isLive(one)) ?? true;
    const ended = canHaveEnded
      ? await this.#source.countEnded(query, (count) => live.count + count > upTo || isOver())
      : { count: 0, isAll: true };
    const count = live.count + ended.count;
    return { count: Math.min(count, upTo), isMore: !live.isAll || !ended.isAll || count > upTo };
  }

  async #countLive(query: Asked, isOver: () => boolean): Promise<SurveyedCount> {
    const { owner, tool, standings, since, until } = query;
    const codes = (standings ?? (['queued', 'running', 'waiting'] as const)).filter(isLive).map(codeOf);
    if (codes.length === 0) return { count: 0, isAll: true };
    if (since === undefined && until === undefined) {
      const groups = [
        ...(await this.#source.liveGroups(owner)),
        ...(query.withAsking ? await this.#source.askingGroups(owner) : []),
      ];
      const fitting = groups.filter((one) => codes.includes(one.standing) && (tool ?? one.tool) === one.tool);
      return { count: fitting.reduce((sum, one) => sum + one.count, 0), isAll: true };
    }
    let count = 0;
    const visit = (row: PassedRow) => {
      if (codes.includes(row.standing)) count++;
      return 'on' as const;
    };
    const alive = codes.map((code) => standingAt(code)!);
    const how = { before: Number.MAX_SAFE_INTEGER, bodies: false, isOver };
    const end = await this.#pass({ ...query, standings: alive }, how, visit);
    return { count, isAll: end === undefined };
  }

  overview(query: OverviewQuery): Promise<Overview> {
    return this.#overviews.look(query);
  }

  async history(
    id: TaskId,
    { afterVersion, limit }: { readonly afterVersion: number; readonly limit: number },
  ): Promise<HistoryPage | undefined> {
    const found = await this.#source.history(id, afterVersion, Math.min(limit, mostCommits));
    if (!found) return undefined;
    const last = found.commits.at(-1)?.version ?? found.version;
    return last < found.version ? { commits: found.commits, nextVersion: last } : { commits: found.commits };
  }

  /** A text that is the whole id of a task asks for that task, a subtask too, and for nothing else. */
  async #withWholeId(query: Asked): Promise<(Task | DamagedTask)[] | undefined> {
    if (query.text === undefined) return undefined;
    const found = await this.#source.find(query.text);
    if (!found) return undefined;
    const isRoot = isDamaged(found) || found.parentId === undefined;
    const root = isRoot ? found : await this.#source.find(found.rootId);
    if (!root) return undefined;
    const statusMessage = () => (isDamaged(found) ? undefined : found.statusMessage);
    const row = { ...found, standing: unknown, read: () => found, statusMessage };
    return fits(query, row) ? [slimTask(found)] : [];
  }

  /**
   * Goes through what fits, the newest first, until `take` stops it or time is up. Gives the number below which to go
   * on; none if everything was passed.
   */
  async #pass(
    query: Asked,
    { before, bodies, isOver }: Passing,
    take: (row: PassedRow) => 'on' | 'last' | 'stop',
  ): Promise<number | undefined> {
    const { since, until } = query;
    const start = until === undefined ? before : Math.min(before, await this.#boundary(until + clockSlackMs));
    const lanes = await lanesFor(query, this.#source, { before: start, bodies });
    let reached = start;
    let passed = 0;
    for await (const portion of merged(lanes, start)) {
      for (const row of portion.rows) {
        if (row.isSeen) {
          if (since !== undefined && createdAt(row) < since - clockSlackMs) return undefined;
          if (fits(query, row)) {
            const next = take(row);
            if (next === 'stop') return reached;
            if (next === 'last') return row.seq;
          }
        }
        reached = row.seq;
        if (++passed % rowsPerTurn === 0) await this.#source.turn();
      }
      if (portion.isLast) return undefined;
      reached = Math.min(reached, portion.passedTo);
      if (isOver()) return reached;
    }
    return undefined;
  }

  /** All tasks from this number on were made at that moment or later. */
  async #boundary(at: number): Promise<number> {
    const newest = await this.#source.youngestUpTo(Number.MAX_SAFE_INTEGER);
    if (!newest || newest.createdAt < at) return Number.MAX_SAFE_INTEGER;
    let low = 0;
    let high = newest.seq;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const found = await this.#source.youngestUpTo(middle);
      if (!found || found.createdAt < at) low = middle + 1;
      else high = found.seq;
    }
    return low;
  }
}

interface Passing {
  readonly before: number;
  /** Whether the bodies of what fits are needed. */
  readonly bodies: boolean;
  /** Asked after each portion. */
  readonly isOver: () => boolean;
}

/** Whether there is an index that may lead to all of it. */
function isNarrow({ owner, tool, standings }: Asked): boolean {
  return (
    owner !== undefined || tool !== undefined || (standings !== undefined && !standings.includes('completed'))
  );
}

function createdAt(row: PassedRow): number {
  return row.createdAt ?? row.read().createdAt;
}

function numberOf(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  if (!/^\d{1,16}$/.test(cursor) || !Number.isSafeInteger(Number(cursor))) throw new InvalidCursor();
  return Number(cursor);
}

function slim(row: PassedRow): Task | DamagedTask {
  const task = row.read();
  return row.length > longBody ? slimTask(task) : task;
}

function slimTask(task: Task | DamagedTask): Task | DamagedTask {
  if (isDamaged(task) || task.phase !== 'done' || task.outcome.kind !== 'result') return task;
  return { ...task, outcome: { ...task.outcome, value: null } };
}
