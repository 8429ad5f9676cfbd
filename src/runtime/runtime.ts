/**
 * All that makes two runs of the same program differ: timers, immediates, clocks, chance, and hashing on other threads.
 * The sources use it from here and from nowhere else (`test/layers.test.ts`), so that a simulation can decide all of it.
 */
export interface Runtime {
  /** The moment, in milliseconds since 1970. People and time servers set this clock forward and back. */
  now(): number;
  /** Milliseconds since some moment in the past. It never jumps: durations and leases are measured with it. */
  monotonic(): number;
  /** After what is under way has drained its ticks and microtasks, and before any timer: replay depends on it. */
  setImmediate(act: (nothing: undefined) => void): void;
  setTimeout(act: (nothing: undefined) => void, ms: number): Timer;
  clearTimeout(timer: Timer | undefined): void;
  setInterval(act: () => void, ms: number): Timer;
  clearInterval(timer: Timer | undefined): void;
  /** At least 0 and less than 1; not for secrets. */
  random(): number;
  /** As nobody can guess them. */
  randomBytes(count: number): Buffer<ArrayBuffer>;
  sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array>;
}

export interface Timer {
  ref(): Timer;
  /** The process need not live for it. */
  unref(): Timer;
}

/** The longest time that setTimeout takes. It fires at once if it is given more. */
export const maxTimeoutMs = 2 ** 31 - 1;

/** Drawn for many at once: asking for random bytes costs the same however many they are. */
const drawn = Buffer.alloc(4_096);
let used = drawn.length;

function randomBytes(count: number): Buffer<ArrayBuffer> {
  if (count > drawn.length) return crypto.getRandomValues(Buffer.alloc(count));
  if (used + count > drawn.length) {
    crypto.getRandomValues(drawn);
    used = 0;
  }
  const bytes = Buffer.from(drawn.subarray(used, used + count));
  drawn.fill(0, used, used + count);
  used += count;
  return bytes;
}

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

export let runtime: Runtime = machine;

/** For simulations, before anything runs. */
export function useRuntime(replacement: Runtime): void {
  runtime = replacement;
}

/** Resolves after so long; rejects with the signal's reason as soon as that is aborted. */
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

/** Resolves after so long. The process need not live for it. */
export function unrefPause(ms: number): Promise<void> {
  return new Promise((resolve) => void runtime.setTimeout(() => resolve(), ms).unref());
}

/** A signal that is aborted after so long. Nothing lives for it. */
export function abortAfter(ms: number): AbortSignal {
  const abort = new AbortController();
  const late = () => abort.abort(new DOMException(`Nothing came within ${ms} ms.`, 'TimeoutError'));
  runtime.setTimeout(late, ms).unref();
  return abort.signal;
}
