/** Rows for surveys, out of short statements: the server counts and sums, and what it gives comes in portions. */
import { type DamagedTask, type HistoryCommit, isDamaged, type SurveyFilter } from '../../engine/survey.ts';
import { runtime } from '../../model/runtime.ts';
import type { Owner, Task, TaskId } from '../../model/task.ts';
import { DamagedRecord, readingTask } from '../values/damaged.ts';
import { endedSumsOf, passedRow, type RowGiven, versionOf } from '../values/passed-row.ts';
import { codeOf, codes, standingCodeOf, unknown } from '../values/standing-codes.ts';
import {
  type EndedSums,
  few,
  historyLength,
  type Lane,
  type LiveGroup,
  type PassedRow,
  type Portion,
  portionLength,
  type Stretch,
  type SurveyedCount,
  type SurveySource,
  type Wanted,
} from '../values/survey-source.ts';
import {
  askingColumns,
  columnsWith,
  conditionOf,
  firstEnd,
  isUnknown,
  passedColumns,
} from '../values/survey-sql.ts';
import { classInSql, kindOf } from '../values/tally.ts';
import { type Cells, named, name as stored } from './cells.ts';
import type { Connections } from './pool.ts';

/** More live tasks than these are not gathered; among so many, one need not go far back. */
const mostLive = 50_000;
/** How many entries of an index one statement goes through. */
const perStatement = 20_000;
const bodiesPerTurn = 100;
const groupsPerTurn = 100;
/** With how many connections ended tasks are summed up: it is the one thing that takes the server long. */
const atOnce = 2;

interface Row extends RowGiven {
  readonly body: string | null;
}

/** Ended tasks of one tool in one stretch; the stretches are counted from one. */
interface EndedGroup {
  readonly stretch: number;
  readonly tool: string;
  /** `kind:count`, several; a kind has the code of a standing in its last four bits, and before them a class of durations. */
  readonly sums: string;
}

export class PostgresSurveySource implements SurveySource {
  readonly #connections: Connections;
  readonly #cells: Cells;
  readonly #schema: string;
  readonly #tasks: string;
  readonly #damage: 'shown' | 'thrown';

  constructor(connections: Connections, cells: Cells, schema: string, damage: 'shown' | 'thrown') {
    this.#damage = damage;
    this.#connections = connections;
    this.#cells = cells;
    this.#schema = schema;
    this.#tasks = `${schema}.tasks`;
  }

  turn(): Promise<void> {
    return new Promise((resolve) => runtime.setImmediate(resolve));
  }

  async rows(lane: Lane, before: number, limit: number, wanted: Wanted): Promise<Portion> {
    const values = new Values(before, limit);
    const where = whereOf(lane, values);
    const bind = (value: string | number) => values.bindName(value);
    const columns = lane.of === 'asking' ? askingColumns(wanted, bind) : passedColumns(wanted, bind);
    const rows = await this.#ask<Row & { passed: number }>(
      `select * from (
        select p.*, count(*) over () as passed,
          sum(coalesce(octet_length(body), 0)) over (order by seq desc rows unbounded preceding) as total
        from (
          select ${columns} from ${this.#tasks} where ${where} and seq < $1 order by seq desc limit $2) p
      ) q where total - coalesce(octet_length(body), 0) <= ${portionLength} order by seq desc`,
      values,
    );
    const passed = rows[0]?.passed ?? 0;
    return {
      rows: rows.map((row) => this.#passed(row)),
      isEnd: passed < limit && rows.length === passed,
    };
  }

