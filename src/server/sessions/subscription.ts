/**
 * A subscription pushes the state of some tasks. Every notification contains what `tasks/get` would return at that
 * moment. A subscription buffers only the ids of changed tasks, so a slow reader receives the latest state.
 */

import { serverInfoKey, subscriptionIdKey } from '../../dialects/2026-07-28/names.ts';
import { InvalidParams } from '../../dialects/errors.ts';
import type { TaskService } from '../../engine/task-service.ts';
import type { TaskEvent } from '../../model/event.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { TaskId } from '../../model/task.ts';
import { noteDenied, noteRead } from '../../task-methods/audit-notes.ts';
import type { Caller } from '../../task-methods/caller.ts';
import { visibleTree } from '../../task-methods/task-methods.ts';

/** Events that change nothing a peer can see. */
const invisible = new Set<TaskEvent['type']>([
  'claimed',
  'recorded',
  'parked',
  'released',
  'isolated',
  'rested',
  'awaited',
  'delivering',
  'undelivered',
]);

export type SubscriptionId = string | number;

/** The connection to the subscriber. */
export interface Reader {
  /** The id of the `subscriptions/listen` request. */
  readonly id: SubscriptionId;
  /** Resolves when the message has been written. */
  write(message: JsonObject): Promise<void>;
  /** Ends the subscription after a failure. */
  drop(): void;
}

/** A subscribed task, and the root of its tree. */
export interface WatchedTask {
  readonly id: TaskId;
  readonly rootId: TaskId;
}

export class Subscription {
  readonly #requests: TaskService;
  readonly #caller: Caller;
  readonly #reader: Reader;
  readonly #taskIds: readonly TaskId[];
  readonly #unwatch: (() => void)[];
  /** Tasks whose current state has not been sent. */
  readonly #changed: Set<TaskId>;
  #isSending = false;
  #isClosed = false;

  constructor(requests: TaskService, caller: Caller, tasks: readonly WatchedTask[], reader: Reader) {
    this.#requests = requests;
    this.#caller = caller;
    this.#reader = reader;
    this.#taskIds = tasks.map((task) => task.id);
    this.#changed = new Set(this.#taskIds);
    const { knowsSubtasks = false } = caller.sender;
    this.#unwatch = tasks.map((task) =>
      requests.watch(task.rootId, ({ taskId, events }) => {
        // A caller that supports subtasks subscribes to each of them separately.
        if (knowsSubtasks && taskId !== task.id) return;
        if (events.every(({ type }) => invisible.has(type))) return;
        this.#changed.add(task.id);
        void this.#send();
      }),
    );
  }

  /** Adds the subscribed tasks to the SDK's acknowledgement. */
  acknowledging(message: JsonObject): JsonObject {
    const params = message.params as JsonObject;
    const notifications = { ...(params.notifications as JsonObject), taskIds: this.#taskIds };
    return { ...message, params: { ...params, notifications } };
  }

  /** Sends the current state of all tasks. Call this after the acknowledgement was written. */
  start(): void {
    void this.#send();
  }

  close(): void {
    this.#isClosed = true;
    for (const unwatch of this.#unwatch.splice(0)) unwatch();
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      // The loop also visits ids that are added while it runs.
      for (const taskId of this.#changed) {
        if (this.#isClosed) return;
        this.#changed.delete(taskId);
        const tree = await visibleTree(this.#requests, this.#caller, taskId);
        const notification = tree && this.#caller.dialect.notification(tree, this.#requests.now);
        if (!notification) continue;
        await this.#write(notification);
        noteRead(this.#requests, tree.root, this.#caller);
      }
    } catch {
      // The connection is gone, or the store cannot be read. The client will subscribe again.
      this.#drop();
    } finally {
      this.#isSending = false;
    }
  }

  async #write({ method, params }: { method: string; params: JsonObject }): Promise<void> {
    const _meta = { ...(params._meta as JsonObject | undefined), [subscriptionIdKey]: this.#reader.id };
    await this.#reader.write({ jsonrpc: '2.0', method, params: { ...params, _meta } });
  }

  #drop(): void {
    if (this.#isClosed) return;
    this.close();
    this.#reader.drop();
  }
}

// --- subscriptions/listen ----------------------------------------------------------------------------------

/** The maximum number of tasks of one request. Each of them is read before the request is answered. */
const maxTasks = 1_000;

export const acknowledgement = 'notifications/subscriptions/acknowledged';

/**
 * `subscriptions/listen` with `taskIds`, which the SDK does not support. It answers the rest of the request, and we add
 * the tasks to its acknowledgement.
 */
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

/**
 * The distinct tasks of a subscription, in order, without those that the caller may not see. Refuses callers that may
 * not subscribe.
 */
export async function watchedTasks(
  requests: TaskService,
  caller: Caller,
  { taskIds }: TaskListen,
): Promise<WatchedTask[]> {
  const { sender, dialect } = caller;
  if (!dialect.admits(sender)) throw dialect.tasksRequired('A subscription with taskIds');
  if (!Array.isArray(taskIds) || !taskIds.every((id) => typeof id === 'string'))
    throw new InvalidParams('"notifications.taskIds" must be a list of strings.');
  if (taskIds.length > maxTasks)
    throw new InvalidParams(`"notifications.taskIds" may contain at most ${maxTasks} ids.`);
  const distinct = [...new Set<TaskId>(taskIds)];
  const trees = await Promise.all(distinct.map((id) => visibleTree(requests, caller, id)));
  for (const [index, id] of distinct.entries())
    if (!trees[index]) noteDenied(requests, caller, id, 'subscriptions/listen');
  const found = trees.filter((tree) => tree !== undefined);
  if (found.length < distinct.length) caller.limiter?.recordMiss(caller);
  return found.map(({ root: { id, rootId } }) => ({ id, rootId }));
}

/** The answer to `subscriptions/listen` that ends the subscription. */
export function farewell(id: SubscriptionId, serverInfo: JsonObject | undefined): JsonObject {
  const _meta = { [subscriptionIdKey]: id, ...(serverInfo && { [serverInfoKey]: serverInfo }) };
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } };
}
