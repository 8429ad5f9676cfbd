/** The whole database at one moment, read with plain SQL through a connection of its own. */
import { DatabaseSync } from 'node:sqlite';
import type { TaskEvent } from '../../../src/model/event.ts';
import type { Json } from '../../../src/model/json.ts';
import type { Task, TaskId } from '../../../src/model/task.ts';

export interface TaskRow {
  readonly seq: number;
  readonly id: TaskId;
  readonly owner: string;
  readonly tool: string;
  readonly tool_version: string;
  readonly parent_id: string | null;
  readonly ordinal: number;
  readonly epoch: number;
  readonly holder: string | null;
  readonly lease_until: number | null;
  readonly wake_at: number | null;
  readonly deadline_at: number | null;
  readonly purge_at: number | null;
  readonly ended_at: number | null;
  readonly idempotency_key: string | null;
  readonly body: string;
}

export interface Commit {
  readonly seq: number;
  readonly version: number;
  readonly at: number;
  readonly events: readonly TaskEvent[];
  readonly journal: readonly Json[] | undefined;
}

interface CommitRow {
  readonly seq: number;
  readonly task: number | null;
  readonly removed_id: string | null;
  readonly version: number;
  readonly at: number;
  readonly events: string;
  readonly journal: string | null;
}

export interface Snapshot {
  readonly rows: readonly TaskRow[];
  readonly tasks: ReadonlyMap<TaskId, Task>;
  /** The commits of each task that is there, in the order in which they were made. */
  readonly commits: ReadonlyMap<TaskId, readonly Commit[]>;
  /** Commits that belong to no task and to no removal. */
  readonly stray: readonly number[];
  readonly removals: ReadonlyMap<TaskId, readonly Commit[]>;
  readonly integrity: readonly string[];
}

export function readSnapshot(file: string): Snapshot {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  try {
    db.exec('begin');
    const rows = db.prepare('select * from tasks order by seq').all() as unknown as TaskRow[];
    const tasks = new Map(rows.map((row) => [row.id, JSON.parse(row.body) as Task]));
    const idOf = new Map(rows.map((row) => [row.seq, row.id]));
    const commits = new Map<TaskId, Commit[]>();
    const removals = new Map<TaskId, Commit[]>();
    const stray: number[] = [];
    for (const row of db.prepare('select * from commits order by seq').iterate()) {
      const { seq, task, removed_id, version, at, events, journal } = row as unknown as CommitRow;
      const commit: Commit = {
        seq,
        version,
        at,
        events: JSON.parse(events),
        journal: journal === null ? undefined : JSON.parse(journal),
      };
      const id = task === null ? undefined : idOf.get(task);
      if (id !== undefined) append(commits, id, commit);
      else if (task === null && removed_id !== null) append(removals, removed_id, commit);
      else stray.push(seq);
    }
    const integrity = db
      .prepare('pragma integrity_check')
      .all()
      .map((row) => String(row.integrity_check));
    db.exec('commit');
    return { rows, tasks, commits, stray, removals, integrity: integrity.filter((found) => found !== 'ok') };
  } finally {
    db.close();
  }
}

function append<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
