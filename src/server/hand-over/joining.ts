/**
 * A plain call can join the task of a lost call, whose connection or process broke, of the same caller to the same tool
 * and version, with the same arguments.
 */
import { hash } from 'node:crypto';
import type { DurableTool } from '../../engine/handlers/tool.ts';
import type { TaskService } from '../../engine/task-service.ts';
import { canonical } from '../../model/id.ts';
import type { Json } from '../../model/json.ts';
import { type NewJoin, newCall, requestLength } from '../../model/task.ts';
import { anonymous, type Caller, local } from '../../task-methods/caller.ts';

/** Identifies the calls that can join each other. Undefined if no call may join. `request`: see `requestOf`. */
export async function joinOf(
  requests: TaskService,
  { name, version, joinable, task, before }: DurableTool,
  input: unknown,
  { owner, session: named }: Caller,
  request?: string,
): Promise<NewJoin | undefined> {
  if (!joinable || task === 'never') return undefined;
  // These calls are joined only within their session: anonymous callers share one owner. And several people may use
  // one token, but the answers to the questions of `before` came from one of them.
  const isOfSession = owner === anonymous || before !== undefined;
  // A pipe is one session without a name. Over HTTP a request may have no session.
  const session = owner === local ? '' : named || undefined;
  if (isOfSession && session === undefined) return undefined;
  const caller = isOfSession ? { owner, session: session! } : { owner };
  const call = canonical({ caller, name, version, input: (input ?? {}) as Json });
  const key = await keyedDigest(requests, call);
  return { key, session: session ?? null, call: newCall(request) };
}

/**
 * A digest that identifies a request of a session, so that any process that receives its cancellation finds the call.
 * Undefined without a session: a pipe has only one process.
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

/** Includes a secret, so that the stored digest reveals nothing about the text. A full HMAC is several times slower. */
async function keyedDigest(requests: TaskService, text: string): Promise<string> {
  const secret = Buffer.from(await requests.secret('plain-calls')).toString('base64url');
  return hash('sha256', `${secret}${text}`, 'base64url');
}
