/** Waiting for a peer: the poll interval, cancellable waits, retries of requests, and when to give up. */

import { isUnavailable } from '../dialects/errors.ts';
import { internalError } from '../dialects/json-rpc.ts';
import { backoffMs } from '../runtime/backoff.ts';
import { maxTimeoutMs, runtime } from '../runtime/runtime.ts';
import { ConnectionLost, RemoteError, RequestTimedOut, ServerUnreachable, TaskOverdue } from './errors.ts';
import type { RemoteOutcome } from './remote-outcome.ts';

export interface PaceOptions {
  /** The minimum poll interval. Default 100 ms. */
  readonly floorMs?: number;
  /** The maximum poll interval. Default 60 s. */
  readonly ceilingMs?: number;
  /** The poll interval if the server requests none. Default 1 s. */
  readonly defaultMs?: number;
}

/** Spreads the polls of many callers: up to a tenth of the wait is added. */
const jitter = 0.1;
const backoff = { minMs: 250, maxMs: 256_000 };

/**
 * Computes waits: the maximum of the server's poll interval, the backoff after failures, and Retry-After, but always
 * within the bounds that the host sets.
 */
export class Pace {
  /** The minimum time between two polls, even if notifications arrive. */
  readonly minMs: number;
  readonly #ceilingMs: number;
  readonly #defaultMs: number;
  readonly #random: () => number;

  constructor(
    { floorMs = 100, ceilingMs = 60_000, defaultMs = 1_000 }: PaceOptions = {},
    random: () => number = () => runtime.random(),
  ) {
    this.minMs = Math.min(floorMs, maxTimeoutMs);
    this.#ceilingMs = Math.min(Math.max(ceilingMs, floorMs), maxTimeoutMs);
    this.#defaultMs = defaultMs;
    this.#random = random;
  }

  next({
    hintMs,
    failures = 0,
    retryAfterMs = 0,
    atLeastMs = 0,
  }: {
    readonly hintMs?: number | undefined;
    /** The number of consecutive failures. */
    readonly failures?: number;
    readonly retryAfterMs?: number | undefined;
    /** A longer minimum, for polls that are only a safety net next to notifications. */
    readonly atLeastMs?: number;
  }): number {
    const failedMs = failures === 0 ? 0 : backoffMs(backoff, failures - 1);
    const asked = Math.max(hintMs ?? this.#defaultMs, failedMs, retryAfterMs, atLeastMs);
    const wait = Math.min(Math.max(asked, this.minMs), this.#ceilingMs);
    return Math.min(wait * (1 + jitter * this.#random()), this.#ceilingMs);
  }
}

/**
 * Waits that a signal cancels. The signal has only one listener, however many waits there are: adding or removing a
 * listener searches all of them, and thousands of subtasks may wait at the same time.
 */
export class CancellableWait {
  readonly signal: AbortSignal;
  readonly #held = new Set<(reason: unknown) => void>();

  constructor(signal: AbortSignal) {
    this.signal = signal;
    const endAll = () => {
      for (const end of this.#held) end(signal.reason);
      this.#held.clear();
    };
    signal.addEventListener('abort', endAll, { once: true });
  }

  /** Calls back when the signal is aborted, or at once if it already is. Returns a function that unsubscribes. */
  hold(end: (reason: unknown) => void): () => void {
    if (this.signal.aborted) end(this.signal.reason);
    else this.#held.add(end);
    return () => this.#held.delete(end);
  }

  /** Resolves after `ms`, or `mustMs()` after the wakeup rings. Rejects when the signal is aborted. */
  pause(ms: number, wakeup?: Wakeup, mustMs = () => 0): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        runtime.clearTimeout(timer);
        release();
        wakeup?.listen(undefined);
        act();
      };
      let timer = runtime.setTimeout(() => settle(resolve), ms);
      const release = this.hold((reason) => queueMicrotask(() => settle(() => reject(reason))));
      wakeup?.listen(() => {
        wakeup.listen(undefined);
        runtime.clearTimeout(timer);
        timer = runtime.setTimeout(() => settle(resolve), Math.min(mustMs(), ms));
      });
    });
  }
}

/** Ends a wait early. If it rings while nobody listens, the next listener is called at once. */
export class Wakeup {
  #hasRung = false;
  #listener: (() => void) | undefined;

