/** The clock that the engine and the stores use. */
import { maxTimeoutMs, runtime, type Timer } from './runtime.ts';

export interface Clock {
  /** Wall-clock time in milliseconds since 1970. People and time servers set this clock forward and back. */
  now(): number;
  /** Milliseconds since some moment in the past. Never jumps: durations and leases are measured with it. */
  monotonic(): number;
  /** Calls back at the time `at`, without keeping the process alive. Returns a function that cancels the call. */
  schedule(at: number, callback: () => void): () => void;
}

/**
 * Like `setTimeout`, without its limit of 24 days. Keeps the process alive. Returns a function that cancels the call.
 */
export function after(ms: number, callback: () => void): () => void {
  let timer: Timer;
  const arm = (left: number) => {
    const next = Math.min(left, maxTimeoutMs);
    timer = runtime.setTimeout(() => (left > next ? arm(left - next) : callback()), next);
  };
  arm(ms);
  return () => runtime.clearTimeout(timer);
}

/**
 * `setTimeout` may fire a little early, because it uses another clock. If it fires earlier than this, the wall clock
 * was set back, and waiting for `at` could take hours: then we call back at once.
 */
const maxEarlyMs = 10;

export const systemClock: Clock = {
  now: () => runtime.now(),
  monotonic: () => runtime.monotonic(),
  schedule(at, callback) {
    let timer: Timer;
    const arm = () => {
      const ms = at - runtime.now();
      timer =
        ms > maxTimeoutMs ? runtime.setTimeout(arm, maxTimeoutMs) : runtime.setTimeout(fire, Math.max(0, ms));
      timer.unref();
    };
    const fire = () => {
      const earlyMs = at - runtime.now();
      if (earlyMs > 0 && earlyMs <= maxEarlyMs) arm();
      else callback();
    };
    arm();
    return () => runtime.clearTimeout(timer);
  },
};
