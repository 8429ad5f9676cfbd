/** Which lost calls a plain call can join: those of the same caller, tool and version, with the same arguments. */
import { hash } from 'node:crypto';
import type { DurableTool } from '../../engine/handlers/tool.ts';
import type { TaskService } from '../../engine/task-service.ts';
import { canonical } from '../../model/id.ts';
import type { Json } from '../../model/json.ts';
import { type NewJoin, newCall, requestLength } from '../../model/task.ts';
import { anonymous, type Caller, local } from '../../task-methods/caller.ts';

/** Undefined if no call may join. */
export async function joinOf(
  requests: TaskService,
  { name, version, joinable, task, before }: DurableTool,
  input: unknown,
  { owner, session: named }: Caller,
  request?: string,
): Promise<NewJoin | undefined> {
  if (!joinable || task === 'never') return undefined;
  // One token may serve several people, and what `before` asked only one of them answered.
  const isOfSession = owner === anonymous || before !== undefined;
  // A pipe is one session without a name. Over HTTP, a request without a session belongs to none.
  const session = owner === local ? '' : named || undefined;
  if (isOfSession && session === undefined) return undefined;
  const caller = isOfSession ? { owner, session: session! } : { owner };
  const call = canonical({ caller, name, version, input: (input ?? {}) as Json });
  const key = await keyedDigest(requests, call);
  return { key, session: session ?? null, call: newCall(request) };
}

/**
 * Stands for a request of a session, so that whichever process hears of its cancellation finds the call. Undefined
 * where there is no session: a pipe has one process.
 */
export async function requestOf(
  requests: TaskService,
  { owner, session }: Caller,
  requestId: unknown,
): Promise<string | undefined> {
  if (owner === local || !session || requestId === undefined) return undefined;
  const digest = await keyedDigest(requests, JSON.stringify([owner, session, requestId]));
  return digest.slice(0, requestLength);
}

/** With a secret, so that what is stored tells nothing about the text. A full HMAC costs several times as much. */
async function keyedDigest(requests: TaskService, text: string): Promise<string> {
  const secret = Buffer.from(await requests.secret('plain-calls')).toString('base64url');
  return hash('sha256', `${secret}${text}`, 'base64url');
}
