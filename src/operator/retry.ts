/**
 * The same call once more. The new task's id is computed from the old one's, under a secret of the database: a second
 * request finds the task that the first one made, from whichever process, and there is no index to keep.
 */

import type { Tasks } from '../engine/tasks.ts';
import type { CreateOptions } from '../engine/tasks-options.ts';
import { hasCode, refusal } from '../model/errors.ts';
import { isJsonObject, type Json } from '../model/json.ts';
import { statusOf, type TaskStatus } from '../model/status.ts';
import type { DoneTask, Task, TaskId } from '../model/task.ts';
import type { Actor } from '../ports/audit.ts';
import type { Database } from '../ports/queue.ts';
import { keyedId } from '../security/sealing.ts';

const retryable: ReadonlySet<TaskStatus> = new Set<TaskStatus>(['failed', 'lost', 'cancelled']);

export function isRetryable(task: Task): task is DoneTask {
  return retryable.has(statusOf(task));
}

/** The id of the task that a retry makes, or has made. */
export async function retryIdOf({ secrets }: Database, id: TaskId): Promise<TaskId> {
  return keyedId(await secrets.get('retries'), id);
}

/** The task that is or was made of the same call; refused unless there is reason to. */
export async function retry(tasks: Tasks, task: Task, by: Actor): Promise<Task> {
  if (task.parentId !== undefined) throw refusal('NOT_A_ROOT', task.id, task.rootId);
  if (!isRetryable(task)) throw refusal('NOT_RETRYABLE', task.id, statusOf(task));
  const database = await tasks.served();
  const id = await retryIdOf(database, task.id);
  const made = await database.store.get(id);
  if (made) return made;
  const tool = tasks.tool(task.tool);
  const input = await argumentsOf(database, task.id);
  try {
    const options = { ...inheritance(task), id, owner: task.owner, by };
    return await tasks.create(tool, tool.again ? tool.again(input) : input, options);
  } catch (error) {
    // Two who retried at the same time.
    const winner = hasCode(error, 'TASK_EXISTS') ? await database.store.get(id) : undefined;
    if (!winner) throw error;
    return winner;
  }
}

/** Whoever called may find it and be asked as before; it lives, and is kept, no longer than its forerunner might have. */
function inheritance({ id, origin, retention, createdAt, deadlineAt }: DoneTask): CreateOptions {
  const { dialect, method, answers } = origin;
  return {
    origin: { dialect, method, ...(answers && { answers }), retryOf: id },
    ...(retention.ms !== null &&
      (retention.from === 'creation' ? { ttlMs: retention.ms } : { maxRetentionMs: retention.ms })),
    ...(deadlineAt !== null && { maxDeadlineMs: deadlineAt - createdAt }),
  };
}

/** A journal opens with them; the rest of it may be long, and is not read. */
async function argumentsOf({ queries: survey }: Database, id: TaskId): Promise<Json> {
  const page = await survey.history(id, { afterVersion: 0, limit: 1 });
  const opening = page?.commits[0]?.journal[0];
  if (!isJsonObject(opening) || opening.arguments === undefined) throw refusal('TASK_NOT_FOUND', id);
  return opening.arguments;
}
