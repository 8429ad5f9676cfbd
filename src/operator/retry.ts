/**
 * Reruns a task as a new task with the same arguments. The new id is derived from the old id with a secret of the
 * database, so a second rerun, from any process, finds the task of the first one without an index.
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

/** The id of the task that a retry creates or has created. */
export async function retryIdOf({ secrets }: Database, id: TaskId): Promise<TaskId> {
  return keyedId(await secrets.get('retries'), id);
}

/** Returns the new task, or the one from an earlier retry. Refused unless the task is a root that did not complete. */
export async function retry(tasks: Tasks, task: Task, by: Actor): Promise<Task> {
  if (task.parentId !== undefined) throw refusal('NOT_A_ROOT', task.id, task.rootId);
  if (!isRetryable(task)) throw refusal('NOT_RETRYABLE', task.id, statusOf(task));
  const database = await tasks.served();
  const id = await retryIdOf(database, task.id);
  const existing = await database.store.get(id);
  if (existing) return existing;
  const tool = tasks.tool(task.tool);
  const input = await argumentsOf(database, task.id);
  try {
    const options = { ...inheritance(task), id, owner: task.owner, by };
    return await tasks.create(tool, tool.again ? tool.again(input) : input, options);
  } catch (error) {
    // Another process retried the task at the same time.
    const winner = hasCode(error, 'TASK_EXISTS') ? await database.store.get(id) : undefined;
    if (!winner) throw error;
    return winner;
  }
}

/** What the new task inherits: the origin, and the old deadline and retention as upper limits of its own. */
function inheritance({ id, origin, retention, createdAt, deadlineAt }: DoneTask): CreateOptions {
  const { dialect, method, answers } = origin;
  return {
    origin: { dialect, method, ...(answers && { answers }), retryOf: id },
    ...(retention.ms !== null &&
      (retention.from === 'creation' ? { ttlMs: retention.ms } : { maxRetentionMs: retention.ms })),
    ...(deadlineAt !== null && { maxDeadlineMs: deadlineAt - createdAt }),
  };
}

/** Reads only the first entry of the journal, which contains the arguments. */
async function argumentsOf({ queries }: Database, id: TaskId): Promise<Json> {
  const page = await queries.history(id, { afterVersion: 0, limit: 1 });
  const opening = page?.commits[0]?.journal[0];
  if (!isJsonObject(opening) || opening.arguments === undefined) throw refusal('TASK_NOT_FOUND', id);
  return opening.arguments;
}