  ring(): void {
    this.#hasRung = true;
    this.#listener?.();
  }

  /** Discards earlier rings, before a poll that covers them. */
  reset(): void {
    this.#hasRung = false;
  }

  listen(listener: (() => void) | undefined): void {
    this.#listener = listener;
    if (this.#hasRung) listener?.();
  }
}

// --- Retries ------------------------------------------------------------------------------------------------

interface RetryOptions {
  readonly pace: Pace;
  readonly reconnectTimeoutMs: number;
  readonly pause: (ms: number) => Promise<void>;
  /** True if the request is sent again after this error. */
  readonly isTransient: (error: Error) => boolean;
  readonly onFailure?: (error: Error) => void;
}

/** Sends a request until it is answered, for at most `reconnectTimeoutMs` after the first failure. */
export async function retryUntilAnswered<T>(
  request: () => Promise<T>,
  { pace, reconnectTimeoutMs, pause, isTransient, onFailure }: RetryOptions,
): Promise<T> {
  const since = runtime.monotonic();
  for (let failures = 1; ; failures++) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof Error) || !isTransient(error)) throw error;
      onFailure?.(error);
      const passed = runtime.monotonic() - since;
      if (passed > reconnectTimeoutMs) throw new ServerUnreachable(passed, error.message);
      const retryAfterMs = error instanceof ConnectionLost ? error.retryAfterMs : undefined;
      await pause(pace.next({ hintMs: 0, failures, retryAfterMs }));
    }
  }
}

/** True if the error is unrelated to the task. An internal error of the peer is only retried if that is safe. */
export function isTransient(error: Error, isRepeatable: boolean): boolean {
  if (error instanceof RemoteError)
    return (isRepeatable && error.rpcCode === internalError) || isUnavailable(error.data);
  return error instanceof ConnectionLost || error instanceof RequestTimedOut;
}

/** The peer no longer knows the task. */
export class Gone extends Error {
  readonly outcome: RemoteOutcome;

  constructor(outcome: RemoteOutcome) {
    super('The task is gone.');
    this.outcome = outcome;
  }
}

/**
 * How long a caller waits for one task. It gives up if the server sent no proper answer for as long as the task's ttl, or
 * if the server still reports an unfinished task `reconnectTimeoutMs` after that ttl. Without a ttl there is no limit while
 * the server answers. Giving up does not cancel the task: the call can be resumed.
 */
export class Patience {
  readonly #taskId: string;
  readonly #reconnectTimeoutMs: number;
  /** On the monotonic clock, which is independent of wall clocks here and at the server. */
  readonly #knownSince = runtime.monotonic();
  /** The last reported ttl. Later responses need not repeat it. */
  ttlMs: number | null | undefined;
  /** Since when all responses have shown a task that is older than its ttl. */
  #overdueSince: number | undefined;

  /** `ttlMs` is the one in the response that created the task. */
  constructor(taskId: string, reconnectTimeoutMs: number, ttlMs: number | null | undefined) {
    this.#taskId = taskId;
    this.#reconnectTimeoutMs = reconnectTimeoutMs;
    this.ttlMs = ttlMs;
  }

  /** The server reported an unfinished task. Time in which a person is answering a question does not count. */
  waited(status: string, ttlMs: number | null | undefined, isAsked: () => boolean): void {
    if (ttlMs !== undefined) this.ttlMs = ttlMs;
    const now = runtime.monotonic();
    if (typeof this.ttlMs !== 'number' || now - this.#knownSince <= this.ttlMs || isAsked()) {
      this.#overdueSince = undefined;
      return;
    }
    this.#overdueSince ??= now;
    const forMs = now - this.#overdueSince;
    if (forMs <= this.#reconnectTimeoutMs) return;
    throw new TaskOverdue(
      this.#taskId,
      `the server still reports it as ${status}, ${seconds(forMs)} after its ttl of ${this.ttlMs} ms.`,
    );
  }

  /** The server has sent no proper answer since `since`. */
  failed(since: number, why: string): void {
    const forMs = runtime.monotonic() - since;
    if (typeof this.ttlMs !== 'number' || forMs <= this.ttlMs) return;
    throw new TaskOverdue(
      this.#taskId,
      `the server has sent no valid answer for ${seconds(forMs)}, and the ttl of the task is ${this.ttlMs} ms. ${why}`,
    );
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
