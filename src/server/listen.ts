/**
 * `subscriptions/listen` with `taskIds`, for which the SDK has no seam: what it answers to the rest of the request is
 * kept, checks and acknowledgement included, and the tasks are added to it.
 */

import type { Caller } from '../hosting/caller.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { TaskId } from '../model/task.ts';
import { subscriptionIdKey } from '../protocol/dialects/2026-07-28/names.ts';
import { InvalidParams } from '../protocol/errors.ts';
import type { SubscriptionId } from './subscription.ts';

/** Each is looked up before anything is answered. */
const mostTasks = 1_000;

export const acknowledgement = 'notifications/subscriptions/acknowledged';

/** A request to listen that names tasks. */
export interface TaskListen {
  readonly id: SubscriptionId;
  readonly params: JsonObject;
  readonly taskIds: unknown;
}

export function asTaskListen(message: unknown): TaskListen | undefined {
  if (!isJsonObject(message) || message.method !== 'subscriptions/listen') return undefined;
  const { id, params } = message;
  if (typeof id !== 'string' && typeof id !== 'number') return undefined;
  if (!isJsonObject(params) || !isJsonObject(params.notifications)) return undefined;
  const { taskIds } = params.notifications;
  return taskIds === undefined ? undefined : { id, params, taskIds };
}

/** Refuses what may not listen to tasks. */
export function checkTaskListen({ taskIds }: TaskListen, { sender, dialect }: Caller): readonly TaskId[] {
  if (!dialect.admits(sender)) throw dialect.tasksRequired('A subscription with taskIds');
  if (!Array.isArray(taskIds) || !taskIds.every((id) => typeof id === 'string'))
    throw new InvalidParams('"notifications.taskIds" must be a list of strings.');
  if (taskIds.length > mostTasks)
    throw new InvalidParams(`"notifications.taskIds" may name at most ${mostTasks} tasks.`);
  return taskIds;
}

/** The SDK's acknowledgement, with the tasks that are listened to. */
export function acknowledging(message: JsonObject, taskIds: readonly TaskId[]): JsonObject {
  const params = message.params as JsonObject;
  const notifications = { ...(params.notifications as JsonObject), taskIds };
  return { ...message, params: { ...params, notifications } };
}

/** The answer with which a server ends a subscription. */
export function farewell(id: SubscriptionId, serverInfo: JsonObject): JsonObject {
  return {
    jsonrpc: '2.0',
    id,
    result: { resultType: 'complete', _meta: { [subscriptionIdKey]: id, ...serverInfo } },
  };
}
