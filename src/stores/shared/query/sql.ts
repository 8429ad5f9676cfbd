/**
 * The SQL of operators' queries, shared by both databases. A query scans one index, or several indexes without common
 * tasks, from the highest row number down. It reads one portion at a time and compares each row with the complete
 * filter. So a statement is fast even if few rows match.
 */

import { taskStatuses } from '../../../model/status.ts';
import type { Owner } from '../../../model/task.ts';
import type { TaskFilter } from '../../../ports/query.ts';
import { asking, codeOf, isLive } from './status-codes.ts';

export type Value = string | number;

/** A statement, and a value for each of its question marks. */
export interface Sql {
  readonly text: string;
  readonly values: readonly Value[];
}

/** The differences between the databases. */
export interface Dialect {
  /** Names of the tables. */
  readonly tasks: string;
  readonly commits: string;
  /** Follows a table name and selects the index, on databases whose planner needs that. */
  by(index: string): string;
  /** A condition that is true for a task with a timer that has not made it ready yet. */
  readonly isAsleep: string;
}

/** The tasks of one index, as the text after `from tasks`. */
export interface Lane extends Sql {
  /** `seq` if the index is in that order; `+seq` makes the database sort. */
  readonly order: 'seq' | '+seq';
}

export interface Range {
  readonly from: number;
  readonly before: number;
}

/** How much text one statement returns. Parsing it blocks the event loop. */
const portionLength = 256 * 1024;
/** How much text one page of a history may contain. */
const historyLength = 1024 * 1024;
/** Clocks of different machines may differ by this much, so row numbers are only roughly in order of creation. */
export const clockSlackMs = 60_000;
/** Each class of durations is 5 % longer than the one before; zero has its own class. */
export const classGrowth = Math.log(1.05);

export class QuerySql {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  // --- Index ranges ---------------------------------------------------------------------------------------

  all(): Lane {
    return { text: 'where true', values: [], order: 'seq' };
  }

  ofOwner(owner: Owner): Lane {
    const text = `${this.#dialect.by('tasks_by_owner')} where parent_id is null and owner = ?`;
    return { text, values: [owner], order: 'seq' };
  }

  /** Finished roots. */
  endedOfTool(tool: string): Lane {
    const text = `${this.#dialect.by('tasks_ended_by_tool')} where ended_at is not null and tool = ?`;
    return { text, values: [tool], order: 'seq' };
  }

  /** Finished roots that did not complete. */
  ended(code: number): Lane {
    const text = `${this.#dialect.by('tasks_ended_badly')} where status > 4 and ended_at is not null and status = ${code}`;
    return { text, values: [], order: 'seq' };
  }

  /** Live roots. Their index is ordered by status, not by row number. */
  live({ owner, tool, statuses = taskStatuses }: TaskFilter): Lane {
    const codes = statuses.filter(isLive).map(codeOf);
    const text = `${this.#dialect.by('tasks_live')} where parent_id is null and purge_at is null
      and status in (${codes})${owner === undefined ? '' : ' and owner = ?'}${tool === undefined ? '' : ' and tool = ?'}`;
    return { text, values: [owner, tool].filter((one) => one !== undefined), order: '+seq' };
  }

  /** Subtasks with an open question. */
  asking(): Lane {
    const text = `${this.#dialect.by('tasks_waiting')} where waiting = true and parent_id is not null`;
    return { text, values: [], order: 'seq' };
  }

  /** How many tasks a lane has, up to a limit. */
  size({ text, values }: Lane, upTo: number): Sql {
    const some = `select 1 from ${this.#dialect.tasks} ${text} limit ${upTo}`;
    return { text: `select count(*) as count from (${some}) as portion`, values };
  }

  /** Returns the first `seq` from which all tasks were created at this time or later. A binary search. */
  firstSince(at: number): Sql {
    const { tasks } = this.#dialect;
    const isEarlier = `coalesce((
      select created_at from ${tasks} where seq <= (low + high) / 2 order by seq desc limit 1) < ?, true)`;
    const text = `
      with recursive half (low, high) as (
        select cast(0 as bigint), cast((select coalesce(max(seq), 0) + 1 from ${tasks}) as bigint)
        union all
        select case when ${isEarlier} then (low + high) / 2 + 1 else low end,
          case when ${isEarlier} then high else (low + high) / 2 end
        from half where low < high)
      select low as seq from half where low >= high`;
    return { text, values: [at, at] };
  }

  // --- Reading rows ---------------------------------------------------------------------------------------

  /**
   * A portion of the tasks in these lanes. Returns the rows that fit the filter and the last row of the portion; fewer
   * rows if they are long. `scanned` is the number of tasks in the portion, `lowest` the row number of the last.
   */
  portion(lanes: readonly Lane[], range: Range, limit: number, filter: TaskFilter): Sql {
    const portion = this.#portion(lanes, range, limit, `${compared}, octet_length(body) as size`);
    const fits = conditionOf(filter);
    const text = `
      with portion as (${portion.text})
      select ${columns}, sized.fits, case when sized.fits then t.body end as body, scanned, lowest
      from (
        select seq, fits, size, sum(case when fits then size else 0 end) over (order by seq desc) as total
        from (select seq, size, ${fits.text} as fits from portion) as compared) as sized
      join ${this.#dialect.tasks} as t on t.seq = sized.seq
      cross join (select count(*) as scanned, min(seq) as lowest from portion) as whole
      where (sized.fits or sized.seq = lowest)
        and total - case when sized.fits then size else 0 end <= ${portionLength}
      order by sized.seq desc`;
    return { text, values: [...portion.values, ...fits.values] };
  }

