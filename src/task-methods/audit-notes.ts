/** What the audit log is told of those who ask about tasks. With no log, nothing. */
import { createHash } from 'node:crypto';
import type { AuditRecorder } from '../engine/database/audit-log.ts';
import type { TaskService, TaskTree } from '../engine/task-service.ts';
import { type Refusal, refusal } from '../model/errors.ts';
import type { JsonObject } from '../model/json.ts';
import type { Owner, Task } from '../model/task.ts';
import type { Actor } from '../ports/audit.ts';
import type { Caller } from './caller.ts';

type Who = Pick<Caller, 'dialect' | 'session'>;
type Recording = { readonly recorder?: AuditRecorder | undefined };

const longestId = 128;

export function actorOf({ dialect, session }: Who): Actor {
  return {
    by: 'caller',
    dialect: dialect.revision,
    ...(session && { session: createHash('sha256').update(session).digest('hex').slice(0, 16) }),
  };
}

/** The outcome of a task is given to its caller. Of a cancelled task there is none. */
export function noteRead({ recorder }: TaskService, root: Task, who: Who): void {
  if (!recorder || root.phase !== 'done' || root.outcome.kind === 'cancelled') return;
  const key = who.session ? `${root.id} ${who.session}` : root.id;
  if (recorder.countAgain(key)) return;
  const { id, owner, tool } = root;
  recorder.note(key, { action: 'result-read', owner, taskId: id, tool, ...actorOf(who) });
}

/** … if what it was shown has the outcome in it: not every dialect shows it with the task. */
export function noteReadIn(shown: JsonObject, requests: TaskService, tree: TaskTree, who: Who): JsonObject {
  if ('result' in shown || 'error' in shown) noteRead(requests, tree.root, who);
  return shown;
}

/** Nobody is told whether a task is another's or not there, the log included: nothing but the id was looked for. */
export function noteDenied({ recorder }: TaskService, caller: Caller, taskId: string, method: string): void {
  recorder?.refuse({
    action: 'denied',
    owner: caller.owner,
    taskId: storable(taskId),
    reason: `${method}: there is no such task of this owner.`,
    ...actorOf(caller),
  });
}

/** What was asked for may be anything, of any length; half a character or a zero not every database can hold. */
function storable(id: string): string {
  return id.slice(0, longestId).toWellFormed().replaceAll('\0', '\ufffd');
}

export function denied(requests: TaskService, caller: Caller, taskId: string, method: string): Refusal {
  noteDenied(requests, caller, taskId, method);
  return refusal('TASK_NOT_FOUND', taskId);
}

/** A request was turned away before anything of it was read, or because its session is not its owner's. */
export function noteTurnedAway({ recorder }: Recording, owner: Owner | null, reason: string): void {
  recorder?.refuse({ action: 'denied', owner, taskId: null, by: 'caller', reason });
}
