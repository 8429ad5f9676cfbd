/** Reads `text/event-stream` (server-sent events). */
import { createParser } from 'eventsource-parser';

export interface StreamEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/**
 * The events in order, until the stream ends or the signal fires. `onBytes` is called for every chunk, also for comments
 * that only keep the connection alive.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
  signal?: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const events: StreamEvent[] = [];
  const parser = createParser({
    onEvent: ({ id, event = 'message', data }) => void events.push({ id, event, data }),
  });
  const decoder = new TextDecoder();
  // Not every browser can iterate over a stream.
  const reader = body.getReader();
  signal?.addEventListener('abort', () => void reader.cancel().catch(() => {}), { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      parser.feed(decoder.decode(value, { stream: true }));
      yield* events.splice(0);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
