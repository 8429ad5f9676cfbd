/** Rows for surveys, out of short statements. */
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
import { type Cells, named, name as stored } from './cells.ts';
import type { Connections } from './pool.ts';
import { isUnknown } from './survey-schema.ts';

/** More live tasks than these are not gathered; among so many, one need not go far back. */
const mostLive = 50_000;
/** How many ended tasks one statement sums up. */
const endedPerStatement = 20_000;
/** How many rows may be gone through before others have their turn. */
const perTurn = 1_000;

interface Row {
  readonly seq: number;
  readonly id: string;
  readonly owner: string;
  readonly tool: string;
  readonly standing: number;
  readonly created_at: number | null;
  readonly lease_until: number | null;
  readonly hidden: boolean;
  readonly body: string | null;
}

interface EndedRowOfMany {
  readonly ended_at: number;
  readonly seq: number;
  readonly tool: string;
  readonly standing: number;
  readonly created_at: number | null;
}

export class PostgresSurveySource implements SurveySource {
  readonly #connections: Connections;
  readonly #cells: Cells;
  readonly #schema: string;
  readonly #tasks: string;

  constructor(connections: Connections, cells: Cells, schema: string) {
    this.#connections = connections;
    this.#cells = cells;
    this.#schema = schema;
    this.#tasks = `${schema}.tasks`;
  }

  turn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  async rows(lane: Lane, before: number, limit: number): Promise<Portion> {
    const { where, values } = placeOf(lane);
    const rows = await this.#connections.query<Row & { passed: number }>(
      `select * from (
        select p.*, count(*) over () as passed,
          sum(coalesce(octet_length(body), 0)) over (order by seq desc rows unbounded preceding) as total
        from (
          select ${columns} from ${this.#tasks} where ${where} and seq < $1 order by seq desc limit $2) p
      ) q where total - coalesce(octet_length(body), 0) <= ${portionLength} order by seq desc`,
      [before, limit, ...values],
    );
    const passed = rows[0]?.passed ?? 0;
    return {
      rows: rows.map((row) => this.#passed(row)),
      isEnd: passed < limit && rows.length === passed,
    };
  }

  async rowsAt(seqs: readonly number[]): Promise<readonly PassedRow[]> {
    const rows = await this.#connections.query<Row>(
      `select ${columns} from ${this.#tasks} where seq = any($1::bigint[]) order by seq desc`,
      [seqs],
    );
    return rows.map((row) => this.#passed(row));
  }

