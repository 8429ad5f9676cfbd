/** A body of server-sent events with backpressure. */
import { runtime } from '../../runtime/runtime.ts';

/** How long a write waits for a reader that reads nothing, before the stream is closed. */
export const slowReaderMs = 30_000;

export class EventBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #closing = new AbortController();
  /** Fires when the stream has ended. */
  readonly closed: AbortSignal = this.#closing.signal;
  readonly #encoder = new TextEncoder();
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  /** Resolves when the buffer has room again. */
  #room = Promise.withResolvers<void>();

  /** `keepAliveMs`: the interval of the comments that keep proxies from closing an idle stream. */
  constructor(onClose: () => void, keepAliveMs = 15_000) {
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#room.resolve(),
      cancel: () => this.#closing.abort(),
    });
    const keepAlive = runtime
      .setInterval(() => {
        if (this.#hasRoom()) this.#enqueue(': keepalive\n\n');
      }, keepAliveMs)
      .unref();
    this.closed.addEventListener('abort', () => {
      runtime.clearInterval(keepAlive);
      this.#room.resolve();
      onClose();
    });
  }

  /** Resolves when the buffer has room; rejects if the stream is closed. */
  async untilRoom(): Promise<void> {
    if (!this.#hasRoom()) {
      const timeout = runtime.setTimeout(() => this.fail(), slowReaderMs).unref();
      while (!this.closed.aborted && !this.#hasRoom()) {
        this.#room = Promise.withResolvers();
        await this.#room.promise;
      }
      runtime.clearTimeout(timeout);
    }
    if (this.closed.aborted) throw new Error('The stream is closed.');
  }

  /** Buffers an event as soon as there is room; rejects if the stream is closed. */
  async write(event: string): Promise<void> {
    await this.untilRoom();
    this.#enqueue(event);
  }

  /** Ends the stream after a last event, even if the buffer is full. */
  end(lastEvent = ''): void {
    if (this.closed.aborted) return;
    this.#enqueue(lastEvent);
    this.#closing.abort();
    this.#controller.close();
  }

  /** Breaks the stream off, so that it does not look complete to its reader. */
  fail(error: unknown = new Error('The reader of this stream read nothing for too long.')): void {
    if (this.closed.aborted) return;
    this.#closing.abort();
    this.#controller.error(error);
  }

  #hasRoom(): boolean {
    return (this.#controller.desiredSize ?? 0) > 0;
  }

  #enqueue(text: string): void {
    if (!this.closed.aborted && text !== '') this.#controller.enqueue(this.#encoder.encode(text));
  }
}
