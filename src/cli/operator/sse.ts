/** `text/event-stream` as events: what a stream of server-sent events says, however it is cut into pieces. */
export interface SentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export async function* sentEvents(bytes: AsyncIterable<Uint8Array>): AsyncIterable<SentEvent> {
  const decoder = new TextDecoder();
  let held = '';
  let id: string | undefined;
  let event = 'message';
  let data: string[] = [];
  for await (const piece of bytes) {
    held += decoder.decode(piece, { stream: true });
    // A carriage return at the end may be half of a line's end.
    const lines = held.split(/\r\n|\n|\r(?!$)/);
    held = lines.pop()!;
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { id, event, data: data.join('\n') };
        event = 'message';
        data = [];
        continue;
      }
      const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line)!;
      if (name === 'data') data.push(value!);
      else if (name === 'event') event = value!;
      else if (name === 'id') id = value!;
    }
  }
}
