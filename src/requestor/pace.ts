/**
 * How long to wait before the next look: the longest of what the server asks for, what the host allows, what failures
 * in a row call for, and Retry-After; never shorter or longer than the bounds, whatever a server says.
 */
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
