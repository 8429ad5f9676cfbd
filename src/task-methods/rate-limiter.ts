/**
 * Holds callers to the limits, so that nobody takes another's service away, and reports each refusal to the observer.
 * Rates are counted in this process; `quota.ts` counts tasks in the store.
 *
 * Two patterns are also reported as suspicious: many failed lookups, and polls far above the hint.
 */

import { OverLimit } from '../dialects/errors.ts';
import type { AuditRecorder } from '../engine/database/audit-log.ts';
import type { TaskService } from '../engine/task-service.ts';
import { type Owner, pollHintMs, type Task } from '../model/task.ts';
import { type Observer, quietly, type Suspicion } from '../ports/observer.ts';
import type { Clock } from '../runtime/clock.ts';
import { anonymous, type Caller } from './caller.ts';
import { type Limits, overLimit } from './limits.ts';
import { TaskQuota } from './task-quota.ts';

/** What is limited to a rate. */
export type Spending = 'calls' | 'reads' | 'results' | 'lists';

const minuteMs = 60_000;
/** This many looks at one task in a minute are never too many, however seldom its hint asks for them. */
const unremarkable = 600;
/** When a server that is full may have room again. */
const comeBackMs = 5_000;

/** Tells the time, and hears of refusals. */
export interface LimiterHost {
  readonly clock: Clock;
  readonly observer: Pick<Observer, 'refused' | 'suspicious'>;
  readonly recorder?: AuditRecorder | undefined;
}

export class RateLimiter {
  readonly limits: Limits;
  readonly #host: LimiterHost;
  readonly #quota: TaskQuota;
  readonly #spent: Readonly<Record<Spending, MinuteCounts>>;
  /** By owner and address. */
  readonly #misses: MinuteCounts;
  readonly #polls: MinuteCounts;
  readonly #subscriptions = new Map<Owner, number>();
  #subscriptionsInAll = 0;

  constructor(limits: Limits, host: LimiterHost) {
    this.limits = limits;
    this.#host = host;
    this.#quota = new TaskQuota(limits);
    const counts = () => new MinuteCounts(host.clock);
    this.#spent = { calls: counts(), reads: counts(), results: counts(), lists: counts() };
    this.#misses = counts();
    this.#polls = counts();
  }

  /** Refuses what is more than the owner's share of a minute. */
  spend(owner: Owner, kind: Spending): void {
    const limit = `${kind}PerMinute` as const;
    const minute = this.#spent[kind].add(owner);
    if (minute.times > this.limits[limit]) this.#refuse(owner, limit, this.#leftOf(minute));
  }

  /** Creates a task; refuses one more than an owner may have, or than there may be. */
  makeTask<T>(requests: TaskService, owner: Owner, make: () => Promise<T>): Promise<T> {
    return this.#quota.create(requests, owner, make).catch((error: unknown) => {
      if (error instanceof OverLimit) this.#note(owner, error);
      throw error;
    });
  }

  /**
   * The caller asked for a task that it cannot see; after many of them it is refused. Whether there is such a task
   * changes neither the count nor the answer, and a caller is never refused a task that it does find.
   */
  missed({ owner, address }: Pick<Caller, 'owner' | 'address'>): void {
    const most = this.limits.failedReadsPerMinute;
    // Callers without a token are one owner: only their addresses tell them apart.
    const from = owner === anonymous ? address?.() : undefined;
    const minute = this.#misses.add(JSON.stringify([owner, from]));
    if (minute.times === most)
      this.#report({
        pattern: 'failedLooks',
        owner,
        count: most,
        at: this.#host.clock.now(),
        ...(from !== undefined && { address: from }),
      });
    if (minute.times > most) this.#refuse(owner, 'failedReadsPerMinute', this.#leftOf(minute));
  }

  /** A caller polls a task of its own. If it does so far too often, it is answered at the pace of the hint. */
  polled(task: Task): void {
    const { pollsPerHint } = this.limits;
    const { clock } = this.#host;
    const minute = this.#polls.add(task.id);
    if (minute.times <= unremarkable) return;
    const hintMs = pollHintMs(task, clock.now());
    if (minute.times <= (pollsPerHint * minuteMs) / hintMs) return;
    const at = clock.monotonic();
    const { id, owner } = task;
    if (minute.notBefore === undefined)
      this.#report({ pattern: 'eagerPolls', owner, task: id, count: minute.times, at: clock.now() });
    else if (at < minute.notBefore)
      this.#refuse(owner, 'pollsPerHint', minute.notBefore - at, `: once in ${hintMs} ms is enough.`);
    minute.notBefore = at + hintMs;
  }

  /** Refuses one subscription more than an owner may have, or than there may be. Returns how to end it. */
  subscribe(owner: Owner): () => void {
    const { subscriptionsPerOwner, subscriptions } = this.limits;
    const open = this.#subscriptions.get(owner) ?? 0;
    if (open >= subscriptionsPerOwner) this.#refuse(owner, 'subscriptionsPerOwner');
    if (this.#subscriptionsInAll >= subscriptions) this.#refuse(owner, 'subscriptions', comeBackMs);
    this.#subscriptions.set(owner, open + 1);
    this.#subscriptionsInAll++;
    return () => {
      const left = (this.#subscriptions.get(owner) ?? 1) - 1;
      if (left === 0) this.#subscriptions.delete(owner);
      else this.#subscriptions.set(owner, left);
      this.#subscriptionsInAll--;
    };
  }

  /** Refuses one session more than an owner may have, all of whose sessions are in use. */
  refuseSession(owner: Owner): never {
    return this.#refuse(owner, 'sessionsPerOwner');
  }

  /** An unused session was removed for another of its owner. */
  sessionWent(): void {
    quietly(() => this.#host.observer.refused('sessionsPerOwner'));
  }

  #leftOf({ until }: Minute): number {
    return until - this.#host.clock.monotonic();
  }

  #report(suspicion: Suspicion): void {
    quietly(() => this.#host.observer.suspicious(suspicion));
  }

  #refuse(owner: Owner, limit: keyof Limits, retryAfterMs?: number, advice = ''): never {
    const refusal = overLimit(this.limits, limit, retryAfterMs, advice);
    this.#note(owner, refusal);
    throw refusal;
  }

  #note(owner: Owner, { limit, message: reason }: OverLimit): void {
    quietly(() => this.#host.observer.refused(limit));
    const entry = { owner, taskId: null, by: 'caller', reason, details: { limit } } as const;
    this.#host.recorder?.refuse({ action: 'limited', ...entry });
  }
}

/** What is counted of one key. Moments are on the monotonic clock. */
interface Minute {
  readonly until: number;
  times: number;
  /** Refuse until then. */
  notBefore?: number;
}

/** Counts by key, each in minutes that begin with its first count. */
class MinuteCounts {
  readonly #clock: Clock;
  /** The oldest first. */
  readonly #minutes = new Map<string, Minute>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(key: string): Minute {
    const now = this.#clock.monotonic();
    const known = this.#minutes.get(key);
    if (known && now < known.until) {
      known.times++;
      return known;
    }
    this.#minutes.delete(key);
    const [oldest] = this.#minutes.size >= mostKeys ? this.#minutes.keys() : [];
    if (oldest !== undefined) this.#minutes.delete(oldest);
    const minute = { until: now + minuteMs, times: 1 };
    this.#minutes.set(key, minute);
    return minute;
  }
}

const mostKeys = 10_000;
