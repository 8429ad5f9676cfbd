/** Audit entries about callers of task methods. Without an audit log these functions do nothing. */
import { createHash } from 'node:crypto';
import type { AuditRecorder } from '../engine/database/audit-log.ts';
import type { TaskService, TaskTree } from '../engine/task-service.ts';
import { type Refusal, refusal } from '../model/errors.ts';
import type { JsonObject } from '../model/json.ts';
import type { Owner, Task } from '../model/task.ts';
import type { Actor } from '../ports/audit.ts';
import type { Caller } from './caller.ts';

type Who = Pick<Caller, 'dialect' | 'session'>;
/** Anything with an optional audit log. */
type Recording = { readonly recorder?: AuditRecorder | undefined };

/** Maximum length of a requested task id in an audit entry, in characters. */
const maxIdLength = 128;

/** The caller as audit entries contain it. The session is hashed, because its id works like a password. */
export function actorOf({ dialect, session }: Who): Actor {
  return {
    by: 'caller',
    dialect: dialect.revision,
    ...(session && { session: createHash('sha256').update(session).digest('hex').slice(0, 16) }),
  };
}

/**
 * Records that a caller received the outcome of a task; a cancelled task has none to receive. Repeated reads in the
 * same session are only counted for a while.
 */
export function noteRead({ recorder }: TaskService, root: Task, who: Who): void {
  if (!recorder || root.phase !== 'done' || root.outcome.kind === 'cancelled') return;
  const key = who.session ? `${root.id} ${who.session}` : root.id;
  if (recorder.countAgain(key)) return;
  const { id, owner, tool } = root;
  recorder.note(key, { action: 'result-read', owner, taskId: id, tool, ...actorOf(who) });
}

/**
 * Records a read if `shown`, the answer to the caller, contains the outcome (in some dialects it does). Returns
 * `shown`.
 */
export function noteReadIn(shown: JsonObject, requests: TaskService, tree: TaskTree, who: Who): JsonObject {
  if ('result' in shown || 'error' in shown) noteRead(requests, tree.root, who);
  return shown;
}

/** Records a request for a task that the caller cannot see. Not even the log reveals whether such a task exists. */
export function noteDenied({ recorder }: TaskService, caller: Caller, taskId: string, method: string): void {
  recorder?.refuse({
    action: 'denied',
    owner: caller.owner,
    taskId: storable(taskId),
    reason: `${method}: this owner has no such task.`,
    ...actorOf(caller),
  });
}

/** Makes a requested id storable: it may be too long, and some databases reject lone surrogates and zero characters. */
function storable(id: string): string {
  return id.slice(0, maxIdLength).toWellFormed().replaceAll('\0', '\ufffd');
}

/** Records a request for a task that the caller cannot see, and returns the refusal for the caller. */
export function denied(requests: TaskService, caller: Caller, taskId: string, method: string): Refusal {
  noteDenied(requests, caller, taskId, method);
  return refusal('TASK_NOT_FOUND', taskId);
}

/** Records a request without a valid token, or for a session of another owner. `owner` is null if it is unknown. */
export function noteRefused({ recorder }: Recording, owner: Owner | null, reason: string): void {
  recorder?.refuse({ action: 'denied', owner, taskId: null, by: 'caller', reason });
}
