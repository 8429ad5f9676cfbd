import type { Task, TaskId } from '../../model/task.ts';
import type { Page } from '../../ports/store.ts';

/** Stored data is inconsistent or damaged, although the database itself reports no error. */
export class Corrupt extends Error {}

/** The data of one task is corrupt. No other task is affected. */
export class CorruptRecord extends Corrupt {
  readonly taskId: TaskId;

  constructor(taskId: TaskId, problem: string, cause?: unknown) {
    super(problem, cause === undefined ? undefined : { cause });
    this.taskId = taskId;
  }
}

/**
 * Converts an error from reading a task. An error about corrupt data becomes a `CorruptRecord` with the task's id; any
 * other is returned unchanged.
 */
export function corruptionOf(id: () => TaskId, error: unknown): unknown {
  const isCorruption = error instanceof Corrupt || error instanceof SyntaxError;
  if (!isCorruption || error instanceof CorruptRecord) return error;
  // The message of a SyntaxError quotes the text, which may contain any user data.
  const problem = error instanceof Corrupt ? error.message : 'a stored value is not readable';
  return new CorruptRecord(id(), problem, error);
}

/** Runs `read`, which reads the data of one task. Throws a `CorruptRecord` if the data is corrupt. */
export function readingTask<T>(id: TaskId, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw corruptionOf(() => id, error);
  }
}

/** Reads each row. Returns the readable tasks, and the ids of corrupt ones if there are any. */
export function readableTasks<Row>(
  rows: readonly Row[],
  read: (row: Row) => Task,
): Pick<Page, 'tasks' | 'corrupt'> {
  const tasks: Task[] = [];
  const corrupt: TaskId[] = [];
  for (const row of rows) {
    try {
      tasks.push(read(row));
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error;
      corrupt.push(error.taskId);
    }
  }
  return corrupt.length > 0 ? { tasks, corrupt } : { tasks };
}
