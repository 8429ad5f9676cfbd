import { pause, runtime } from '../../runtime/runtime.ts';

const giveUpMs = 30_000;

/** Returns the result of `act`. Retries it after a pause while it fails with a temporary error. */
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
