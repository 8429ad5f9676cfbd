/** The test's end of another process that shares its database. */
import { isDeepStrictEqual } from 'node:util';
import type { Task, TaskId } from '../../../src/index.ts';
import { hasCode } from '../../../src/model/errors.ts';
import type { Store } from '../../../src/store.ts';
import { Commanded } from '../../kit/child.ts';
import { untilEnd } from '../../kit/lifetime.ts';
import { orDamage } from './files.ts';
import type { Acts } from './other-process.ts';

/** The last acknowledged state of a task, and the length of its journal then. */
export interface Acknowledged {
  readonly task: Task;
  readonly entries: number;
}

export class Other extends Commanded<Acts, { readonly acknowledged: Acknowledged }> {
  readonly acknowledged = new Map<TaskId, Acknowledged>();

  constructor(file: string) {
    super('techniques/faults/other-process.ts', { file }, ({ acknowledged }) =>
      this.acknowledged.set(acknowledged.task.id, acknowledged),
    );
    untilEnd(this);
  }

  async end(): Promise<NodeJS.Signals | null> {
    return (await this.exit).signal;
  }
}

/**
 * Reads everything that was acknowledged. `lost` are tasks that are not as they were acknowledged although nothing was
 * reported; `reported` are those that could not be read because the store reported damage.
 */
export async function lookFor(acknowledged: ReadonlyMap<TaskId, Acknowledged>, store: Store) {
  const lost: TaskId[] = [];
  const reported: TaskId[] = [];
  for (const [id, wanted] of acknowledged) {
    const task = await orDamage(store.get(id));
    const journal = await orDamage(store.journal(id));
    if (hasCode(task, 'STORE_CORRUPT') || hasCode(journal, 'STORE_CORRUPT')) reported.push(id);
    else if (!task || !isAtLeast(task, wanted.task) || journal.length < wanted.entries) lost.push(id);
  }
  return { lost, reported };
}

/** A later version may have been committed without anyone hearing of it. A renewed lease makes no version. */
function isAtLeast(task: Task, wanted: Task): boolean {
  if (task.version !== wanted.version) return task.version > wanted.version;
  return isDeepStrictEqual(withoutLease(task), withoutLease(wanted));
}

function withoutLease(task: Task): object {
  return 'worker' in task ? { ...task, worker: task.worker?.name } : task;
}
