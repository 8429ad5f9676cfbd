/** Rows for surveys, on a connection of their own in a thread, or on the one of a database in memory. */
import { type DamagedTask, type HistoryCommit, isDamaged, type SurveyFilter } from '../../engine/survey.ts';
import { runtime } from '../../model/runtime.ts';
import { standingOf } from '../../model/standing.ts';
import type { Owner, Task, TaskId } from '../../model/task.ts';
import { DamagedRecord, readingTask } from '../values/damaged.ts';
import { endedSumsOf, passedRow, type RowGiven, versionOf } from '../values/passed-row.ts';
import { codeOf, unknown } from '../values/standing-codes.ts';
import {
  type EndedSums,
  few,
  historyLength,
  type Lane,
  type LiveGroup,
  type PassedRow,
  type Portion,
  portionLength,
  type SurveyedCount,
  type SurveySource,
  type Wanted,
} from '../values/survey-source.ts';
import { columnsWith, conditionOf, firstEnd, isUnknown } from '../values/survey-sql.ts';
import { classOf, kindOf } from '../values/tally.ts';
import type { Cells, Stored } from './cells.ts';
import type { Connection } from './driver.ts';
import { type EndedLists, endedLists, sumsOf } from './ended-lists.ts';
import { columnsFor, placeOf, type Value } from './survey-place.ts';

/** How much is read before others have their turn. In a thread of its own nobody waits. */
export interface Pace {
  /** Rows with their bodies. */
  readonly rows: number;
  /** Entries of an index. */
  readonly entries: number;
  /** The same, of those that are only summed up. */
  readonly summed: number;
  turn(): Promise<void>;
}

export const unhurried: Pace = { rows: 1_024, entries: 100_000, summed: 2_000_000, turn: async () => {} };
export const inTurns: Pace = {
  rows: 32,
  entries: 1_000,
  summed: 1_000,
  turn: () => new Promise((resolve) => runtime.setImmediate(resolve)),
};

/** More live tasks than these are not gathered; among so many, one need not go far back. */
const mostLive = 200_000;

type Statement = ReturnType<Connection['prepare']>;

interface Row extends RowGiven {
  readonly body: Stored | null;
}

interface CommitRow {
  readonly version: number;
  readonly at: number;
  readonly events: Stored;
  readonly journal: Stored | null;
  readonly left_out: number;
}

type EndedEntry = readonly [seq: number, tool: string, standing: number, durationMs: number | null];
type LiveEntry = readonly [owner: string, standing: number, tool: string, seq: number];

export class SqliteSurveySource implements SurveySource {
  readonly #db: Connection;
  readonly #cells: Cells;
  readonly #pace: Pace;
  readonly #statements = new Map<string, Statement>();

  constructor(db: Connection, cells: Cells, pace: Pace) {
    this.#db = db;
    this.#cells = cells;
    this.#pace = pace;
  }

  turn(): Promise<void> {
    return this.#pace.turn();
  }

  async rows(lane: Lane, before: number, limit: number, wanted: Wanted): Promise<Portion> {
    await this.turn();
    const most = Math.min(limit, this.#pace.rows);
    const { sql: columns, values } = columnsFor(wanted, lane);
    const place = placeOf(lane);
    const { rows, isCut } = this.#read(
      `select ${columns} from tasks ${place.from} and seq < ? order by seq desc limit ?`,
      [...values, ...place.values, before, most],
    );
    return { rows, isEnd: !isCut && rows.length < most };
  }

