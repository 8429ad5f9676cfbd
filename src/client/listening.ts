/** Push on 2026-07-28: one subscription for all tasks that are pursued at the moment. */
import type { JsonObject } from '../model/json.ts';
import { subscriptionIdKey } from '../protocol/dialects/2026-07-28/names.ts';
import type { News } from '../requestor/pursuit.ts';
import type { Dispatcher } from './dispatcher.ts';

/** Tasks that come and go together are subscribed to together. */
const settleMs = 20;
const retryMs = 5_000;

export class Listening implements News {
  readonly #dispatcher: Dispatcher;
  /** Whether the server offers it. */
  readonly #isOffered: () => boolean;
  readonly #nudges = new Map<string, Set<() => void>>();
  #current: { readonly id: string; readonly over: AbortController; heard: ReadonlySet<string> } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(dispatcher: Dispatcher, isOffered: () => boolean) {
    this.#dispatcher = dispatcher;
    this.#isOffered = isOffered;
  }

  of(taskId: string, nudge: () => void): { stop(): void; isPushed(): boolean } {
    const nudges = this.#nudges.get(taskId) ?? new Set();
    this.#nudges.set(taskId, nudges.add(nudge));
    this.#renewSoon(settleMs);
    return {
      stop: () => {
        nudges.delete(nudge);
        if (nudges.size === 0) this.#nudges.delete(taskId);
        this.#renewSoon(settleMs);
      },
      isPushed: () => this.#current?.heard.has(taskId) ?? false,
    };
  }

  /** What came in; whichever dialect it is told in, it says which task it is about. */
  heard(method: string, params: JsonObject): void {
    if (method === 'notifications/tasks' || method === 'notifications/tasks/status') {
      for (const nudge of this.#nudges.get(String(params.taskId)) ?? []) nudge();
      return;
    }
    const meta = params._meta as JsonObject | undefined;
    if (method !== 'notifications/subscriptions/acknowledged' || !this.#current) return;
    if (meta?.[subscriptionIdKey] !== this.#current.id) return;
    const { taskIds } = (params.notifications ?? {}) as { taskIds?: unknown };
    this.#current.heard = new Set(Array.isArray(taskIds) ? taskIds : []);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#current?.over.abort();
  }

  #renewSoon(ms: number): void {
    if (this.#isClosed || !this.#isOffered()) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#renew(), ms).unref();
  }

  #renew(): void {
    const before = this.#current;
    this.#current = undefined;
    const taskIds = [...this.#nudges.keys()];
    if (taskIds.length > 0) this.#open(taskIds);
    before?.over.abort();
  }

  #open(taskIds: readonly string[]): void {
    const over = new AbortController();
    const current = { id: this.#dispatcher.newRequestId(), over, heard: new Set<string>() };
    this.#current = current;
    const message = { method: 'subscriptions/listen', params: { notifications: { taskIds } } };
    const ended = () => {
      if (this.#current !== current) return;
      // Until it is open again, looks come as often as without it.
      this.#current = undefined;
      this.#renewSoon(retryMs);
    };
    this.#dispatcher
      .request(message, { id: current.id, signal: over.signal, isPatient: true, tellsAbort: true })
      .then(ended, ended);
  }
}
