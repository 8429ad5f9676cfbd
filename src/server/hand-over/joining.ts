/** Which lost calls a plain call can join: those of the same caller, tool and version, with the same arguments. */
import { hash } from 'node:crypto';
import type { Requests } from '../../engine/requests.ts';
import type { DurableTool } from '../../engine/tool.ts';
import { anonymous, type Caller, local } from '../../hosting/caller.ts';
import { canonical, newId } from '../../model/id.ts';
import type { Json } from '../../model/json.ts';
import type { NewJoin } from '../../model/task.ts';

/** Undefined if no call may join. */
export async function joinOf(
  requests: Requests,
  { name, version, joinable, task, before }: DurableTool,
  input: unknown,
  { owner, session: named }: Caller,
): Promise<NewJoin | undefined> {
  if (!joinable || task === 'never') return undefined;
  // One token may serve several people, and what `before` asked only one of them answered.
  const isOfSession = owner === anonymous || before !== undefined;
  // A pipe is one session without a name. Over HTTP, a request without a session belongs to none.
  const session = owner === local ? '' : named || undefined;
  if (isOfSession && session === undefined) return undefined;
  const caller = isOfSession ? { owner, session: session! } : { owner };
  const call = canonical({ caller, name, version, input: (input ?? {}) as Json });
  const secret = Buffer.from(await requests.secret('plain-calls')).toString('base64url');
  // With a secret, so that a stored key tells nothing about the arguments. A full HMAC costs several times as much.
  const key = hash('sha256', `${secret}${call}`, 'base64url');
  return { key, session: session ?? null, call: newId() };
}
