import { pause, runtime } from '../../runtime/runtime.ts';

const giveUpMs = 30_000;

/** What `act` returns. As long as its error is temporary, it is called again after a pause. */
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
