/**
 * Push: one subscription to the state of some tasks. Every frame is what `tasks/get` would say at that moment, so news
 * that a slow reader has not taken yet is replaced by newer news: a subscription never holds more than the ids of the
 * tasks that changed.
 */

import { serverInfoKey, subscriptionIdKey } from '../../dialects/2026-07-28/names.ts';
import { InvalidParams } from '../../dialects/errors.ts';
import type { TaskService } from '../../engine/task-service.ts';
import type { TaskEvent } from '../../model/event.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { TaskId } from '../../model/task.ts';
import { noteDenied, noteRead } from '../../task-methods/audit-notes.ts';
import type { Caller } from '../../task-methods/caller.ts';
import { visible } from '../../task-methods/task-methods.ts';

/** Commits that change nothing a peer can see. */
const unseen = new Set<TaskEvent['type']>([
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

/** Whoever asked to listen. */
export interface Reader {
  /** The id of the request to listen. */
  readonly id: SubscriptionId;
  /** Resolves when the message has been taken. */
  write(message: JsonObject): Promise<void>;
  /** Nothing more can be told. */
  drop(): void;
}

/** A task that is listened to, and the tree in which it is heard of. */
export interface Heard {
  readonly id: TaskId;
  readonly rootId: TaskId;
}

export class Subscription {
  readonly #requests: TaskService;
  readonly #caller: Caller;
  readonly #reader: Reader;
  readonly #taskIds: readonly TaskId[];
  readonly #unwatch: (() => void)[];
  /** Tasks whose present state the reader has not been told. */
  readonly #untold: Set<TaskId>;
  #isTelling = false;
  #isClosed = false;

  constructor(requests: TaskService, caller: Caller, tasks: readonly Heard[], reader: Reader) {
    this.#requests = requests;
    this.#caller = caller;
    this.#reader = reader;
    this.#taskIds = tasks.map((task) => task.id);
    this.#untold = new Set(this.#taskIds);
    const { knowsSubtasks = false } = caller.sender;
    this.#unwatch = tasks.map((task) =>
      requests.watch(task.rootId, ({ taskId, events }) => {
        // Who sees subtasks as tasks of their own hears of each by itself.
        if (knowsSubtasks && taskId !== task.id) return;
        if (events.every(({ type }) => unseen.has(type))) return;
        this.#untold.add(task.id);
        void this.#tell();
      }),
    );
  }

  /** The SDK's acknowledgement, with the tasks that are listened to. */
  acknowledging(message: JsonObject): JsonObject {
    const params = message.params as JsonObject;
    const notifications = { ...(params.notifications as JsonObject), taskIds: this.#taskIds };
    return { ...message, params: { ...params, notifications } };
  }

  /** To be called once the acknowledgement has been written: the first news is how everything stands. */
  start(): void {
    void this.#tell();
  }

  close(): void {
    this.#isClosed = true;
    for (const unwatch of this.#unwatch.splice(0)) unwatch();
  }

  async #tell(): Promise<void> {
    if (this.#isTelling) return;
    this.#isTelling = true;
    try {
      for (const taskId of this.#untold) {
        if (this.#isClosed) return;
        this.#untold.delete(taskId);
        const tree = await visible(this.#requests, this.#caller, taskId);
        const news = tree && this.#caller.dialect.notification(tree, this.#requests.now);
        if (!news) continue;
        await this.#write(news);
        noteRead(this.#requests, tree.root, this.#caller);
      }
    } catch {
      // The connection is gone, or the store cannot be read; the reader will come back.
      this.#drop();
    } finally {
      this.#isTelling = false;
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

// --- Requests to listen ------------------------------------------------------------------------------------

/** Each is looked up before anything is answered. */
const mostTasks = 1_000;

export const acknowledgement = 'notifications/subscriptions/acknowledged';

/**
 * `subscriptions/listen` with `taskIds`. The SDK has no seam for it: it answers the rest of the request, and the tasks
 * are added to its acknowledgement.
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

/** The tasks that the caller may see, each once, in their order. Refuses who may not listen to tasks at all. */
export async function tasksToHear(
  requests: TaskService,
  caller: Caller,
  { taskIds }: TaskListen,
): Promise<Heard[]> {
  const { sender, dialect } = caller;
  if (!dialect.admits(sender)) throw dialect.tasksRequired('A subscription with taskIds');
  if (!Array.isArray(taskIds) || !taskIds.every((id) => typeof id === 'string'))
    throw new InvalidParams('"notifications.taskIds" must be a list of strings.');
  if (taskIds.length > mostTasks)
    throw new InvalidParams(`"notifications.taskIds" may name at most ${mostTasks} tasks.`);
  const distinct = [...new Set<TaskId>(taskIds)];
  const trees = await Promise.all(distinct.map((id) => visible(requests, caller, id)));
  for (const [index, id] of distinct.entries())
    if (!trees[index]) noteDenied(requests, caller, id, 'subscriptions/listen');
  const found = trees.filter((tree) => tree !== undefined);
  if (found.length < distinct.length) caller.limiter?.missed(caller);
  return found.map(({ root: { id, rootId } }) => ({ id, rootId }));
}

/** The answer with which a server ends a subscription. */
export function farewell(id: SubscriptionId, serverInfo: JsonObject | undefined): JsonObject {
  const _meta = { [subscriptionIdKey]: id, ...(serverInfo && { [serverInfoKey]: serverInfo }) };
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } };
}
