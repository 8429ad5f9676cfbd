/**
 * Changes for an operator as a stream of events. A message is made when the reader has taken the one before it, so
 * that no more than one waits, however slow the reader; one that takes nothing for too long loses the stream.
 */

import { runtime, type Timer } from '../../model/runtime.ts';
import type { ChangeMessage } from '../../operator/api.ts';
import { slowReaderMs } from '../subscription.ts';

const usualHeartbeatMs = 15_000;

export class ChangeStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #messages: AsyncIterator<ChangeMessage>;
  readonly #abort: AbortController;
  readonly #onClose: () => void;
  readonly #heartbeatMs: number;
  readonly #encoder = new TextEncoder();
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  /** Asked for, and not there yet. */
  #next: Promise<IteratorResult<ChangeMessage>> | undefined;
  #patience: Timer | undefined;
  #isClosed = false;

  constructor(
    changes: (signal: AbortSignal) => AsyncIterable<ChangeMessage>,
    onClose: () => void,
    heartbeatMs = usualHeartbeatMs,
  ) {
    this.#heartbeatMs = heartbeatMs;
    this.#abort = new AbortController();
    this.#onClose = onClose;
    this.#messages = changes(this.#abort.signal)[Symbol.asyncIterator]();
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#pull(),
      cancel: () => this.#close(),
    });
  }

  /** The server ends it. */
  end(): void {
    if (this.#isClosed) return;
    this.#close();
    this.#controller.close();
  }

  async #pull(): Promise<void> {
    runtime.clearTimeout(this.#patience);
    try {
      this.#next ??= this.#messages.next();
      const next = await orAfter(this.#next, this.#heartbeatMs);
      if (this.#isClosed) return;
      if (next) this.#next = undefined;
      if (next?.done) return this.end();
      this.#write(next ? frame(next.value) : ': still here\n\n');
    } catch (error) {
      if (this.#isClosed) return;
      this.#close();
      this.#controller.error(error);
    }
  }

  #write(text: string): void {
    this.#controller.enqueue(this.#encoder.encode(text));
    this.#patience = runtime
      .setTimeout(() => {
        if (this.#isClosed) return;
        this.#close();
        this.#controller.error(new Error('The reader of these changes took nothing for too long.'));
      }, slowReaderMs)
      .unref();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    runtime.clearTimeout(this.#patience);
    this.#abort.abort();
    this.#onClose();
  }
}

function frame(message: ChangeMessage): string {
  return `id: ${message.id}\nevent: ${message.type}\ndata: ${JSON.stringify(message)}\n\n`;
}

/** Undefined if it takes longer. */
async function orAfter<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = runtime.setTimeout(() => late.resolve(undefined), ms).unref();
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    runtime.clearTimeout(timer);
  }
}
