/** Rows for surveys, on a connection of their own in a thread, or on the one of a database in memory. */
import { standingOf } from '../../model/standing.ts';
import type { Owner, Task, TaskId } from '../../model/task.ts';
import { withLease } from '../values/body.ts';
import { Damaged } from '../values/damaged.ts';
import { codeOf, standingAt, unknown } from '../values/standing-codes.ts';
import {
  historyLength,
  type Lane,
  type LiveGroup,
  type PassedRow,
  type Portion,
  portionLength,
  type SurveySource,
} from '../values/survey-source.ts';
import type { Cells, Stored } from './cells.ts';
import type { Connection } from './driver.ts';
import { isUnknown } from './survey-schema.ts';

/** How much is read before others have their turn. In a thread of its own nobody waits. */
export interface Pace {
  /** Rows with their bodies. */
  readonly rows: number;
  /** Entries of an index. */
  readonly entries: number;
  turn(): Promise<void>;
}

export const unhurried: Pace = { rows: 1_024, entries: 100_000, turn: async () => {} };
export const inTurns: Pace = {
  rows: 32,
  entries: 1_000,
  turn: () => new Promise((resolve) => setImmediate(resolve)),
};

/** More live tasks than these are not gathered; among so many, one need not go far back. */
const mostLive = 200_000;
/** How many tasks in the hands of workers are passed in search of one that is ready, of each tool. */
const mostHeld = 10_000;

type Statement = ReturnType<Connection['prepare']>;

