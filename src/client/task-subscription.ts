/** Push on 2026-07-28: one subscription for all tasks that are polled at the moment. */

import { subscriptionIdKey } from '../dialects/2026-07-28/names.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { TaskNotifications } from '../remote-tasks/task-poller.ts';
import { backoffMs } from '../runtime/backoff.ts';
import { runtime, type Timer } from '../runtime/runtime.ts';
import type { Dispatcher } from './dispatcher.ts';

/** Tasks that are added within this time share a subscription. */
const batchMs = 20;
/** The minimum time between two subscriptions. */
const minIntervalMs = 1_000;
/** The delay after a subscription has ended. */
const backoff = { minMs: 5_000, maxMs: 60_000 };

interface Subscription {
  readonly id: string;
  readonly abort: AbortController;
  /** The tasks that the server has acknowledged; empty until then. */
  acknowledged: ReadonlySet<string>;
}

export class TaskSubscription implements TaskNotifications {
  readonly #dispatcher: Dispatcher;
  /** True if the server supports subscriptions. */
  readonly #isOffered: () => boolean;
  /** Functions that make a poller poll at once, by task id. */
  readonly #nudges = new Map<string, Set<() => void>>();
  /** A subscription stays open until a later one is acknowledged, so that no notification is missed. */
  #subscriptions: readonly Subscription[] = [];
  #timer: Timer | undefined;
  #openedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #isClosed = false;

  constructor(dispatcher: Dispatcher, isOffered: () => boolean) {
    this.#dispatcher = dispatcher;
    this.#isOffered = isOffered;
  }

  /**
   * Adds a task. `nudge` makes its poller poll at once. `isPushed` is true while the server sends notifications about
   * it.
   */
  of(taskId: string, nudge: () => void): { stop(): void; isPushed(): boolean } {
    const nudges = this.#nudges.get(taskId) ?? new Set();
    this.#nudges.set(taskId, nudges.add(nudge));
    this.#renewSoon();
    return {
      stop: () => {
        nudges.delete(nudge);
        if (nudges.size === 0) this.#nudges.delete(taskId);
        // A subscription also for tasks that are no longer polled is harmless, so it is not renewed.
        if (this.#nudges.size === 0) this.#stop();
      },
      isPushed: () => this.#isAcknowledged(taskId),
    };
  }

  /** Handles a notification. In every dialect it names its task. */
  onNotification(method: string, params: JsonObject): void {
    if (method === 'notifications/tasks' || method === 'notifications/tasks/status')
      this.#nudge([String(params.taskId)]);
    if (method === 'notifications/subscriptions/acknowledged') this.#acknowledged(params);
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  #isAcknowledged(taskId: string): boolean {
    return this.#subscriptions.some(({ acknowledged }) => acknowledged.has(taskId));
  }

  #nudge(taskIds: Iterable<string>): void {
    for (const taskId of taskIds) for (const nudge of this.#nudges.get(taskId) ?? []) nudge();
  }

  #acknowledged({ _meta: meta, notifications }: JsonObject): void {
    const latest = this.#subscriptions.at(-1);
    if (!latest || !isJsonObject(meta) || meta[subscriptionIdKey] !== latest.id) return;
    const taskIds = isJsonObject(notifications) ? notifications.taskIds : undefined;
    latest.acknowledged = new Set(Array.isArray(taskIds) ? (taskIds as string[]) : []);
    this.#keepOnly([latest]);
    this.#failures = 0;
  }

  #stop(): void {
    runtime.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#keepOnly([]);
  }

  #keepOnly(subscriptions: readonly Subscription[]): void {
    const others = this.#subscriptions.filter((one) => !subscriptions.includes(one));
    this.#subscriptions = subscriptions;
    for (const { abort } of others) abort.abort();
  }

  #renewSoon(delayMs = batchMs): void {
    if (this.#isClosed || this.#timer || !this.#isOffered()) return;
    const ms = Math.max(delayMs, this.#openedAt + minIntervalMs - runtime.monotonic());
    this.#timer = runtime
      .setTimeout(() => {
        this.#timer = undefined;
        this.#renew();
      }, ms)
      .unref();
  }

  #renew(): void {
    const taskIds = [...this.#nudges.keys()];
    if (taskIds.every((taskId) => this.#isAcknowledged(taskId))) return;
    // A subscription that was never acknowledged is useless.
    this.#keepOnly(this.#subscriptions.filter(({ acknowledged }) => acknowledged.size > 0));
    const abort = new AbortController();
    const id = this.#dispatcher.newRequestId();
    const latest: Subscription = { id, abort, acknowledged: new Set() };
    this.#subscriptions = [...this.#subscriptions, latest];
    this.#openedAt = runtime.monotonic();
    const message = { method: 'subscriptions/listen', params: { notifications: { taskIds } } };
    const ended = () => this.#ended(latest);
    this.#dispatcher
      .request(message, { id, signal: abort.signal, isPatient: true, cancelOnAbort: true })
      .then(ended, ended);
  }

  /** Nudges all pollers, which poll at their normal pace until the subscription is open again. */
  #ended(ended: Subscription): void {
    const isLatest = this.#subscriptions.at(-1) === ended;
    this.#subscriptions = this.#subscriptions.filter((one) => one !== ended);
    if (!isLatest) return;
    this.#renewSoon(backoffMs(backoff, this.#failures++));
    this.#nudge(ended.acknowledged);
  }
}