  async rowsAt(seqs: readonly number[], wanted: Wanted): Promise<readonly PassedRow[]> {
    const found: PassedRow[] = [];
    const { sql: columns, values } = columnsFor(wanted);
    const sql = `select ${columns} from tasks where seq in (select value from json_each(?)) order by seq desc`;
    for (let from = 0; from < seqs.length; from += this.#pace.rows) {
      await this.turn();
      const some = JSON.stringify(seqs.slice(from, from + this.#pace.rows));
      found.push(
        ...(this.#prepared(sql).all(...values, some) as unknown as Row[]).map((row) => this.#passed(row)),
      );
    }
    return found;
  }

  async find(id: TaskId): Promise<Task | DamagedTask | undefined> {
    return this.#found('id', id)?.read();
  }

  async youngestUpTo(seq: number): Promise<{ seq: number; createdAt: number } | undefined> {
    await this.turn();
    const columns = columnsWith('iif(created_at is null, body, null)');
    const sql = `select ${columns} from tasks where seq <= ? order by seq desc limit 1`;
    const row = this.#prepared(sql).get(seq) as unknown as Row | undefined;
    return row && { seq: row.seq, createdAt: row.created_at ?? this.#passed(row).read().createdAt };
  }

  async hasFew(owner: Owner): Promise<boolean> {
    const sql = `
      select count(*) as count from (
        select 1 from tasks indexed by tasks_by_owner where parent_id is null and owner = ? limit ${few})`;
    return (this.#prepared(sql).get(owner) as { count: number }).count < few;
  }

  async hasUnknown(): Promise<boolean> {
    const sql = `select 1 from tasks indexed by tasks_of_unknown_standing where ${isUnknown} limit 1`;
    return this.#prepared(sql).get() !== undefined;
  }

  async live(standings: readonly number[], owner: Owner | undefined): Promise<number[] | undefined> {
    const statement = this.#prepared(`
      select seq from tasks indexed by tasks_live
      where parent_id is null and purge_at is null
        and (owner, standing, tool, seq) > (?, ?, ?, ?) and (owner, standing, tool, seq) <= (?, ?, ?, ?)
        and standing in (${standings.join(', ')})`);
    const seqs: number[] = [];
    for await (const { after, last } of this.#liveStretches(owner)) {
      for (const { seq } of statement.all(...after, ...last) as unknown as { seq: number }[]) seqs.push(seq);
      if (seqs.length > mostLive) return undefined;
    }
    return seqs;
  }

  async liveGroups(owner: Owner | undefined): Promise<readonly LiveGroup[]> {
    const groups = new Map<string, LiveGroup>();
    const add = (tool: string, standing: number, count: number) => {
      const key = `${standing} ${tool}`;
      groups.set(key, { tool, standing, count: (groups.get(key)?.count ?? 0) + count });
    };
    const counted = this.#prepared(
      `select owner, standing, tool, count(*) from tasks indexed by tasks_live
      where parent_id is null and purge_at is null
        and (owner, standing, tool, seq) > (?, ?, ?, ?) and (owner, standing, tool, seq) <= (?, ?, ?, ?)
      group by owner, standing, tool`,
      'arrays',
    );
    for await (const { after, last } of this.#liveStretches(owner)) {
      for (const row of counted.all(...after, ...last)) {
        const [, standing, tool, count] = row as unknown as LiveEntry;
        if (standing !== unknown) add(tool, standing, count);
      }
    }
    if (await this.hasUnknown()) {
      for (const seq of (await this.live([unknown], owner)) ?? []) {
        const task = this.#found('seq', seq)?.read();
        if (task && !isDamaged(task)) add(task.tool, codeOf(standingOf(task)), 1);
      }
    }
    return [...groups.values()];
  }

  async askingGroups(owner: Owner | undefined): Promise<readonly LiveGroup[]> {
    const counts = new Map<string, number>();
    const some = this.#prepared(`
      select seq, owner, tool, parent_id is not null as asking from tasks indexed by tasks_waiting
      where waiting = 1 and seq > ? order by seq limit ${this.#pace.rows}`);
    for (let after: number | undefined = 0; after !== undefined; ) {
      await this.turn();
      const rows = some.all(after) as unknown as (Pick<Row, 'seq' | 'owner' | 'tool'> & { asking: number })[];
      for (const row of rows)
        if (row.asking && (owner ?? row.owner) === row.owner)
          counts.set(row.tool, (counts.get(row.tool) ?? 0) + 1);
      after = rows.at(-1)?.seq;
    }
    return [...counts].map(([tool, count]) => ({ tool, standing: codeOf('waiting'), count }));
  }

  async countEnded(filter: SurveyFilter, isEnough: (count: number) => boolean): Promise<SurveyedCount> {
    const values: Value[] = [];
    const condition = conditionOf(filter, (value) => {
      values.push(value);
      return '?';
    });
    const counting = this.#prepared(`
      select count(*) as count from tasks indexed by tasks_by_end
      where ended_at is not null and ended_at >= ? and ended_at < ? and ${condition}`);
    let count = 0;
    for (let from = firstEnd(filter); ; ) {
      await this.turn();
      const until = this.#border(from, Number.MAX_SAFE_INTEGER, this.#pace.entries);
      count += (counting.get(from, until ?? Number.MAX_SAFE_INTEGER, ...values) as { count: number }).count;
      if (until === undefined) return { count, isAll: true };
      if (isEnough(count)) return { count, isAll: false };
      from = until;
    }
  }

  async ended({ owner, stretches, take }: Parameters<SurveySource['ended']>[0]): Promise<void> {
    const place = `from tasks indexed by tasks_by_end
      where ended_at is not null and ended_at >= ? and ended_at < ? ${owner === undefined ? '' : 'and owner = ?'}`;
    const lists = this.#prepared(`select ${endedLists} ${place}`, 'arrays');
    const entries = this.#prepared(`select seq, tool, standing, ended_at - created_at ${place}`, 'arrays');
    const own = owner === undefined ? [] : [owner];
    const isShort = this.#isShort();
    for (const [index, stretch] of stretches.entries()) {
      for (let { from } = stretch; from < stretch.until; ) {
        await this.turn();
        const until =
          (isShort ? undefined : this.#border(from, stretch.until, this.#pace.summed)) ?? stretch.until;
        const values = [from, until, ...own];
        const sums =
          sumsOf(lists.get(...values) as unknown as EndedLists) ??
          this.#sumsOf(entries.all(...values) as unknown as EndedEntry[]);
        for (const sum of sums) take(index, sum);
        from = until;
      }
    }
  }

  async readySince(owner: Owner | undefined, now: number): Promise<number | null> {
    const own = owner === undefined ? '' : 'and owner = ?';
    const of = owner === undefined ? [] : [owner];
    await this.turn();
    const ready = this.#prepared(`
      select min(wake_at) as since from tasks indexed by tasks_in_turn
      where ready is not null and holder is null ${own}`).get(...of);
    await this.turn();
    const due = this.#prepared(`
      select min(wake_at) as since from tasks indexed by tasks_sleeping
      where ready is null and holder is null and wake_at is not null and wake_at <= ? ${own}`).get(
      now,
      ...of,
    );
    const moments = [ready, due].flatMap((row) => (row as { since: number | null }).since ?? []);
    return moments.length > 0 ? Math.min(...moments) : null;
  }

  async history(id: TaskId, afterVersion: number, limit: number) {
    const found = this.#found('id', id);
    if (!found) return undefined;
    const sql = `
      select own.version, own.at, own.events, own.journal, own.left_out from (
        select seq, version from commits where task = ? and version > ? order by version limit ?) as some
      join commits as own on own.seq = some.seq order by some.version`;
    const commits: HistoryCommit[] = [];
    let length = 0;
    for (const row of this.#prepared(sql).iterate(found.seq, afterVersion, limit)) {
      const { version, at, events, journal, left_out } = row as unknown as CommitRow;
      // Every commit of a task is one version, without gaps but those that are known.
      const known = commits.at(-1)?.version ?? afterVersion;
      // What was left out since the page before was read may reach back into it.
      const isGap = version - 1 - left_out > known || (commits.length > 0 && version - 1 - left_out < known);
      if (isGap) throw new DamagedRecord(id, 'some of its commits are missing');
      length += events.length + (journal?.length ?? 0);
      if (commits.length > 0 && length > historyLength) break;
      const read = (stored: Stored, column: string) =>
        readingTask(id, () => JSON.parse(this.#cells.read(stored, column, id, version)));
      commits.push({
        version,
        at,
        events: read(events, 'commits.events'),
        journal: journal === null ? [] : read(journal, 'commits.journal'),
      });
    }
    return { commits, version: versionOf(found.read()) };
  }

  /** The index of live tasks in stretches, from which none is left out or given twice however many turns they take. */
  async *#liveStretches(owner: Owner | undefined): AsyncGenerator<{ after: LiveEntry; last: LiveEntry }> {
    const own = owner === undefined ? [] : [owner];
    const next = this.#prepared(
      `select owner, standing, tool, seq from tasks indexed by tasks_live
      where parent_id is null and purge_at is null and (owner, standing, tool, seq) > (?, ?, ?, ?)
        ${owner === undefined ? '' : 'and owner = ?'}
      order by owner, standing, tool, seq limit 1 offset ?`,
      'arrays',
    );
    const newest = this.#prepared(
      `select owner, standing, tool, seq from tasks indexed by tasks_live
      where parent_id is null and purge_at is null ${owner === undefined ? '' : 'and owner = ?'}
      order by owner desc, standing desc, tool desc, seq desc limit 1`,
      'arrays',
    );
    const end = newest.get(...own) as unknown as LiveEntry | undefined;
    if (!end) return;
    for (let after: LiveEntry = [owner ?? '', -1, '', 0]; ; ) {
      await this.turn();
      const found = next.get(...after, ...own, this.#pace.entries) as unknown as LiveEntry | undefined;
      yield { after, last: found ?? end };
      if (!found) return;
      after = found;
    }
  }

  #read(sql: string, values: readonly (string | number)[]): { rows: PassedRow[]; isCut: boolean } {
    const rows: PassedRow[] = [];
    let length = 0;
    for (const row of this.#prepared(sql).iterate(...values)) {
      const passed = this.#passed(row as unknown as Row);
      rows.push(passed);
      length += passed.length;
      if (length > portionLength) return { rows, isCut: true };
    }
    return { rows, isCut: false };
  }

  /** The end of so many ended tasks; none if there are not more up to the given end. */
  #border(from: number, until: number, after: number): number | undefined {
    const sql = `
      select ended_at as at from tasks indexed by tasks_by_end
      where ended_at is not null and ended_at > ? and ended_at < ? order by ended_at limit 1 offset ?`;
    return (this.#prepared(sql).get(from, until, after) as { at: number } | undefined)?.at;
  }

  /** Whether all tasks there are may be gone through at once: to find borders takes a third of the time. */
  #isShort(): boolean {
    const sql = 'select (select max(seq) from tasks) - (select min(seq) from tasks) as most';
    return ((this.#prepared(sql).get() as { most: number | null }).most ?? 0) < this.#pace.summed;
  }

  /** One by one, and out of their bodies where columns do not tell enough. */
  #sumsOf(entries: readonly EndedEntry[]): EndedSums[] {
    return entries.flatMap(([seq, tool, code, durationMs]) => {
      const kind = durationMs === null ? undefined : kindOf(code, classOf(durationMs));
      if (kind !== undefined) return [{ tool, kinds: Uint16Array.of(kind), counts: Uint32Array.of(1) }];
      const task = this.#found('seq', seq)?.read();
      return task && !isDamaged(task) && task.phase === 'done' ? [endedSumsOf(task)] : [];
    });
  }

  #found(by: 'id' | 'seq', value: Value): PassedRow | undefined {
    const row = this.#prepared(`select ${columnsWith('body')} from tasks where ${by} = ?`).get(value);
    return row && this.#passed(row as unknown as Row);
  }

  #passed(row: Row): PassedRow {
    return passedRow(row, row.body?.length ?? 0, () => this.#cells.read(row.body!, 'tasks.body', row.id));
  }

  #prepared(sql: string, rows?: 'arrays'): Statement {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#db.prepare(sql);
    if (rows) statement.setReturnArrays(true);
    this.#statements.set(sql, statement);
    return statement;
  }
}
