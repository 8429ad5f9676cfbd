/**
 * Ids that requestors make up (SEP-1686). What the store knows is computed from them, so that there is no second index
 * to keep: the same name in the same session of the same owner always leads to the same task, and nobody else can
 * work out its id.
 */
import { keyedId } from '../access/seal.ts';
import type { Requests } from '../engine/requests.ts';
import type { Task, TaskId } from '../model/task.ts';
import type { Caller } from './caller.ts';

export async function idOfName(requests: Requests, caller: Caller, name: string): Promise<TaskId> {
  const secret = await requests.secret('task names');
  const scoped = JSON.stringify([caller.owner, caller.session ?? '', name]);
  return keyedId(secret, scoped);
}

/** To those that name tasks themselves, the names of another session mean nothing. */
export function isNamedElsewhere({ origin }: Task, { dialect, session = '' }: Caller): boolean {
  return dialect.requestorNamesTasks && origin.named !== undefined && origin.named.session !== session;
}
