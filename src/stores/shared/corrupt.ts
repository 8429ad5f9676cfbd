import type { Task, TaskId } from '../../model/task.ts';
import type { Page } from '../../ports/store.ts';

/** What was read contradicts itself, though the database saw nothing wrong with it. */
export class Corrupt extends Error {}

/** The same of what one task consists of: no other task is affected. */
export class CorruptRecord extends Corrupt {
  readonly taskId: TaskId;

  constructor(taskId: TaskId, problem: string, cause?: unknown) {
    super(problem, cause === undefined ? undefined : { cause });
    this.taskId = taskId;
  }
}

/** What reading the record of one task threw; if it is damage, it names that task. */
export function corruptionOf(id: () => TaskId, error: unknown): unknown {
  const isDamage = error instanceof Corrupt || error instanceof SyntaxError;
  if (!isDamage || error instanceof CorruptRecord) return error;
  // The message of a SyntaxError quotes what it could not parse, which may be anything that was sent.
  const problem = error instanceof Corrupt ? error.message : 'a stored value is not readable';
  return new CorruptRecord(id(), problem, error);
}

/** Runs what reads the record of one task. */
export function readingTask<T>(id: TaskId, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw corruptionOf(() => id, error);
  }
}

/** The tasks that can be read, and the ids of those that cannot. */
export function soundOnly<Row>(
  rows: readonly Row[],
  read: (row: Row) => Task,
): Pick<Page, 'tasks' | 'corrupt'> {
  const tasks: Task[] = [];
  const damaged: TaskId[] = [];
  for (const row of rows) {
    try {
      tasks.push(read(row));
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error;
      damaged.push(error.taskId);
    }
  }
  return damaged.length > 0 ? { tasks, corrupt: damaged } : { tasks };
}