interface Row {
  readonly seq: number;
  readonly id: TaskId;
  readonly owner: Owner;
  readonly tool: string;
  readonly standing: number;
  readonly created_at: number | null;
  readonly lease_until: number | null;
  readonly hidden: number;
  readonly body: Stored | null;
}

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

  async rows(lane: Lane, before: number, limit: number): Promise<Portion> {
    await this.turn();
    const { from, values } = placeOf(lane);
    const most = Math.min(limit, this.#pace.rows);
    const sql = `select ${columns} from tasks ${from} and seq < ? order by seq desc limit ?`;
    const { rows, isCut } = this.#read(sql, [...values, before, most]);
    return { rows, isEnd: !isCut && rows.length < most };
  }

  async rowsAt(seqs: readonly number[]): Promise<readonly PassedRow[]> {
    const found: PassedRow[] = [];
    for (let from = 0; from < seqs.length; from += this.#pace.rows) {
      await this.turn();
      const sql = `
        select ${columns} from tasks where seq in (select value from json_each(?)) order by seq desc`;
      const some = seqs.slice(from, from + this.#pace.rows);
      found.push(
        ...(this.#prepared(sql).all(JSON.stringify(some)) as unknown as Row[]).map((row) =>
          this.#passed(row),
        ),
      );
    }
    return found;
  }

  async live(standings: readonly number[], owner: Owner | undefined): Promise<number[] | undefined> {
    const seqs: number[] = [];
    for await (const entries of this.#liveEntries(owner)) {
      for (const [, standing, , seq] of entries) if (standings.includes(standing)) seqs.push(seq);
      if (seqs.length > mostLive) return undefined;
    }
    return seqs;
  }

  async liveGroups(owner: Owner | undefined): Promise<readonly LiveGroup[]> {
    const groups = new Map<string, LiveGroup>();
    for await (const entries of this.#liveEntries(owner)) {
      for (const [, standing, tool, seq] of entries) {
        const code = standing === unknown ? this.#standingOf(seq) : standing;
        const key = `${code} ${tool}`;
        groups.set(key, { tool, standing: code, count: (groups.get(key)?.count ?? 0) + 1 });
      }
    }
    return [...groups.values()];
  }

  async find(id: TaskId): Promise<{ seq: number; task: Task } | undefined> {
    const row = this.#prepared(`select ${columnsOf('body')} from tasks where id = ?`).get(id);
    if (!row) return undefined;
    const passed = this.#passed(row as unknown as Row);
    return { seq: passed.seq, task: passed.read() };
  }

  async youngestUpTo(seq: number): Promise<{ seq: number; createdAt: number } | undefined> {
    await this.turn();
    const sql = `select ${columnsOf('iif(created_at is null, body, null)')} from tasks where seq <= ? order by seq desc limit 1`;
    const row = this.#prepared(sql).get(seq) as unknown as Row | undefined;
    return row && { seq: row.seq, createdAt: row.created_at ?? this.#passed(row).read().createdAt };
  }

  async ended({ owner, from, until, take }: Parameters<SurveySource['ended']>[0]): Promise<void> {
    const sql = `
      select ended_at, seq, tool, standing, created_at from tasks indexed by tasks_by_end
      where ended_at is not null and ended_at >= ?1 and ended_at < ?2 and (ended_at > ?1 or seq > ?3)
        ${owner === undefined ? '' : 'and owner = ?5'}
      order by ended_at, seq limit ?4`;
    const statement = this.#prepared(sql, 'arrays');
    const last = { at: from, seq: 0 };
    for (;;) {
      await this.turn();
      const values = [last.at, until, last.seq, this.#pace.entries, ...(owner === undefined ? [] : [owner])];
      const rows = statement.all(...values) as unknown as [number, number, string, number, number | null][];
      for (const [endedAt, seq, tool, code, createdAt] of rows) {
        const standing = standingAt(code);
        if (standing !== undefined && code > 3 && createdAt !== null) {
          take({ endedAt, tool, standing, durationMs: endedAt - createdAt, count: 1 });
        } else {
          const task = this.#taskAt(seq);
          if (task)
            take({
              endedAt,
              tool,
              standing: standingOf(task),
              durationMs: endedAt - task.createdAt,
              count: 1,
            });
        }
      }
      const end = rows.at(-1);
      if (!end || rows.length < this.#pace.entries) return;
      last.at = end[0];
      last.seq = end[1];
    }
  }

  async readySince(owner: Owner | undefined, now: number): Promise<number | null> {
    const kinds = this.#prepared(`
      with recursive kinds (tool, version) as (
        select * from (
          select tool, tool_version from tasks indexed by tasks_ready where wake_at is not null
          order by tool, tool_version limit 1)
        union all
        select next.tool, next.tool_version from kinds, (select 1) as one join tasks as next
          on next.seq = (
            select seq from tasks indexed by tasks_ready
            where wake_at is not null and (tool, tool_version) > (kinds.tool, kinds.version)
            order by tool, tool_version limit 1)
      )
      select tool, version from kinds`).all() as unknown as { tool: string; version: string }[];
    const oldest = this.#prepared(`
      select min(wake_at) as since from (
        select wake_at, holder, lease_until, owner from tasks indexed by tasks_ready
        where tool = ? and tool_version = ? and wake_at <= ? order by wake_at limit ${mostHeld})
      where (holder is null or lease_until <= ?) ${owner === undefined ? '' : 'and owner = ?'}`);
    let earliest: number | null = null;
    for (const { tool, version } of kinds) {
      await this.turn();
      const values = [tool, version, now, now, ...(owner === undefined ? [] : [owner])];
      const { since } = oldest.get(...values) as { since: number | null };
      if (since !== null) earliest = Math.min(earliest ?? since, since);
    }
    return earliest;
  }

  async history(id: TaskId, afterVersion: number, limit: number) {
    const found = await this.find(id);
    if (!found) return undefined;
    // Every commit of a task is one version, without gaps.
    const sql = `
      select own.version, own.at, own.events, own.journal from (
        select seq from commits where task = ? order by seq limit ? offset ?) as some
      join commits as own on own.seq = some.seq order by own.seq`;
    const commits = [];
    let length = 0;
    let version = afterVersion;
    for (const row of this.#prepared(sql).iterate(found.seq, limit, afterVersion)) {
      const {
        version: own,
        at,
        events,
        journal,
      } = row as unknown as {
        version: number;
        at: number;
        events: Stored;
        journal: Stored | null;
      };
      if (own !== ++version) throw new Damaged(`commits of task ${id} are missing`);
      length += events.length + (journal?.length ?? 0);
      if (commits.length > 0 && length > historyLength) break;
      const read = (stored: Stored, column: string) => JSON.parse(this.#cells.read(stored, column, id, own));
      commits.push({
        version: own,
        at,
        events: read(events, 'commits.events'),
        journal: journal === null ? [] : read(journal, 'commits.journal'),
      });
    }
    return { commits, version: found.task.version };
  }

  /** In the order of their index, from which none is left out or given twice however many turns it takes. */
  async *#liveEntries(owner: Owner | undefined): AsyncGenerator<readonly LiveEntry[]> {
    const statement = this.#prepared(
      `select owner, standing, tool, seq from tasks indexed by tasks_live
      where parent_id is null and purge_at is null and (owner, standing, tool, seq) > (?, ?, ?, ?)
        ${owner === undefined ? '' : 'and owner = ?'}
      order by owner, standing, tool, seq limit ?`,
      'arrays',
    );
    const own = owner === undefined ? [] : [owner];
    for (let after: LiveEntry = [owner ?? '', -1, '', 0]; ; ) {
      await this.turn();
      const entries = statement.all(...after, ...own, this.#pace.entries) as unknown as LiveEntry[];
      yield entries;
      if (entries.length < this.#pace.entries) return;
      after = entries.at(-1)!;
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

  #taskAt(seq: number): Task | undefined {
    const row = this.#prepared(`select ${columnsOf('body')} from tasks where seq = ?`).get(seq);
    return row && this.#passed(row as unknown as Row).read();
  }

  #standingOf(seq: number): number {
    const task = this.#taskAt(seq);
    return task && !task.unpublished ? codeOf(standingOf(task)) : unknown;
  }

  #passed(row: Row): PassedRow {
    const { seq, id, owner, tool, body } = row;
    let task: Task | undefined;
    return {
      seq,
      id,
      owner,
      tool,
      isSeen: row.hidden === 0,
      standing: row.standing,
      createdAt: row.created_at,
      length: body?.length ?? 0,
      read: () => {
        task ??= this.#task(row);
        return task;
      },
    };
  }

  #task({ id, body, owner, lease_until: leaseUntil }: Row): Task {
    const task = JSON.parse(this.#cells.read(body!, 'tasks.body', id)) as Task | null;
    if (task?.id !== id || task.owner !== owner) throw new Damaged(`task ${id} is not readable`);
    return withLease(task, leaseUntil);
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

/** Of a row that surveys do not see nothing is read but its number. A code that is not to be believed is not given. */
function columnsOf(body: string): string {
  return `seq, id, owner, tool, iif(${isUnknown}, ${unknown}, standing) as standing, created_at, lease_until,
    parent_id is not null or unpublished is not null as hidden, ${body} as body`;
}

const columns = columnsOf('iif(parent_id is null and unpublished is null, body, null)');

function placeOf(lane: Lane): { readonly from: string; readonly values: readonly (string | number)[] } {
  switch (lane.of) {
    case 'all':
      return { from: 'where true', values: [] };
    case 'owner':
      return {
        from: 'indexed by tasks_by_owner where parent_id is null and owner = ?',
        values: [lane.owner],
      };
    case 'tool':
      return {
        from: 'indexed by tasks_ended_by_tool where ended_at is not null and tool = ?',
        values: [lane.tool],
      };
    case 'standing':
      return {
        from: 'indexed by tasks_ended_badly where standing > 4 and ended_at is not null and standing = ?',
        values: [codeOf(lane.standing)],
      };
    case 'unknown':
      return { from: `indexed by tasks_of_unknown_standing where ${isUnknown}`, values: [] };
  }
}