  /** Counts the rows of a portion that fit: `count`, with `scanned` and `lowest` as above. */
  count(lanes: readonly Lane[], range: Range, limit: number, filter: TaskFilter): Sql {
    const portion = this.#portion(lanes, range, limit, compared);
    const fits = conditionOf(filter);
    const text = `
      select count(*) filter (where ${fits.text}) as count, count(*) as scanned, min(seq) as lowest
      from (${portion.text}) as portion`;
    return { text, values: [...fits.values, ...portion.values] };
  }

  find(id: string): Sql {
    const text = `select ${columns}, t.body from ${this.#dialect.tasks} as t where t.id = ?`;
    return { text, values: [id] };
  }

  /** Commits of a task after a version. The caller checks that the index returned the right rows. */
  history(task: number, afterVersion: number, limit: number): Sql {
    const { commits } = this.#dialect;
    const text = `
      select own.version, own.at, own.events, own.journal, coalesce(own.left_out, 0) as left_out
      from (
        select task, version, size, sum(size) over (order by version) as total
        from (
          select task, version, octet_length(events) + coalesce(octet_length(journal), 0) as size
          from ${commits} where task = ? and version > ? order by version limit ${limit}) as portion) as sized
      join ${commits} as own on own.task = sized.task and own.version = sized.version
      where total = size or total <= ${historyLength} order by sized.version`;
    return { text, values: [task, afterVersion] };
  }

  // --- Aggregates -----------------------------------------------------------------------------------------

  /** Live tasks: `tool`, `status`, `count`. Groups in the order of the index first, which needs no sorting. */
  liveGroups(owner: Owner | undefined): Sql {
    const { tasks } = this.#dialect;
    const live = this.live(owner === undefined ? {} : { owner });
    const own = owner === undefined ? '' : 'and owner = ?';
    const asking = this.asking();
    const text = `
      select tool, status, cast(sum(count) as bigint) as count from (
        select owner, status, tool, count(*) as count from ${tasks} ${live.text} group by owner, status, tool) as live
      group by tool, status
      union all
      select tool, status, count(*) from ${tasks} ${asking.text} ${own} group by tool, status`;
    return { text, values: owner === undefined ? [] : [owner, owner] };
  }

  /** Roots that ended in a time range: `tool`, `status`, `class` of durations, `count`. */
  endedGroups({ from, before }: Range, owner: Owner | undefined): Sql {
    const ms = 'case when ended_at > created_at then ended_at - created_at else 0 end';
    const text = `
      select tool, status, cast(round(ln(1 + ${ms}) / ${classGrowth}) as integer) as class, count(*) as count
      from ${this.#dialect.tasks} ${this.#dialect.by('tasks_by_end')}
      where ended_at is not null and ended_at >= ? and ended_at < ? ${owner === undefined ? '' : 'and owner = ?'}
      group by 1, 2, 3`;
    return { text, values: [from, before, ...(owner === undefined ? [] : [owner])] };
  }

  /** `since`: the earliest time from which a ready task has been waiting for a worker; null without ready tasks. */
  readySince(owner: Owner | undefined, now: number): Sql {
    const { tasks, isAsleep } = this.#dialect;
    const own = owner === undefined ? '' : 'and owner = ?';
    const owners = owner === undefined ? [] : [owner];
    const text = `
      select min(since) as since from (
        select min(wake_at) as since from ${tasks} ${this.#dialect.by('tasks_in_turn')}
        where ready = true and worker is null ${own}
        union all
        select min(wake_at) from ${tasks} ${this.#dialect.by('tasks_sleeping')}
        where ${isAsleep} and worker is null and wake_at is not null and wake_at <= ? ${own}) as times`;
    return { text, values: [...owners, now, ...owners] };
  }

  /** The next tasks of these lanes, highest row number first. */
  #portion(lanes: readonly Lane[], { from, before }: Range, limit: number, columns: string): Sql {
    const { tasks } = this.#dialect;
    const parts = lanes.map(({ text, order }, n) => {
      const next = (what: string) =>
        `select ${what} from ${tasks} ${text} and seq >= ? and seq < ? order by ${order} desc limit ${limit}`;
      // An index that needs sorting is sorted before its rows are read.
      return order === 'seq'
        ? `select * from (${next(columns)}) as lane_${n}`
        : `select ${columns} from ${tasks} where seq in (${next('seq')})`;
    });
    return {
      text: `${parts.join(' union all ')} order by seq desc limit ${limit}`,
      values: lanes.flatMap(({ values }) => [...values, from, before]),
    };
  }
}

/** The columns that a filter compares. */
const compared = 'seq, status, owner, tool, created_at';
const columns = 't.seq, t.id, t.owner, t.tool, t.status, t.created_at, t.lease_until';

/** The part of a filter that SQL can check. Subtasks match only if the filter includes waiting tasks. */
function conditionOf({ owner, tool, statuses, since, until }: TaskFilter): Sql {
  const codes = (statuses ?? taskStatuses).map(codeOf);
  if (statuses?.includes('waiting')) codes.push(asking);
  const given = conditions<Value>([
    ['owner = ?', owner],
    ['tool = ?', tool],
    ['created_at >= ?', since],
    ['created_at < ?', until],
  ]);
  return { text: `(${[`status in (${codes})`, ...given.texts].join(' and ')})`, values: given.values };
}

/** The conditions that have a value. */
export function conditions<V>(all: readonly (readonly [text: string, value: V | undefined])[]) {
  const given = all.filter(([, value]) => value !== undefined);
  return { texts: given.map(([text]) => text), values: given.map(([, value]) => value!) };
}
