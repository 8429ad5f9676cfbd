/** The whole database at one moment, read with plain SQL through a connection of its own. */
import { DatabaseSync } from 'node:sqlite';
import type { Json, Task, TaskEvent, TaskId } from '../../../src/index.ts';
import { eventsIn, taskIn } from '../../../src/stores/shared/task-texts.ts';

export type TaskRow = Readonly<Record<string, string | number | null>> & {
  readonly id: TaskId;
  readonly body: string;
};

export interface Commit {
  readonly seq: number;
  readonly version: number;
  readonly at: number;
  readonly events: readonly TaskEvent[];
  readonly journal: readonly Json[] | undefined;
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
    const tasks = new Map(rows.map((row) => [row.id, taskIn(row.body)]));
    const written = db.prepare(
      `select commits.*, task is null as removed,
        case when task is null then removed_id else tasks.id end as id
      from commits left join tasks on tasks.seq = task order by commits.seq`,
    );
    const all = written.all().map((row) => {
      const events = eventsIn(row.events as string);
      const journal = row.journal === null ? undefined : JSON.parse(row.journal as string);
      return { ...row, events, journal } as unknown as Commit & { id: TaskId | null; removed: 0 | 1 };
    });
    const [commits, removals] = [0, 1].map((removed) =>
      Map.groupBy(
        all.filter((commit) => commit.id !== null && commit.removed === removed),
        ({ id }) => id!,
      ),
    );
    const stray = all.filter(({ id }) => id === null).map(({ seq }) => seq);
    const checked = db.prepare('pragma integrity_check').all();
    db.exec('commit');
    const integrity = checked.map((row) => String(row.integrity_check)).filter((found) => found !== 'ok');
    return { rows, tasks, commits: commits!, stray, removals: removals!, integrity };
  } finally {
    db.close();
  }
}