  async rowsAt(seqs: readonly number[], wanted: Wanted): Promise<readonly PassedRow[]> {
    const values = new Values(seqs);
    const columns = passedColumns(wanted, (value) => values.bindName(value));
    const sql = `select ${columns} from ${this.#tasks} where seq = any($1::bigint[]) order by seq desc`;
    return (await this.#ask<Row>(sql, values)).map((row) => this.#passed(row));
  }

  async find(id: TaskId): Promise<Task | DamagedTask | undefined> {
    return (await this.#found(id))?.read();
  }

  async youngestUpTo(seq: number): Promise<{ seq: number; createdAt: number } | undefined> {
    const columns = columnsWith('case when created_at is null then body end');
    const sql = `select ${columns} from ${this.#tasks} where seq <= $1 order by seq desc limit 1`;
    const [row] = await this.#ask<Row>(sql, new Values(seq));
    return row && { seq: row.seq, createdAt: row.created_at ?? this.#passed(row).read().createdAt };
  }

  async hasFew(owner: Owner): Promise<boolean> {
    const [row] = await this.#ask<{ count: number }>(
      `select count(*) as count from (
        select 1 from ${this.#tasks} where parent_id is null and owner = $1 limit ${few}) own`,
      new Values(stored(owner)),
    );
    return row!.count < few;
  }

  async hasUnknown(): Promise<boolean> {
    const rows = await this.#ask(`select 1 from ${this.#tasks} where ${isUnknown} limit 1`, new Values());
    return rows.length > 0;
  }

  async live(standings: readonly number[], owner: Owner | undefined): Promise<number[] | undefined> {
    const values = new Values(standings, mostLive + 1);
    const rows = await this.#ask<{ seq: number }>(
      `select seq from ${this.#tasks}
      where parent_id is null and purge_at is null and standing = any($1::integer[]) ${ownedBy(owner, values)}
      limit $2`,
      values,
    );
    return rows.length > mostLive ? undefined : rows.map(({ seq }) => seq);
  }

  async liveGroups(owner: Owner | undefined): Promise<readonly LiveGroup[]> {
    const values = new Values();
    const rows = await this.#ask<LiveGroup & { unknowns: string | null }>(
      `select tool, standing, count(*) as count,
        string_agg(seq::text, ' ') filter (where standing = ${unknown}) as unknowns
      from ${this.#tasks} where parent_id is null and purge_at is null ${ownedBy(owner, values)}
      group by tool, standing`,
      values,
    );
    const groups: LiveGroup[] = [];
    for (const { tool, standing, count, unknowns } of rows) {
      if (unknowns === null) groups.push({ tool: named(tool), standing, count });
      else
        await this.#readAll(unknowns.split(' ').map(Number), (task) =>
          groups.push({ tool: task.tool, standing: standingCodeOf(task), count: 1 }),
        );
    }
    return groups;
  }

  async askingGroups(owner: Owner | undefined): Promise<readonly LiveGroup[]> {
    const values = new Values();
    const rows = await this.#ask<{ tool: string; count: number }>(
      `select tool, count(*) as count from ${this.#tasks}
      where waiting and parent_id is not null ${ownedBy(owner, values)} group by tool`,
      values,
    );
    return rows.map(({ tool, count }) => ({ tool: named(tool), standing: codeOf('waiting'), count }));
  }

  async readySince(owner: Owner | undefined, now: number): Promise<number | null> {
    const values = new Values(now);
    const own = ownedBy(owner, values);
    const [row] = await this.#ask<{ since: number | null }>(
      `select least(
        (select min(wake_at) from ${this.#tasks} where ready and holder is null ${own}),
        (select min(wake_at) from ${this.#tasks}
          where not ready and wake_at is not null and holder is null and wake_at <= $1 ${own})) as since`,
      values,
    );
    return row!.since;
  }

  async countEnded(filter: SurveyFilter, isEnough: (count: number) => boolean): Promise<SurveyedCount> {
    let count = 0;
    for (let from = firstEnd(filter); ; ) {
      const values = new Values(from, perStatement);
      const condition = conditionOf(filter, (value) => values.bindName(value));
      const [row] = await this.#ask<{ count: number; next: number | null }>(
        `with border as (
          select ended_at from ${this.#tasks} where ended_at > $1 order by ended_at limit 1 offset $2)
        select count(*) as count, (select ended_at from border) as next from ${this.#tasks}
        where ended_at >= $1 and ended_at < coalesce((select ended_at from border), 'infinity') and ${condition}`,
        values,
      );
      count += row!.count;
      if (row!.next === null) return { count, isAll: true };
      if (isEnough(count)) return { count, isAll: false };
      from = row!.next;
    }
  }

  async ended({ owner, stretches, take }: Parameters<SurveySource['ended']>[0]): Promise<void> {
    const lanes = Array.from({ length: Math.min(atOnce, stretches.length) }, (_, lane) =>
      [...stretches.entries()].filter(([index]) => index % atOnce === lane),
    );
    await Promise.all(
      lanes.map(async (lane) => {
        const untold = new Set<(typeof lane)[number]>();
        for (const [n, group] of (await this.#groups(lane, owner)).entries()) {
          const place = lane[group.stretch - 1]!;
          const { sums, isAll } = sumsOf(group);
          take(place[0], sums);
          if (!isAll) untold.add(place);
          if (n % groupsPerTurn === 0) await this.turn();
        }
        for (const [index, stretch] of untold)
          await this.#sumUntold(stretch, owner, (sums) => take(index, sums));
      }),
    );
  }

  async history(id: TaskId, afterVersion: number, limit: number) {
    const found = await this.#found(id);
    if (!found) return undefined;
    const rows = await this.#ask<{
      version: number;
      at: number;
      events: string;
      journal: string | null;
      left_out: number;
    }>(
      `select version, at, events, journal, left_out from (
        select p.*, sum(length) over (order by version rows unbounded preceding) as total from (
          select version, at, events, journal, left_out, octet_length(events) + coalesce(octet_length(journal), 0) as length
          from ${this.#schema}.commits where task = $1 and version > $2 order by version limit $3) p
      ) q where total = length or total <= ${historyLength} order by version`,
      new Values(found.seq, afterVersion, limit),
    );
    const commits = rows.map(({ version, at, events, journal, left_out }, index): HistoryCommit => {
      // Every commit of a task is one version, without gaps but those that are known.
      const known = rows[index - 1]?.version ?? afterVersion;
      // What was left out since the page before was read may reach back into it.
      const isGap = version - 1 - left_out > known || (index > 0 && version - 1 - left_out < known);
      if (isGap) throw new DamagedRecord(id, 'some of its commits are missing');
      const read = (text: string, column: string) =>
        readingTask(id, () => JSON.parse(this.#cells.read(text, column, id, version)));
      return {
        version,
        at,
        events: read(events, 'commits.events'),
        journal: journal === null ? [] : read(journal, 'commits.journal'),
      };
    });
    return { commits, version: versionOf(found.read()) };
  }

  #groups(lane: readonly (readonly [number, Stretch])[], owner: Owner | undefined): Promise<EndedGroup[]> {
    const values = new Values(
      lane.map(([, { from }]) => from),
      lane.map(([, { until }]) => until),
    );
    const own = ownedBy(owner, values);
    return this.#ask<EndedGroup>(
      `select stretch, tool, string_agg(kind || ':' || count, ' ') as sums
      from unnest($1::double precision[], $2::double precision[]) with ordinality as s (since, before, stretch)
      cross join lateral (
        select tool, ${classInSql('ended_at - created_at')} * 16 + standing as kind, count(*) as count
        from ${this.#tasks} where ended_at >= s.since and ended_at < s.before ${own} group by 1, 2) e
      group by 1, 2`,
      values,
    );
  }

  /** Those of which columns do not tell how they ended. */
  async #sumUntold({ from, until }: Stretch, owner: Owner | undefined, take: (sums: EndedSums) => void) {
    const values = new Values(from, until);
    const rows = await this.#ask<{ seq: number }>(
      `select seq from ${this.#tasks} where ended_at >= $1 and ended_at < $2
        and not standing between ${codes.completed} and ${codeOf('lost')} ${ownedBy(owner, values)}`,
      values,
    );
    await this.#readAll(
      rows.map(({ seq }) => seq),
      (task) => {
        if (task.phase === 'done') take(endedSumsOf(task));
      },
    );
  }

  async #readAll(seqs: readonly number[], take: (task: Task) => void): Promise<void> {
    for (let from = 0; from < seqs.length; from += bodiesPerTurn) {
      const some = seqs.slice(from, from + bodiesPerTurn);
      for (const row of await this.rowsAt(some, { filter: {}, bodies: true }))
        if (row.isSeen) {
          const task = row.read();
          if (!isDamaged(task)) take(task);
        }
    }
  }

  async #found(id: TaskId): Promise<PassedRow | undefined> {
    const sql = `select ${columnsWith('body')} from ${this.#tasks} where id = $1`;
    const [row] = await this.#ask<Row>(sql, new Values(stored(id)));
    return row && this.#passed(row);
  }

  #ask<R>(sql: string, { list }: Values): Promise<R[]> {
    return this.#connections.query<R>(sql, list);
  }

  #passed(given: Row): PassedRow {
    const row = { ...given, id: named(given.id), owner: named(given.owner), tool: named(given.tool) };
    const open = () => this.#cells.read(row.body!, 'tasks.body', row.id);
    return passedRow(row, row.body?.length ?? 0, open, this.#damage);
  }
}

