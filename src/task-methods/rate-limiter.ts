/**
 * Enforces the limits on callers, so that one caller cannot starve others, and reports each refusal to the observer.
 * Rates are counted per process; `task-quota.ts` counts tasks in the store.
 *
 * Two patterns are also reported as suspicious: many failed reads, and polls far more frequent than the hint.
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

/** The kinds of requests with a rate limit. */
export type Spending = 'calls' | 'reads' | 'results' | 'lists';

const minuteMs = 60_000;
/** This many polls of one task per minute are always allowed, whatever its poll interval. */
const alwaysAllowedPolls = 600;
/** `Retry-After` for a refusal because the whole server has too many subscriptions. */
const fullRetryAfterMs = 5_000;

/** Provides the clock, and receives refusals and suspicions. */
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
  /** Requests for tasks that the caller cannot see, by owner, and by address for callers without a token. */
  readonly #misses: MinuteCounts;
  /** By task id. */
  readonly #polls: MinuteCounts;
  readonly #subscriptions = new Map<Owner, number>();
  /** The number of open subscriptions of all owners. */
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

  /** Counts a request, and throws if the owner exceeds the limit for this minute. */
  spend(owner: Owner, kind: Spending): void {
    const limit = `${kind}PerMinute` as const;
    const minute = this.#spent[kind].add(owner);
    if (minute.count > this.limits[limit]) this.#refuse(owner, limit, this.#leftOf(minute));
  }

  /** Runs `create`, which stores one task, or rejects if the quota of the owner or of the server is exhausted. */
  createTask<T>(requests: TaskService, owner: Owner, create: () => Promise<T>): Promise<T> {
    return this.#quota.create(requests, owner, create).catch((error: unknown) => {
      if (error instanceof OverLimit) this.#note(owner, error);
      throw error;
    });
  }

  /**
   * Counts a request for a task that the caller cannot see, and throws after too many. Whether the task exists affects
   * neither the count nor the error. Requests for tasks that the caller can see are never refused for this reason.
   */
  recordMiss({ owner, address }: Pick<Caller, 'owner' | 'address'>): void {
    const max = this.limits.failedReadsPerMinute;
    // Callers without a token share one owner, so distinguish them by address.
    const from = owner === anonymous ? address?.() : undefined;
    const minute = this.#misses.add(JSON.stringify([owner, from]));
    if (minute.count === max)
      this.#report({
        pattern: 'failedLooks',
        owner,
        count: max,
        at: this.#host.clock.now(),
        ...(from !== undefined && { address: from }),
      });
    if (minute.count > max) this.#refuse(owner, 'failedReadsPerMinute', this.#leftOf(minute));
  }

  /**
   * Counts a poll of a task by its owner. After far too many in a minute, throws for all polls except one per poll
   * interval, until the minute is over.
   */
  recordPoll(task: Task): void {
    const { pollsPerHint } = this.limits;
    const { clock } = this.#host;
    const minute = this.#polls.add(task.id);
    if (minute.count <= alwaysAllowedPolls) return;
    const hintMs = pollHintMs(task, clock.now());
    if (minute.count <= (pollsPerHint * minuteMs) / hintMs) return;
    const at = clock.monotonic();
    const { id, owner } = task;
    if (minute.notBefore === undefined)
      this.#report({ pattern: 'eagerPolls', owner, task: id, count: minute.count, at: clock.now() });
    else if (at < minute.notBefore)
      this.#refuse(owner, 'pollsPerHint', minute.notBefore - at, `: poll at most once every ${hintMs} ms.`);
    minute.notBefore = at + hintMs;
  }

  /** Counts an open subscription, or throws if there are too many. Returns a function to call once when it ends. */
  subscribe(owner: Owner): () => void {
    const { subscriptionsPerOwner, subscriptions } = this.limits;
    const open = this.#subscriptions.get(owner) ?? 0;
    if (open >= subscriptionsPerOwner) this.#refuse(owner, 'subscriptionsPerOwner');
    if (this.#subscriptionsInAll >= subscriptions) this.#refuse(owner, 'subscriptions', fullRetryAfterMs);
    this.#subscriptions.set(owner, open + 1);
    this.#subscriptionsInAll++;
    return () => {
      const left = (this.#subscriptions.get(owner) ?? 1) - 1;
      if (left === 0) this.#subscriptions.delete(owner);
      else this.#subscriptions.set(owner, left);
      this.#subscriptionsInAll--;
    };
  }

  /** Refuses a session of an owner that has too many, all of them in use. */
  refuseSession(owner: Owner): never {
    return this.#refuse(owner, 'sessionsPerOwner');
  }

  /** Reports that an unused session was removed to make room for a new one of its owner. */
  sessionEvicted(): void {
    quietly(() => this.#host.observer.refused('sessionsPerOwner'));
  }

  /** How many milliseconds are left of a minute. */
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

/** The count of one key in its current minute. Times are by the monotonic clock. */
interface Minute {
  readonly until: number;
  count: number;
  /** Polls before this time are refused. Undefined until the task is polled too often. */
  notBefore?: number;
}

/** Counts by key. The minute of a key starts with its first count. */
class MinuteCounts {
  readonly #clock: Clock;
  /** By the start of the minute, oldest first. */
  readonly #minutes = new Map<string, Minute>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds one to the count of a key and returns its current minute. */
  add(key: string): Minute {
    const now = this.#clock.monotonic();
    const known = this.#minutes.get(key);
    if (known && now < known.until) {
      known.count++;
      return known;
    }
    this.#minutes.delete(key);
    const [oldest] = this.#minutes.size >= maxKeys ? this.#minutes.keys() : [];
    if (oldest !== undefined) this.#minutes.delete(oldest);
    const minute = { until: now + minuteMs, count: 1 };
    this.#minutes.set(key, minute);
    return minute;
  }
}

/** Beyond this number of keys, the oldest one is forgotten, which limits the memory. */
const maxKeys = 10_000;
