/**
 * Fills a store with very many tasks cheaply: a few real tasks are copied under other ids, owners, tools and times. Rare
 * tasks are the oldest.
 */
import { DatabaseSync } from 'node:sqlite';
import type { Database, DoneTask, Task } from 'holdfast';
import pg from 'pg';
import { complete, fail } from '../../src/engine/rules/endings.ts';
import { claim as claimRule, create } from '../../src/engine/rules/transitions.ts';
import { newId } from '../../src/model/id.ts';
import { statusOf, type TaskStatus } from '../../src/model/status.ts';
import { aTask } from '../../src/store-testing.ts';
import { statusCodeOf } from '../../src/stores/shared/query/status-codes.ts';
import { bodyOf } from '../../src/stores/shared/task-texts.ts';

export interface Crowd {
  readonly tasks: number;
  /** When the first was made, and how much later each next one. */
  readonly since: number;
  readonly stepMs: number;
}

/** The number of tasks of each rare kind. They are the oldest, so lists reach them last. */
export const rare = { owner: 'the rare owner', tool: 'rare_tool', count: 30, failedEach: 500 } as const;

const endings = {
  failed: { kind: 'failure', message: 'No.' },
  cancelled: { kind: 'cancelled' },
  lost: { kind: 'lost', message: '?' },
} as const;

/** One real task of each kind, as the engine would write it. */
async function patterns({ store }: Database): Promise<ReadonlyMap<TaskStatus, Task>> {
  const found = new Map<TaskStatus, Task>();
  const now = Date.now();
  const holder = { name: 'worker', leaseMs: 3_600_000 };
  const value = { content: [{ type: 'text', text: 'Done, and here is what came of it. '.repeat(6) }] };
  const result = { kind: 'result', isError: false, value } as const;
  for (const how of ['queued', 'running', 'completed', 'failed', 'cancelled', 'lost'] as const) {
    const request = aTask();
    const { id } = request;
    await store.create(undefined, () => create(undefined, request, now));
    if (how !== 'queued') {
      const { task } = await store.update('task', id, (one) => claimRule(one, holder, now));
      const claim = { taskId: id, epoch: task.epoch };
      if (how === 'completed') await store.update('lineage', id, (one) => complete(one, claim, result, now));
      else if (how !== 'running')
        await store.update('family', id, (one) => fail(one, claim, endings[how], now));
    }
    const task = (await store.get(id))!;
    found.set(statusOf(task), task);
  }
  return found;
}

function standingAt(n: number, tasks: number): TaskStatus {
  if (n < 3) return 'lost';
  if (n < 6) return 'running';
  if (n >= tasks - 1_000) return 'queued';
  if (n % rare.failedEach !== 0) return 'completed';
  return n % (4 * rare.failedEach) === 0 ? 'cancelled' : 'failed';
}

function taskAt(n: number, kinds: ReadonlyMap<TaskStatus, Task>, { tasks, since, stepMs }: Crowd): Task {
  const isRare = n < rare.count;
  const pattern = kinds.get(standingAt(n, tasks))!;
  const createdAt = since + Math.floor(n * stepMs);
  const id = newId();
  const moved = {
    ...pattern,
    id,
    rootId: id,
    owner: isRare ? rare.owner : `owner-${n % 997}`,
    tool: isRare ? rare.tool : `tool_${n % 11}`,
    createdAt,
    updatedAt: createdAt,
  };
  if (pattern.phase !== 'done') return moved as Task;
  const finishedAt = createdAt + 50 + ((n * 7_919) % 20_000);
  return { ...moved, finishedAt, updatedAt: finishedAt, purgeAt: finishedAt + 30 * 86_400_000 } as DoneTask;
}

function rowOf(task: Task) {
  const live = task.phase === 'done' ? undefined : task;
  return {
    id: task.id,
    owner: task.owner,
    tool: task.tool,
    tool_version: task.toolVersion,
    ordinal: 0,
    epoch: task.epoch,
    worker: live?.worker?.name ?? null,
    lease_until: live?.worker?.leaseUntil ?? null,
    lease_ms: live?.worker?.leaseMs ?? null,
    ready: live?.isReady ? 1 : null,
    wake_at: live?.wakeAt ?? null,
    deadline_at: live?.deadlineAt ?? null,
    purge_at: task.phase === 'done' ? task.purgeAt : null,
    ended_at: task.phase === 'done' ? task.finishedAt : null,
    status: statusCodeOf(task),
    created_at: task.createdAt,
    body: bodyOf(task).body,
  };
}

export async function crowdSqlite(database: Database, file: string, crowd: Crowd): Promise<void> {
  const kinds = await patterns(database);
  const db = new DatabaseSync(file, { timeout: 60_000 });
  const columns = Object.keys(rowOf(kinds.get('queued')!));
  const insert = db.prepare(
    `insert into tasks (${columns}) values (${columns.map((column) => `:${column}`)})`,
  );
  db.exec('pragma synchronous = off; begin immediate');
  for (let n = 0; n < crowd.tasks; n++) {
    insert.run(rowOf(taskAt(n, kinds, crowd)));
    if (n % 50_000 === 49_999) db.exec('commit; begin immediate');
  }
  db.exec('commit; pragma wal_checkpoint(truncate)');
  db.close();
}

export async function crowdPostgres(database: Database, url: string, crowd: Crowd): Promise<void> {
  const kinds = await patterns(database);
  const columns = Object.keys(rowOf(kinds.get('queued')!));
  const portion = 5_000;
  const client = new pg.Client(url);
  await client.connect();
  for (let from = 0; from < crowd.tasks; from += portion) {
    const rows = Array.from({ length: Math.min(portion, crowd.tasks - from) }, (_, n) => {
      const row = rowOf(taskAt(from + n, kinds, crowd));
      return { ...row, ready: row.ready === 1 };
    });
    await client.query(
      `insert into holdfast.tasks (${columns})
      select ${columns} from json_populate_recordset(null::holdfast.tasks, $1::text::json)`,
      [JSON.stringify(rows)],
    );
  }
  // What the server would do about so many new rows is done before anything is measured.
  await client.query('vacuum analyze holdfast.tasks');
  await client.query('checkpoint');
  await client.end();
}