/** The values of a statement, each with the name by which it is called there. */
class Values {
  readonly list: unknown[];

  constructor(...list: unknown[]) {
    this.list = list;
  }

  bindName(value: string | number): string {
    return `$${this.list.push(typeof value === 'string' ? stored(value) : value)}`;
  }
}

/** Not all of it, if columns do not tell how some of them ended. */
function sumsOf({ tool, sums }: EndedGroup): { readonly sums: EndedSums; readonly isAll: boolean } {
  const kinds: number[] = [];
  const counts: number[] = [];
  let isAll = true;
  for (const sum of sums.split(' ')) {
    const between = sum.indexOf(':');
    const packed = Number(sum.slice(0, between));
    const kind = kindOf(packed & 15, packed >> 4);
    if (kind === undefined) isAll = false;
    else {
      kinds.push(kind);
      counts.push(Number(sum.slice(between + 1)));
    }
  }
  return {
    sums: { tool: named(tool), kinds: Uint16Array.from(kinds), counts: Uint32Array.from(counts) },
    isAll,
  };
}

function ownedBy(owner: Owner | undefined, values: Values): string {
  return owner === undefined ? '' : `and owner = ${values.bindName(owner)}`;
}

function whereOf(lane: Lane, values: Values): string {
  switch (lane.of) {
    case 'all':
      return 'true';
    case 'owner':
      return `parent_id is null and owner = ${values.bindName(lane.owner)}`;
    case 'tool':
      return `ended_at is not null and tool = ${values.bindName(lane.tool)}`;
    case 'standing':
      return `standing > 4 and ended_at is not null and standing = ${codeOf(lane.standing)}`;
    case 'unknown':
      return isUnknown;
    case 'asking':
      return 'waiting';
  }
}
