/** Push on 2026-07-28: one subscription for all tasks that are pursued at the moment. */

import { subscriptionIdKey } from '../dialects/2026-07-28/names.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { News } from '../remote-tasks/task-poller.ts';
import { backoffMs } from '../runtime/backoff.ts';
import { runtime, type Timer } from '../runtime/runtime.ts';
import type { Dispatcher } from './dispatcher.ts';

/** Tasks that come together are subscribed to together. */
const settleMs = 20;
/** Between two subscriptions, however many tasks come and go. */
const shortestMs = 1_000;
const backoff = { minMs: 5_000, maxMs: 60_000 };

interface Subscription {
  readonly id: string;
  readonly over: AbortController;
  /** Of which the server says that it will tell; empty until it has said so. */
  acknowledged: ReadonlySet<string>;
}

export class TaskSubscription implements News {
  readonly #dispatcher: Dispatcher;
  /** Whether the server offers it. */
  readonly #isOffered: () => boolean;
  readonly #nudges = new Map<string, Set<() => void>>();
  /** Each serves until a later one is acknowledged, so that nothing falls between the two. */
  #subscriptions: readonly Subscription[] = [];
  #timer: Timer | undefined;
  #openedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #isClosed = false;

  constructor(dispatcher: Dispatcher, isOffered: () => boolean) {
    this.#dispatcher = dispatcher;
    this.#isOffered = isOffered;
  }

  of(taskId: string, nudge: () => void): { stop(): void; isPushed(): boolean } {
    const nudges = this.#nudges.get(taskId) ?? new Set();
    this.#nudges.set(taskId, nudges.add(nudge));
    this.#renewSoon();
    return {
      stop: () => {
        nudges.delete(nudge);
        if (nudges.size === 0) this.#nudges.delete(taskId);
        // Others that are still told of do no harm.
        if (this.#nudges.size === 0) this.#stop();
      },
      isPushed: () => this.#isHeard(taskId),
    };
  }

  /** What came in; whichever dialect it is told in, it says which task it is about. */
  onNotification(method: string, params: JsonObject): void {
    if (method === 'notifications/tasks' || method === 'notifications/tasks/status')
      this.#nudge([String(params.taskId)]);
    if (method === 'notifications/subscriptions/acknowledged') this.#acknowledged(params);
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  #isHeard(taskId: string): boolean {
    return this.#subscriptions.some(({ acknowledged: heard }) => heard.has(taskId));
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

  #keepOnly(kept: readonly Subscription[]): void {
    const others = this.#subscriptions.filter((one) => !kept.includes(one));
    this.#subscriptions = kept;
    for (const { over } of others) over.abort();
  }

  #renewSoon(leastMs = settleMs): void {
    if (this.#isClosed || this.#timer || !this.#isOffered()) return;
    const ms = Math.max(leastMs, this.#openedAt + shortestMs - runtime.monotonic());
    this.#timer = runtime
      .setTimeout(() => {
        this.#timer = undefined;
        this.#renew();
      }, ms)
      .unref();
  }

  #renew(): void {
    const taskIds = [...this.#nudges.keys()];
    if (taskIds.every((taskId) => this.#isHeard(taskId))) return;
    // One that was never acknowledged serves nobody.
    this.#keepOnly(this.#subscriptions.filter(({ acknowledged: heard }) => heard.size > 0));
    const over = new AbortController();
    const id = this.#dispatcher.newRequestId();
    const latest: Subscription = { id, over, acknowledged: new Set() };
    this.#subscriptions = [...this.#subscriptions, latest];
    this.#openedAt = runtime.monotonic();
    const message = { method: 'subscriptions/listen', params: { notifications: { taskIds } } };
    const ended = () => this.#ended(latest);
    this.#dispatcher
      .request(message, { id, signal: over.signal, isPatient: true, cancelOnAbort: true })
      .then(ended, ended);
  }

  /** Until it is open again, looks come as often as without it, from now on. */
  #ended(ended: Subscription): void {
    const isLatest = this.#subscriptions.at(-1) === ended;
    this.#subscriptions = this.#subscriptions.filter((one) => one !== ended);
    if (!isLatest) return;
    this.#renewSoon(backoffMs(backoff, this.#failures++));
    this.#nudge(ended.acknowledged);
  }
}
