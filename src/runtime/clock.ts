/** The clocks that the engine and the stores are given. */
import { maxTimeoutMs, runtime, type Timer } from './runtime.ts';

export interface Clock {
  /** The moment, in milliseconds since 1970. People and time servers set this clock forward and back. */
  now(): number;
  /** Milliseconds since some moment in the past. It never jumps: durations and leases are measured with it. */
  monotonic(): number;
  /** Calls back once the moment has come, and never keeps the process alive for it. Returns how to forget it. */
  schedule(at: number, callback: () => void): () => void;
}

/** Calls back after this long, however long that is. Returns how to forget it. */
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
 * setTimeout may fire a moment early, because it measures with another clock. More than this, and the clock was set back
 * meanwhile: then waiting for the moment could take hours.
 */
const mostEarlyMs = 10;

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
      if (earlyMs > 0 && earlyMs <= mostEarlyMs) arm();
      else callback();
    };
    arm();
    return () => runtime.clearTimeout(timer);
  },
};
