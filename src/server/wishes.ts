/** What a request of a session says of the task that it wants. */
import type { ServerContext } from '@modelcontextprotocol/server';
import type { Caller } from '../hosting/caller.ts';
import type { JsonObject } from '../model/json.ts';
import { wishedTask } from '../protocol/detection.ts';
import { wishOf } from '../protocol/dialects/sep-1686/dialect.ts';
import { taskKey } from '../protocol/dialects/sep-1686/names.ts';
import type { Naming } from './tool-call.ts';

export interface Wishes {
  /** As a caller of 2025-11-25 asks for it. */
  readonly task?: boolean;
  readonly ttl?: { readonly ttl?: unknown };
  /** As a caller of SEP-1686 does. */
  readonly named?: Naming;
}

export function asksForTask({ task }: JsonObject, { mcpReq }: ServerContext): boolean {
  return !mcpReq.envelope && (task !== undefined || mcpReq._meta?.[taskKey] !== undefined);
}

/** In the words of its dialect. Later requests have no wishes: there the server decides. */
export function wishesOf(
  { dialect, sender }: Caller,
  method: string,
  params: JsonObject,
  { mcpReq }: ServerContext,
): Wishes {
  if (mcpReq.envelope) return {};
  if (dialect.requestorNamesTasks)
    return { named: { ...wishOf(mcpReq._meta as JsonObject, params), requestId: mcpReq.id } };
  const ttl = dialect.methods.length === 0 ? undefined : wishedTask(params);
  if (!ttl) return {};
  if (sender.takesTasksUnasked) return { ttl };
  return method === 'tools/call' ? { task: true, ttl } : {};
}

/** May a request for what is not durable not even be carried out as if it had no wishes? */
export function mustRefuse(
  caller: Caller,
  method: string,
  params: JsonObject,
  context: ServerContext,
): boolean {
  if (caller.dialect.requestorNamesTasks) return params.task !== undefined;
  return wishesOf(caller, method, params, context).task === true;
}
