import { expect, test } from 'vitest';
import { readEvents, type StreamEvent } from './event-stream.ts';

async function read(...chunks: (string | Uint8Array)[]): Promise<{ events: StreamEvent[]; heard: number }> {
  const bytes = chunks.map((chunk) => (typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk));
  const events: StreamEvent[] = [];
  let heard = 0;
  const body = ReadableStream.from(bytes) as ReadableStream<Uint8Array>;
  for await (const event of readEvents(body, { onBytes: () => heard++ })) events.push(event);
  return { events, heard };
}

test('an event has an id, a name and data of one or more lines', async () => {
  expect((await read('id: 7\nevent: changes\ndata: a\ndata: b\n\n')).events).toEqual([
    { id: '7', event: 'changes', data: 'a\nb' },
  ]);
});

test('chunks may split an event anywhere, even inside a character', async () => {
  const whole = new TextEncoder().encode('id: 1\ndata: Grüße\n\nid: 2\ndata: x\n\n');
  for (let at = 1; at < whole.length; at++)
    expect((await read(whole.slice(0, at), whole.slice(at))).events.map(({ data }) => data)).toEqual([
      'Grüße',
      'x',
    ]);
});

test('keep-alive comments call `onBytes` and are not events', async () => {
  expect(await read(': still here\n\n', ': still here\n\n')).toEqual({ events: [], heard: 2 });
});

test('an event that a broken connection cut off is dropped', async () => {
  expect((await read('id: 1\ndata: whole\n\nid: 2\ndata: ha')).events.map(({ id }) => id)).toEqual(['1']);
});

test('an event that is not complete when the stream ends is dropped', async () => {
  expect((await read('data: a\n\ndata: unfinished\n')).events.map(({ data }) => data)).toEqual(['a']);
});

test('lines may end with a line feed, a carriage return or both', async () => {
  const { events } = await read('data: a\r\n\r', '\ndata: b\r\rdata: c\n\n');
  expect(events.map(({ data }) => data)).toEqual(['a', 'b', 'c']);
});

test('the stream is cancelled when its reader stops', async () => {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('data: a\n\ndata: b\n\n')),
    cancel: () => {
      isCancelled = true;
    },
  });
  for await (const { data } of readEvents(body)) {
    expect(data).toBe('a');
    break;
  }
  expect(isCancelled).toBe(true);
});

test.for(['before the first read', 'while no data arrives'])(
  'the signal ends the stream %s',
  async (when) => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      cancel: () => {
        isCancelled = true;
      },
    });
    const abort = new AbortController();
    if (when === 'before the first read') abort.abort();
    const next = readEvents(body, { signal: abort.signal }).next();
    abort.abort();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(isCancelled).toBe(true);
  },
);
