/** Waiting between two looks: for how long, and how a wait ends early. */
import { backoffMs } from '../model/backoff.ts';
import { maxTimeoutMs, runtime } from '../model/runtime.ts';

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
  readonly #floorMs: number;
  readonly #ceilingMs: number;
  readonly #defaultMs: number;
  readonly #random: () => number;

  constructor(
    { floorMs = 100, ceilingMs = 60_000, defaultMs = 1_000 }: PaceOptions = {},
    random: () => number = () => runtime.random(),
  ) {
    this.#floorMs = floorMs;
    this.#ceilingMs = Math.min(Math.max(ceilingMs, floorMs), maxTimeoutMs);
    this.#defaultMs = defaultMs;
    this.#random = random;
  }

  /** Between two looks, whatever news there is. */
  get shortestMs(): number {
    return Math.min(this.#floorMs, this.#ceilingMs);
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
    const wait = Math.min(Math.max(asked, this.#floorMs), this.#ceilingMs);
    return Math.min(wait * (1 + jitter * this.#random()), this.#ceilingMs);
  }
}

/**
 * Waits that can be ended. However many there are, their signal has one listener: it searches its list for each that is
 * added or removed, and thousands of subtasks wait at the same time.
 */
export class Halt {
  readonly signal: AbortSignal;
  readonly #held = new Set<(reason: unknown) => void>();

  constructor(signal: AbortSignal) {
    this.signal = signal;
    signal.addEventListener(
      'abort',
      () => {
        for (const end of this.#held) end(signal.reason);
        this.#held.clear();
      },
      { once: true },
    );
  }

  /** Calls back when everything is to end, at once if it is; what it returns takes that back. */
  hold(end: (reason: unknown) => void): () => void {
    if (this.signal.aborted) end(this.signal.reason);
    else this.#held.add(end);
    return () => this.#held.delete(end);
  }

  /** Until the time has passed; once the bell rings, only as long as it must be. */
  pause(ms: number, bell?: Bell, mustMs = () => 0): Promise<void> {
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
export class Bell {
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
