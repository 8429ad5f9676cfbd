/**
 * The SQL of operators' queries, one text for both databases. A query reads one index, or a few that have no task in
 * common, from the highest number down, a portion at a time, and compares each row with the whole filter. So a
 * statement is short even where few rows fit.
 */

import { taskStatuses as allStandings } from '../../../model/status.ts';
import type { Owner } from '../../../model/task.ts';
import type { TaskFilter } from '../../../ports/query.ts';
import { asking, codeOf, isLive } from './status-codes.ts';

export type Value = string | number;

/** A text, and a value for each of its question marks. */
export interface Sql {
  readonly text: string;
  readonly values: readonly Value[];
}

/** What differs between the databases. */
export interface Dialect {
  /** The tables. */
  readonly tasks: string;
  readonly commits: string;
  /** Goes after a table and names the index to use, where the planner needs that. */
  by(index: string): string;
  /** Is true for a task that a timer will make ready. */
  readonly isAsleep: string;
}

/** Tasks of one index: what follows `from tasks`. */
export interface Lane extends Sql {
  /** `seq` where the index is in the order of numbers; `+seq` sorts. */
  readonly order: 'seq' | '+seq';
}

export interface Range {
  readonly from: number;
  readonly before: number;
}

/** How much text one statement returns: what is parsed at once blocks the event loop. */
const portionLength = 256 * 1024;
/** How much text a page of a history may hold. */
const historyLength = 1024 * 1024;
/** Clocks of different machines may differ by this much: numbers are nearly in the order of creation. */
export const clockSlackMs = 60_000;
/** Durations are counted in classes that grow by a twentieth each; zero is a class of its own. */
export const classGrowth = Math.log(1.05);

export class QuerySql {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  // --- Where tasks are ------------------------------------------------------------------------------------

  all(): Lane {
    return { text: 'where true', values: [], order: 'seq' };
  }

  ofOwner(owner: Owner): Lane {
    const text = `${this.#dialect.by('tasks_by_owner')} where parent_id is null and owner = ?`;
    return { text, values: [owner], order: 'seq' };
  }

  /** Roots that have ended. */
  endedOfTool(tool: string): Lane {
    const text = `${this.#dialect.by('tasks_ended_by_tool')} where ended_at is not null and tool = ?`;
    return { text, values: [tool], order: 'seq' };
  }

  /** Roots that have ended, but did not complete. */
  ended(code: number): Lane {
    const text = `${this.#dialect.by('tasks_ended_badly')} where standing > 4 and ended_at is not null and standing = ${code}`;
    return { text, values: [], order: 'seq' };
  }

