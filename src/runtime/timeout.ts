/** Time limits for promises. */
import { after } from './clock.ts';

/**
 * Settles like the promise, or resolves to undefined after `ms` or as soon as the signal is aborted. Ends only the
 * wait: the work of the promise continues.
 */
export async function within<T>(
  ms: number,
  promise: Promise<T>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const giveUp = () => resolve(undefined);
  const cancel = after(ms, giveUp);
  signal?.addEventListener('abort', giveUp);
  if (signal?.aborted) giveUp();
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel();
    signal?.removeEventListener('abort', giveUp);
  }
}

/** Settles like `run`. After `ms`, rejects with the error that `timedOut` returns, and aborts `abort`, if given. */
export async function withTimeout<T>(
  ms: number,
  run: () => T,
  timedOut: () => Error,
  abort?: AbortController,
): Promise<Awaited<T>> {
  const late = Promise.withResolvers<never>();
  const cancel = after(ms, () => {
    late.reject(timedOut());
    abort?.abort();
  });
  try {
    return await Promise.race([run(), late.promise]);
  } finally {
    cancel();
  }
}