  async live(standings: readonly number[], owner: Owner | undefined): Promise<number[] | undefined> {
    const rows = await this.#connections.query<{ seq: number }>(
      `select seq from ${this.#tasks}
      where parent_id is null and purge_at is null and standing = any($1::integer[])
        ${owner === undefined ? '' : 'and owner = $3'}
      limit $2`,
      [standings, mostLive + 1, ...(owner === undefined ? [] : [stored(owner)])],
    );
    return rows.length > mostLive ? undefined : rows.map(({ seq }) => seq);
  }

  async liveGroups(owner: Owner | undefined): Promise<readonly LiveGroup[]> {
    const own = owner === undefined ? [] : [stored(owner)];
    const rows = await this.#connections.query<LiveGroup>(
      `select tool, standing, count(*) as count from ${this.#tasks}
      where parent_id is null and purge_at is null and standing > 0 ${own.length > 0 ? 'and owner = $1' : ''}
      group by tool, standing`,
      own,
    );
    const unknowns = await this.#connections.query<Row>(
      `select ${columnsOf('body')} from ${this.#tasks}
      where parent_id is null and purge_at is null and standing = 0 and unpublished is null
        ${own.length > 0 ? 'and owner = $1' : ''} limit ${mostLive}`,
      own,
    );
    return [
      ...rows.map((row) => ({ ...row, tool: named(row.tool) })),
      ...unknowns.map((row) => {
        const task = this.#passed(row).read();
        return { tool: task.tool, standing: codeOf(standingOf(task)), count: 1 };
      }),
    ];
  }

  async find(id: TaskId): Promise<{ seq: number; task: Task } | undefined> {
    const [row] = await this.#connections.query<Row>(
      `select ${columnsOf('body')} from ${this.#tasks} where id = $1`,
      [stored(id)],
    );
    return row && { seq: row.seq, task: this.#passed(row).read() };
  }

  async youngestUpTo(seq: number): Promise<{ seq: number; createdAt: number } | undefined> {
    const [row] = await this.#connections.query<Row>(
      `select ${columnsOf('case when created_at is null then body end')} from ${this.#tasks}
      where seq <= $1 order by seq desc limit 1`,
      [seq],
    );
    return row && { seq: row.seq, createdAt: row.created_at ?? this.#passed(row).read().createdAt };
  }

  async ended({ owner, from, until, take }: Parameters<SurveySource['ended']>[0]): Promise<void> {
    const own = owner === undefined ? [] : [stored(owner)];
    const last = { at: from, seq: 0 };
    for (;;) {
      const rows = await this.#connections.query<EndedRowOfMany>(
        `select ended_at, seq, tool, standing, created_at from ${this.#tasks}
        where ended_at >= $1 and ended_at < $2 and (ended_at, seq) > ($1, $3::bigint)
          ${own.length > 0 ? 'and owner = $5' : ''}
        order by ended_at, seq limit $4`,
        [last.at, until, last.seq, endedPerStatement, ...own],
      );
      const unknowns: EndedRowOfMany[] = [];
      for (const [index, row] of rows.entries()) {
        if (index % perTurn === perTurn - 1) await this.turn();
        const standing = standingAt(row.standing);
        if (standing === undefined || row.standing < 4 || row.created_at === null) unknowns.push(row);
        else
          take({
            endedAt: row.ended_at,
            tool: named(row.tool),
            standing,
            durationMs: row.ended_at - row.created_at,
            count: 1,
          });
      }
      await this.#takeUnknown(unknowns, take);
      const end = rows.at(-1);
      if (!end || rows.length < endedPerStatement) return;
      last.at = end.ended_at;
      last.seq = end.seq;
    }
  }

  async readySince(owner: Owner | undefined, now: number): Promise<number | null> {
    const [row] = await this.#connections.query<{ since: number | null }>(
      `select min(wake_at) as since from ${this.#tasks}
      where wake_at <= $1 and (holder is null or lease_until <= $1) ${owner === undefined ? '' : 'and owner = $2'}`,
      [now, ...(owner === undefined ? [] : [stored(owner)])],
    );
    return row!.since;
  }

  async history(id: TaskId, afterVersion: number, limit: number) {
    const found = await this.find(id);
    if (!found) return undefined;
    const rows = await this.#connections.query<{
      version: number;
      at: number;
      events: string;
      journal: string | null;
    }>(
      `select version, at, events, journal from (
        select p.*, sum(length) over (order by version rows unbounded preceding) as total from (
          select version, at, events, journal, octet_length(events) + coalesce(octet_length(journal), 0) as length
          from ${this.#schema}.commits where task = $1 and version > $2 order by version limit $3) p
      ) q where total = length or total <= ${historyLength} order by version`,
      [found.seq, afterVersion, limit],
    );
    const commits = rows.map(({ version, at, events, journal }, index) => {
      if (version !== afterVersion + index + 1) throw new Damaged(`commits of task ${id} are missing`);
      const read = (text: string, column: string) => JSON.parse(this.#cells.read(text, column, id, version));
      return {
        version,
        at,
        events: read(events, 'commits.events'),
        journal: journal === null ? [] : read(journal, 'commits.journal'),
      };
    });
    return { commits, version: found.task.version };
  }

  async #takeUnknown(
    rows: readonly EndedRowOfMany[],
    take: Parameters<SurveySource['ended']>[0]['take'],
  ): Promise<void> {
    for (let from = 0; from < rows.length; from += perTurn) {
      const some = rows.slice(from, from + perTurn).map(({ seq }) => seq);
      for (const row of await this.rowsAt(some)) {
        const task = row.read();
        if (task.phase !== 'done') continue;
        const { tool, finishedAt: endedAt, createdAt } = task;
        take({ endedAt, tool, standing: standingOf(task), durationMs: endedAt - createdAt, count: 1 });
      }
    }
  }

  #passed(row: Row): PassedRow {
    let task: Task | undefined;
    return {
      seq: row.seq,
      id: named(row.id),
      owner: named(row.owner),
      tool: named(row.tool),
      isSeen: !row.hidden,
      standing: row.standing,
      createdAt: row.created_at,
      length: row.body?.length ?? 0,
      read: () => {
        task ??= this.#task(row);
        return task;
      },
    };
  }

  #task(row: Row): Task {
    const id = named(row.id);
    const task = JSON.parse(this.#cells.read(row.body!, 'tasks.body', id)) as Task | null;
    if (task?.id !== id) throw new Damaged(`task ${id} is not readable`);
    return withLease(task, row.lease_until);
  }
}

/** Of a row that surveys do not see nothing is read but its number. A code that is not to be believed is not given. */
function columnsOf(body: string): string {
  return `seq, id, owner, tool, case when ${isUnknown} then ${unknown} else standing end as standing, created_at,
    lease_until, parent_id is not null or unpublished is not null as hidden, ${body} as body`;
}

const columns = columnsOf('case when parent_id is null and unpublished is null then body end');

function placeOf(lane: Lane): { readonly where: string; readonly values: readonly unknown[] } {
  switch (lane.of) {
    case 'all':
      return { where: 'true', values: [] };
    case 'owner':
      return { where: 'parent_id is null and owner = $3', values: [stored(lane.owner)] };
    case 'tool':
      return { where: 'ended_at is not null and tool = $3', values: [stored(lane.tool)] };
    case 'standing':
      return {
        where: 'standing > 4 and ended_at is not null and standing = $3',
        values: [codeOf(lane.standing)],
      };
    case 'unknown':
      return { where: isUnknown, values: [] };
  }
}
