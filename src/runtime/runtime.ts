/**
 * All sources of nondeterminism: timers, immediates, clocks, random numbers, and hashing on other threads. The sources
 * use only these (`test/layers.test.ts`), so that a simulation controls all of them.
 */
export interface Runtime {
  /** Wall-clock time in milliseconds since 1970. People and time servers set this clock forward and back. */
  now(): number;
  /** Milliseconds since some moment in the past. Never jumps: durations and leases are measured with it. */
  monotonic(): number;
  /** Runs after all pending ticks and microtasks, and before any timer. Replay depends on this order. */
  setImmediate(act: (nothing: undefined) => void): void;
  setTimeout(act: (nothing: undefined) => void, ms: number): Timer;
  clearTimeout(timer: Timer | undefined): void;
  setInterval(act: () => void, ms: number): Timer;
  clearInterval(timer: Timer | undefined): void;
  /** At least 0 and less than 1. Not for secrets. */
  random(): number;
  /** Cryptographically secure random bytes. */
  randomBytes(count: number): Buffer<ArrayBuffer>;
  sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array>;
}

export interface Timer {
  ref(): Timer;
  /** Lets the process exit before the timer fires. */
  unref(): Timer;
}

/** The maximum delay of `setTimeout`: 24.8 days. With a longer one it fires at once. */
export const maxTimeoutMs = 2 ** 31 - 1;

/** Random bytes are fetched in bulk, because a call costs the same for few bytes as for many. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

function randomBytes(count: number): Buffer<ArrayBuffer> {
  if (count > pool.length) return crypto.getRandomValues(Buffer.alloc(count));
  if (used + count > pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const bytes = Buffer.from(pool.subarray(used, used + count));
  // The bytes may become a secret, so no copy is kept.
  pool.fill(0, used, used + count);
  used += count;
  return bytes;
}

/** The real timers, clocks and random numbers. */
export const machine: Runtime = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setImmediate: (act) => void setImmediate(act as () => void),
  setTimeout: (act, ms) => setTimeout(act as () => void, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  setInterval: (act, ms) => setInterval(act, ms),
  clearInterval: (timer) => clearInterval(timer as NodeJS.Timeout | undefined),
  random: () => Math.random(),
  randomBytes,
  sha256: async (bytes) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)),
};

/** The runtime in use. Call its methods directly, because a copy would not follow `useRuntime`. */
export let runtime: Runtime = machine;

/** For simulations. Call it before anything else runs. */
export function useRuntime(replacement: Runtime): void {
  runtime = replacement;
}

/** Resolves after `ms`, or rejects with the signal's reason as soon as the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      runtime.clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      settle();
    };
    const onAbort = () => end(() => reject(signal?.reason));
    const timer = runtime.setTimeout(() => end(resolve), ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort);
  });
}

/** Resolves after `ms`, without keeping the process alive. */
export function unrefPause(ms: number): Promise<void> {
  return new Promise((resolve) => void runtime.setTimeout(() => resolve(), ms).unref());
}

/** A signal that is aborted after `ms`. It does not keep the process alive. */
export function abortAfter(ms: number): AbortSignal {
  const abort = new AbortController();
  const late = () => abort.abort(new DOMException(`Timed out after ${ms} ms.`, 'TimeoutError'));
  runtime.setTimeout(late, ms).unref();
  return abort.signal;
}
