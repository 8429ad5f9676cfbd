/** What is still told where the record of one task is damaged: everything about the others. */
import type { Page } from '../../engine/store.ts';
import type { Task, TaskId } from '../../model/task.ts';
import { DamagedRecord } from './damaged.ts';

/** The tasks that can be read, and the ids of those that cannot. */
export function soundOnly<Row>(
  rows: readonly Row[],
  read: (row: Row) => Task,
): Pick<Page, 'tasks' | 'damaged'> {
  const tasks: Task[] = [];
  const damaged: TaskId[] = [];
  for (const row of rows) {
    try {
      tasks.push(read(row));
    } catch (error) {
      if (!(error instanceof DamagedRecord)) throw error;
      damaged.push(error.taskId);
    }
  }
  return damaged.length > 0 ? { tasks, damaged } : { tasks };
}
