/** Changes for as long as somebody listens: a connection that breaks is opened again behind what was heard last. */

import { pause, runtime } from '../../model/runtime.ts';
import type { ChangeMessage, OperatorDesk } from '../../operator/api.ts';
import { ServerAway } from './desk-over-http.ts';

const shortestMs = 250;
const longestMs = 10_000;

export interface Following {
  readonly signal: AbortSignal;
  /** The connection broke: it is tried again, for ever. */
  onAway?(): void;
  onBack?(): void;
}

/** Whatever is not just an absence (a token that is refused, say) is thrown. */
export async function* follow(
  desk: OperatorDesk,
  { signal, onAway, onBack }: Following,
): AsyncIterable<ChangeMessage> {
  let lastId: string | undefined;
  let waitMs = shortestMs;
  let isAway = false;
  while (!signal.aborted) {
    try {
      if (isAway) {
        // A stream says nothing until something changes; this says whether anybody is there.
        await desk.about();
        isAway = false;
        onBack?.();
      }
      for await (const message of desk.changes({ signal, ...(lastId !== undefined && { lastId }) })) {
        lastId = message.id;
        waitMs = shortestMs;
        yield message;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ServerAway)) throw error;
      if (!isAway) onAway?.();
      isAway = true;
    }
    // Not all at the same moment, where many watch one server that comes back.
    await pause(waitMs * (0.5 + runtime.random() / 2), signal).catch(() => {});
    waitMs = Math.min(longestMs, 2 * waitMs);
  }
}
