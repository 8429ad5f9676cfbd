import { pause, runtime } from '../../runtime/runtime.ts';

/** No retry begins after this time since the first try, in milliseconds. */
const giveUpMs = 30_000;

/** Returns the result of `act`. While it fails with a temporary error, retries it every `everyMs` until `giveUpMs`. */
export async function retried<T>(
  act: () => T | Promise<T>,
  isTemporary: (error: unknown) => boolean,
  everyMs: number,
): Promise<T> {
  for (const started = runtime.monotonic(); ; await pause(everyMs)) {
    try {
      return await act();
    } catch (error) {
      if (!isTemporary(error) || runtime.monotonic() - started > giveUpMs) throw error;
    }
  }
}
