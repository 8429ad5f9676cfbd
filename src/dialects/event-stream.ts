/** Reads `text/event-stream` (server-sent events). */
import { createParser } from 'eventsource-parser';

export interface StreamEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

interface Reading {
  /** Called for every chunk, also for comments that only keep the connection alive. */
  readonly onBytes?: () => void;
  /** Ends the stream, also while nothing comes. */
  readonly signal?: AbortSignal;
}

/** The events in order. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { onBytes, signal }: Reading = {},
): AsyncGenerator<StreamEvent> {
  const events: StreamEvent[] = [];
  const parser = createParser({
    onEvent: ({ id, event = 'message', data }) => void events.push({ id, event, data }),
  });
  const decoder = new TextDecoder();
  // Not every browser can iterate over a stream.
  const reader = body.getReader();
  const cancel = () => reader.cancel().catch(() => {});
  if (signal?.aborted) await cancel();
  signal?.addEventListener('abort', cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes?.();
      parser.feed(decoder.decode(value, { stream: true }));
      yield* events.splice(0);
    }
  } finally {
    signal?.removeEventListener('abort', cancel);
    await cancel();
  }
}
