/**
 * The baseline of the Postgres suite: a plain loop on `for update skip locked`. It writes copies of the rows that the
 * store wrote for one task (created, claimed and completed), into tables of the same form and indexes, so it does not
 * write less. It notifies no other process, reads no journal and takes the oldest task of any owner.
 */
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { complete } from '../src/engine/rules/transitions.ts';
import { claimTasks } from '../src/engine/worker/claiming.ts';
import { createTasks, type DurableTool } from '../src/index.ts';
import { newId } from '../src/model/id.ts';
import { openPostgres } from '../src/postgres.ts';

const placeholder = newId();
/** Columns that are written once, when the task is created. */
const fixed = 'owner tool tool_version parent_id root_id ordinal created_at idempotency_key'.split(' ');

type Row = Record<string, unknown>;

interface Column {
  readonly name: string;
  readonly type: string;
}

/** One commit of a task: its row afterwards, and the row of the commit. */
interface Moment {
  readonly task: Row;
  readonly commit: Row;
}

export interface Life {
  readonly taskColumns: readonly Column[];
  readonly commitColumns: readonly Column[];
  readonly created: Moment;
  readonly claimed: Moment;
  readonly done: Moment;
}

/** The rows that the store writes for a task of this empty tool. */
export async function recordLife(url: string, tool: DurableTool): Promise<Life> {
  const schema = 'recorded';
  const database = await openPostgres(url, { schema });
  const reader = new pg.Client(url);
  await reader.connect();
  try {
    const tasks = createTasks({ store: database, tools: [tool] });
    const { id } = await tasks.create(tool, {}, { id: placeholder });
    const moment = async (): Promise<Moment> => {
      const [task] = (await reader.query(`select * from ${schema}.tasks where id = $1`, [id])).rows;
      const commits = `select * from ${schema}.commits where task = $1 order by version desc limit 1`;
      const [commit] = (await reader.query(commits, [task.seq])).rows;
      return { task, commit };
    };
    const created = await moment();
    const now = Date.now();
    const tools = [{ tool: tool.name, version: tool.version }];
    const [taken] = await claimTasks(database, { tools, limit: 1, leaseMs: 15_000, now: () => now });
    const claimed = await moment();
    const outcome = await tool.outcome(undefined, { input: {}, maxSize: 1e6 });
    await database.store.update('lineage', id, (lineage) =>
      complete(lineage, taken!.claim, outcome as never, Date.now()),
    );
    const done = await moment();
    const columnsOf = async (table: string): Promise<Column[]> =>
      (
        await reader.query(
          `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
          where attrelid = $1::regclass and attnum > 0 and not attisdropped
            and attname not in ('seq', 'id', 'body', 'task', 'xact')`,
          [`${schema}.${table}`],
        )
      ).rows;
    return {
      taskColumns: await columnsOf('tasks'),
      commitColumns: await columnsOf('commits'),
      created,
      claimed,
      done,
    };
  } finally {
    await reader.end();
    await database.close();
  }
}

/** The tables of the store. The index of ready tasks is by age instead of by owner, to match the loop. */
export async function createPlainTables(url: string, schema: string): Promise<void> {
  await (await openPostgres(url, { schema })).close();
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(`
      drop index ${schema}.tasks_in_turn;
      create index tasks_by_age on ${schema}.tasks (tool, tool_version, wake_at, seq)
        where ready and worker is null`);
  } finally {
    await client.end();
  }
}

export class PlainLoop {
  readonly #pool: pg.Pool;
  readonly #life: Life;
  readonly #sql: ReturnType<typeof statements>;

  constructor(url: string, schema: string, life: Life, connections: number) {
    // The same settings as in the store: statements are planned once, and use only indexes.
    const options = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off';
    this.#pool = new pg.Pool({ connectionString: url, max: connections, options });
    this.#life = life;
    this.#sql = statements(schema, life);
  }

  /** Creates tasks in one transaction. */
  async create(count: number): Promise<void> {
    const ids = Array.from({ length: count }, () => newId());
    const { created } = this.#life;
    await this.#pool.query({
      name: 'create',
      text: this.#sql.create,
      values: [ids, ids.map((id) => bodyOf(created, id)), ...this.#values(created)],
    });
  }

  /** Claims and completes up to `limit` tasks in two transactions; returns their number. */
  async advance(limit: number): Promise<number> {
    const { claimed, done } = this.#life;
    const client = await this.#pool.connect();
    try {
      await client.query('begin');
      const { tool, tool_version: version } = this.#life.created.task;
      const { rows } = await client.query({
        name: 'take',
        text: this.#sql.take,
        values: [tool, version, Date.now(), limit],
      });
      if (rows.length > 0) await this.#move(client, claimed, rows);
      await client.query('commit');
      if (rows.length > 0) await this.#move(client, done, rows);
      return rows.length;
    } finally {
      client.release();
    }
  }

  /** Reports after each transaction how many tasks it completed. */
  async advanceWhile(
    isActive: () => boolean,
    { loops, limit }: { readonly loops: number; readonly limit: number },
    report: (completed: number) => void,
  ): Promise<void> {
    const loop = async () => {
      while (isActive()) {
        const count = await this.advance(limit);
        if (count > 0) report(count);
        else await pause(1);
      }
    };
    await Promise.all(Array.from({ length: loops }, loop));
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #move(client: pg.PoolClient, moment: Moment, rows: { seq: string; id: string }[]): Promise<void> {
    await client.query({
      name: 'move',
      text: this.#sql.move,
      values: [
        rows.map(({ seq }) => seq),
        rows.map(({ id }) => bodyOf(moment, id)),
        ...this.#values(moment, (name) => !fixed.includes(name)),
      ],
    });
  }

  #values({ task, commit }: Moment, isWritten: (name: string) => boolean = () => true): unknown[] {
    const { taskColumns, commitColumns } = this.#life;
    return [
      ...taskColumns.filter(({ name }) => isWritten(name)).map(({ name }) => task[name]),
      ...commitColumns.map(({ name }) => commit[name]),
    ];
  }
}

function bodyOf({ task }: Moment, id: string): string {
  return (task.body as string).replaceAll(placeholder, id);
}

function statements(schema: string, { taskColumns, commitColumns }: Life) {
  const names = (columns: readonly Column[]) => columns.map(({ name }) => name).join(', ');
  const values = (columns: readonly Column[], from: number) =>
    columns.map(({ type }, index) => `$${from + index}::${type}`);
  const state = taskColumns.filter(({ name }) => !fixed.includes(name));
  return {
    create: `
      with made as (
        insert into ${schema}.tasks (id, body, ${names(taskColumns)})
        select v.id, v.body, ${values(taskColumns, 3).join(', ')}
        from unnest($1::text[], $2::text[]) as v (id, body) returning seq)
      insert into ${schema}.commits (task, ${names(commitColumns)})
      select seq, ${values(commitColumns, 3 + taskColumns.length).join(', ')} from made`,
    take: `
      select seq, id, body from ${schema}.tasks
      where tool = $1 and tool_version = $2 and ready and wake_at <= $3 and worker is null
      order by wake_at, seq limit $4 for update skip locked`,
    move: `
      with v as (select * from unnest($1::bigint[], $2::text[]) as v (seq, body)),
      changed as (
        update ${schema}.tasks t
        set body = v.body, ${values(state, 3)
          .map((value, index) => `${state[index]!.name} = ${value}`)
          .join(', ')}
        from v where t.seq = v.seq)
      insert into ${schema}.commits (task, ${names(commitColumns)})
      select seq, ${values(commitColumns, 3 + state.length).join(', ')} from v`,
  };
}