  /** Live roots. Their index is not in the order of numbers, because it changes with every standing. */
  live({ owner, tool, statuses: standings = allStandings }: TaskFilter): Lane {
    const codes = standings.filter(isLive).map(codeOf);
    const text = `${this.#dialect.by('tasks_live')} where parent_id is null and purge_at is null
      and standing in (${codes})${owner === undefined ? '' : ' and owner = ?'}${tool === undefined ? '' : ' and tool = ?'}`;
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

  /** `seq`: all tasks from that number on were created at this moment or later. Halves the range of numbers. */
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

  // --- Reading them ---------------------------------------------------------------------------------------

  /**
   * A portion of the tasks in these lanes. Returns the rows that fit and the last of the portion; fewer if they are
   * long. `passed` is how many tasks the portion has, `lowest` the number of the last.
   */
  portion(lanes: readonly Lane[], range: Range, limit: number, filter: TaskFilter): Sql {
    const portion = this.#portion(lanes, range, limit, `${compared}, octet_length(body) as size`);
    const fits = conditionOf(filter);
    const text = `
      with portion as (${portion.text})
      select ${columns}, sized.fits, case when sized.fits then t.body end as body, passed, lowest
      from (
        select seq, fits, size, sum(case when fits then size else 0 end) over (order by seq desc) as total
        from (select seq, size, ${fits.text} as fits from portion) as compared) as sized
      join ${this.#dialect.tasks} as t on t.seq = sized.seq
      cross join (select count(*) as passed, min(seq) as lowest from portion) as whole
      where (sized.fits or sized.seq = lowest)
        and total - case when sized.fits then size else 0 end <= ${portionLength}
      order by sized.seq desc`;
    return { text, values: [...portion.values, ...fits.values] };
  }

  /** How many of a portion fit: `count`, with `passed` and `lowest` as above. */
  count(lanes: readonly Lane[], range: Range, limit: number, filter: TaskFilter): Sql {
    const portion = this.#portion(lanes, range, limit, compared);
    const fits = conditionOf(filter);
    const text = `
      select count(*) filter (where ${fits.text}) as count, count(*) as passed, min(seq) as lowest
      from (${portion.text}) as portion`;
    return { text, values: [...fits.values, ...portion.values] };
  }

  find(id: string): Sql {
    const text = `select ${columns}, t.body from ${this.#dialect.tasks} as t where t.id = ?`;
    return { text, values: [id] };
  }

  /** Commits of a task after a version. Rows are compared with their index by the caller. */
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

  // --- Summing them up ------------------------------------------------------------------------------------

  /** How many tasks live: `tool`, `standing`, `count`. Grouped in the order of the index first, which needs no sorting. */
  liveGroups(owner: Owner | undefined): Sql {
    const { tasks } = this.#dialect;
    const live = this.live(owner === undefined ? {} : { owner });
    const own = owner === undefined ? '' : 'and owner = ?';
    const asking = this.asking();
    const text = `
      select tool, standing, cast(sum(count) as bigint) as count from (
        select owner, standing, tool, count(*) as count from ${tasks} ${live.text} group by owner, standing, tool) as live
      group by tool, standing
      union all
      select tool, standing, count(*) from ${tasks} ${asking.text} ${own} group by tool, standing`;
    return { text, values: owner === undefined ? [] : [owner, owner] };
  }

  /** How many roots ended from one moment to another: `tool`, `standing`, `class` of durations, `count`. */
  endedGroups({ from, before }: Range, owner: Owner | undefined): Sql {
    const ms = 'case when ended_at > created_at then ended_at - created_at else 0 end';
    const text = `
      select tool, standing, cast(round(ln(1 + ${ms}) / ${classGrowth}) as integer) as class, count(*) as count
      from ${this.#dialect.tasks} ${this.#dialect.by('tasks_by_end')}
      where ended_at is not null and ended_at >= ? and ended_at < ? ${owner === undefined ? '' : 'and owner = ?'}
      group by 1, 2, 3`;
    return { text, values: [from, before, ...(owner === undefined ? [] : [owner])] };
  }

  /** `since` when the task that has been ready for longest could have run; null if there is none. */
  readySince(owner: Owner | undefined, now: number): Sql {
    const { tasks, isAsleep } = this.#dialect;
    const own = owner === undefined ? '' : 'and owner = ?';
    const owners = owner === undefined ? [] : [owner];
    const text = `
      select min(since) as since from (
        select min(wake_at) as since from ${tasks} ${this.#dialect.by('tasks_in_turn')}
        where ready = true and holder is null ${own}
        union all
        select min(wake_at) from ${tasks} ${this.#dialect.by('tasks_sleeping')}
        where ${isAsleep} and holder is null and wake_at is not null and wake_at <= ? ${own}) as moments`;
    return { text, values: [...owners, now, ...owners] };
  }

  /** The next tasks of these lanes, the highest number first. */
  #portion(lanes: readonly Lane[], { from, before }: Range, limit: number, columns: string): Sql {
    const { tasks } = this.#dialect;
    const parts = lanes.map(({ text, order }, n) => {
      const next = (what: string) =>
        `select ${what} from ${tasks} ${text} and seq >= ? and seq < ? order by ${order} desc limit ${limit}`;
      // What must be sorted is sorted before its rows are read.
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

/** What a filter is compared with. */
const compared = 'seq, standing, owner, tool, created_at';
const columns = 't.seq, t.id, t.owner, t.tool, t.standing, t.created_at, t.lease_until';

/** What columns can tell of a filter. Subtasks fit only if what is waiting is asked for. */
function conditionOf({ owner, tool, statuses: standings, since, until }: TaskFilter): Sql {
  const codes = (standings ?? allStandings).map(codeOf);
  if (standings?.includes('waiting')) codes.push(asking);
  const given = conditions<Value>([
    ['owner = ?', owner],
    ['tool = ?', tool],
    ['created_at >= ?', since],
    ['created_at < ?', until],
  ]);
  return { text: `(${[`standing in (${codes})`, ...given.texts].join(' and ')})`, values: given.values };
}

/** Those that have a value. */
export function conditions<V>(all: readonly (readonly [text: string, value: V | undefined])[]) {
  const given = all.filter(([, value]) => value !== undefined);
  return { texts: given.map(([text]) => text), values: given.map(([, value]) => value!) };
}
