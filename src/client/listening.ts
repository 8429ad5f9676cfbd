/** Push on 2026-07-28: one subscription for all tasks that are pursued at the moment. */
import { backoffMs } from '../model/backoff.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { runtime, type Timer } from '../model/runtime.ts';
import { subscriptionIdKey } from '../protocol/dialects/2026-07-28/names.ts';
import type { News } from '../requestor/pursuit.ts';
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
  heard: ReadonlySet<string>;
  /** Serves until this one is acknowledged, so that nothing falls between the two. */
  before: Subscription | undefined;
}

export class Listening implements News {
  readonly #dispatcher: Dispatcher;
  /** Whether the server offers it. */
  readonly #isOffered: () => boolean;
  readonly #nudges = new Map<string, Set<() => void>>();
  #current: Subscription | undefined;
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
  heard(method: string, params: JsonObject): void {
    if (method === 'notifications/tasks' || method === 'notifications/tasks/status')
      this.#nudge([String(params.taskId)]);
    if (method === 'notifications/subscriptions/acknowledged') this.#acknowledged(params);
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  #isHeard(taskId: string): boolean {
    const { heard, before } = this.#current ?? {};
    return (heard?.has(taskId) || before?.heard.has(taskId)) ?? false;
  }

  #nudge(taskIds: Iterable<string>): void {
    for (const taskId of taskIds) for (const nudge of this.#nudges.get(taskId) ?? []) nudge();
  }

  #acknowledged({ _meta: meta, notifications }: JsonObject): void {
    const current = this.#current;
    if (!current || !isJsonObject(meta) || meta[subscriptionIdKey] !== current.id) return;
    const taskIds = isJsonObject(notifications) ? notifications.taskIds : undefined;
    current.heard = new Set(Array.isArray(taskIds) ? (taskIds as string[]) : []);
    current.before?.over.abort();
    current.before = undefined;
    this.#failures = 0;
  }

  #stop(): void {
    runtime.clearTimeout(this.#timer);
    this.#timer = undefined;
    const current = this.#current;
    this.#current = undefined;
    current?.before?.over.abort();
    current?.over.abort();
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
    const { current, before } = { current: this.#current, before: this.#current?.before };
    // One that was never acknowledged serves nobody.
    if (before) current?.over.abort();
    this.#open(taskIds, before ?? current);
  }

  #open(taskIds: readonly string[], before: Subscription | undefined): void {
    const over = new AbortController();
    const id = this.#dispatcher.newRequestId();
    const current: Subscription = { id, over, heard: new Set(), before };
    this.#current = current;
    this.#openedAt = runtime.monotonic();
    const message = { method: 'subscriptions/listen', params: { notifications: { taskIds } } };
    const ended = () => this.#ended(current);
    this.#dispatcher
      .request(message, { id, signal: over.signal, isPatient: true, tellsAbort: true })
      .then(ended, ended);
  }

  /** Until it is open again, looks come as often as without it, from now on. */
  #ended(ended: Subscription): void {
    if (this.#current?.before === ended) this.#current.before = undefined;
    if (this.#current !== ended) return;
    this.#current = ended.before;
    this.#renewSoon(backoffMs(backoff, this.#failures++));
    this.#nudge(ended.heard);
  }
}
