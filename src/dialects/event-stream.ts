/** Reads `text/event-stream` (server-sent events). */
import { createParser } from 'eventsource-parser';

export interface StreamEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

interface Reading {
  /** Called for every chunk, including comments that only keep the connection alive. */
  readonly onBytes?: () => void;
  /** When aborted, ends the stream without an error, even while no data arrives. */
  readonly signal?: AbortSignal;
}

/** Yields the events in order. Cancels the body if the consumer stops early. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { onBytes, signal }: Reading = {},
): AsyncGenerator<StreamEvent> {
  const events: StreamEvent[] = [];
  const parser = createParser({
    onEvent: ({ id, event = 'message', data }) => void events.push({ id, event, data }),
  });
  const decoder = new TextDecoder();
  // A reader instead of `for await`, because some browsers cannot iterate over a stream.
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
