/** Waiting for a peer: how long between two looks, how a wait ends early, what is sent again, and when it is given up. */

import { isUnavailable } from '../dialects/errors.ts';
import { internalError } from '../dialects/json-rpc.ts';
import { backoffMs } from '../runtime/backoff.ts';
import { maxTimeoutMs, runtime } from '../runtime/runtime.ts';
import { ConnectionLost, RemoteError, RequestTimedOut, ServerUnreachable, TaskOverdue } from './errors.ts';
import type { RemoteOutcome } from './remote-outcome.ts';

export interface PaceOptions {
  /** Never look sooner than this. Default 100 ms. */
  readonly floorMs?: number;
  /** Never later. Default 60 s. */
  readonly ceilingMs?: number;
  /** Without a hint of the server. Default 1 s. */
  readonly defaultMs?: number;
}

/** Looks of many callers are spread by up to a tenth of the wait, and never before its end. */
const jitter = 0.1;
const backoff = { minMs: 250, maxMs: 256_000 };

/**
 * The longest of what the server asks for, what the host allows, what failures in a row call for, and Retry-After;
 * never shorter or longer than the bounds, whatever a server says.
 */
export class Pace {
  /** Between two looks, whatever news there is. */
  readonly shortestMs: number;
  readonly #ceilingMs: number;
  readonly #defaultMs: number;
  readonly #random: () => number;

  constructor(
    { floorMs = 100, ceilingMs = 60_000, defaultMs = 1_000 }: PaceOptions = {},
    random: () => number = () => runtime.random(),
  ) {
    this.shortestMs = Math.min(floorMs, maxTimeoutMs);
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
    /** Failures in a row. */
    readonly failures?: number;
    readonly retryAfterMs?: number | undefined;
    /** While the server pushes, looks are only the safety net. */
    readonly atLeastMs?: number;
  }): number {
    const failedMs = failures === 0 ? 0 : backoffMs(backoff, failures - 1);
    const asked = Math.max(hintMs ?? this.#defaultMs, failedMs, retryAfterMs, atLeastMs);
    const wait = Math.min(Math.max(asked, this.shortestMs), this.#ceilingMs);
    return Math.min(wait * (1 + jitter * this.#random()), this.#ceilingMs);
  }
}

/**
 * Waits that can be ended. However many there are, their signal has one listener: it searches its list for each that is
 * added or removed, and thousands of subtasks wait at the same time.
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

  /** Calls back when everything is to end, at once if it is; what it returns takes that back. */
  hold(end: (reason: unknown) => void): () => void {
    if (this.signal.aborted) end(this.signal.reason);
    else this.#held.add(end);
    return () => this.#held.delete(end);
  }

  /** Until the time has passed; once the bell rings, only as long as it must be. */
  pause(ms: number, bell?: Wakeup, mustMs = () => 0): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        runtime.clearTimeout(timer);
        release();
        bell?.hear(undefined);
        act();
      };
      let timer = runtime.setTimeout(() => settle(resolve), ms);
      const release = this.hold((reason) => queueMicrotask(() => settle(() => reject(reason))));
      bell?.hear(() => {
        bell.hear(undefined);
        runtime.clearTimeout(timer);
        timer = runtime.setTimeout(() => settle(resolve), Math.min(mustMs(), ms));
      });
    });
  }
}

/** Says that there is news. What rang while nobody listened is heard by the next who does. */
export class Wakeup {
  #hasRung = false;
  #listener: (() => void) | undefined;

  ring(): void {
    this.#hasRung = true;
    this.#listener?.();
  }

  /** What comes next makes up for all that has rung so far. */
  hush(): void {
    this.#hasRung = false;
  }

  hear(listener: (() => void) | undefined): void {
    this.#listener = listener;
    if (this.#hasRung) listener?.();
  }
}

// --- Asking again ------------------------------------------------------------------------------------------

interface InsistOptions {
  readonly pace: Pace;
  readonly reconnectTimeoutMs: number;
  readonly pause: (ms: number) => Promise<void>;
  /** Is it sent again after this error? */
  readonly isPassing: (error: Error) => boolean;
  readonly onFailure?: (error: Error) => void;
}

/** Asks until there is an answer, or for as long as a caller has patience. What did not get through is sent again. */
export async function retryUntilAnswered<T>(
  request: () => Promise<T>,
  { pace, reconnectTimeoutMs, pause, isPassing, onFailure }: InsistOptions,
): Promise<T> {
  const since = runtime.monotonic();
  for (let failures = 1; ; failures++) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof Error) || !isPassing(error)) throw error;
      onFailure?.(error);
      const passed = runtime.monotonic() - since;
      if (passed > reconnectTimeoutMs) throw new ServerUnreachable(passed, error.message);
      const retryAfterMs = error instanceof ConnectionLost ? error.retryAfterMs : undefined;
      await pause(pace.next({ hintMs: 0, failures, retryAfterMs }));
    }
  }
}

/** Says nothing about the task. What went wrong over there is tried again where that does no harm. */
export function saysNothing(error: Error, isRepeatable: boolean): boolean {
  if (error instanceof RemoteError)
    return (isRepeatable && error.rpcCode === internalError) || isUnavailable(error.data);
  return error instanceof ConnectionLost || error instanceof RequestTimedOut;
}

/** The peer does not know the task any more. */
export class Gone extends Error {
  readonly ending: RemoteOutcome;

  constructor(ending: RemoteOutcome) {
    super('The task is gone.');
    this.ending = ending;
  }
}

/**
 * How long a caller waits for one task. A server that gives no proper answer is given up once that has lasted as long
 * as the task's ttl; a server that keeps reporting an unfinished task is given up `reconnectTimeoutMs` after its ttl. A
 * task without a ttl has no limit while its server answers. Giving up ends nothing: the call can be resumed.
 */
export class Patience {
  readonly #taskId: string;
  readonly #reconnectTimeoutMs: number;
  /** Monotonic: neither a clock that is set nor the clock of the server counts. */
  readonly #knownSince = runtime.monotonic();
  /** The last that the server reported; later answers need not repeat it. */
  ttlMs: number | null | undefined;
  /** Since when every answer showed a task that is older than its ttl. */
  #overdueSince: number | undefined;

  /** With the ttl as the create result has it. */
  constructor(taskId: string, reconnectTimeoutMs: number, ttlMs: number | null | undefined) {
    this.#taskId = taskId;
    this.#reconnectTimeoutMs = reconnectTimeoutMs;
    this.ttlMs = ttlMs;
  }

  /** The server reported an unfinished task. While a person is asked, the time is theirs. */
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

  /** The server has given no proper answer since then. */
  failed(since: number, why: string): void {
    const forMs = runtime.monotonic() - since;
    if (typeof this.ttlMs !== 'number' || forMs <= this.ttlMs) return;
    throw new TaskOverdue(
      this.#taskId,
      `the server has given no proper answer for ${seconds(forMs)}, and its ttl is ${this.ttlMs} ms. ${why}`,
    );
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
