/**
 * A subscription over HTTP: the SDK's stream of events, with the news of tasks among them. Nothing is written that the
 * reader has no room for; a reader that makes none for too long loses the stream.
 */
import type { Requests } from '../../engine/requests.ts';
import type { Caller } from '../../hosting/caller.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { runtime, type Timer } from '../../model/runtime.ts';
import { readEvents } from '../../protocol/event-stream.ts';
import {
  acknowledgement,
  acknowledging,
  farewell,
  type Heard,
  type Reader,
  Subscription,
  type SubscriptionId,
  slowReaderMs,
} from '../subscription.ts';

const keepAliveMs = 15_000;

export interface ListenParts {
  readonly requests: Requests;
  readonly caller: Caller;
  readonly id: SubscriptionId;
  readonly tasks: readonly Heard[];
  readonly serverInfo: JsonObject;
  /** The SDK's own answer: the acknowledgement, and whatever else was subscribed to. */
  readonly inner: ReadableStream<Uint8Array>;
  readonly onClose: () => void;
}

export class ListenStream implements Reader {
  readonly body: ReadableStream<Uint8Array>;
  readonly #parts: ListenParts;
  readonly #subscription: Subscription;
  readonly #closing = new AbortController();
  readonly #keepAlive: Timer;
  readonly #encoder = new TextEncoder();
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  /** Resolves when there is room again. */
  #room = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(parts: ListenParts) {
    this.#parts = parts;
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#room.resolve(),
      cancel: () => this.#close(),
    });
    this.#subscription = new Subscription(parts.requests, parts.caller, parts, this);
    this.#keepAlive = runtime.setInterval(() => {
      if (this.#hasRoom()) this.#enqueue(': keepalive\n\n');
    }, keepAliveMs);
    void this.#relay().catch(() => {});
  }

  async write(message: JsonObject): Promise<void> {
    if (!this.#hasRoom()) await this.#untilRoom();
    if (this.#isClosed) throw new Error('The stream is closed.');
    this.#enqueue(frame(message));
  }

  drop(): void {
    if (this.#isClosed) return;
    this.#close();
    this.#controller.error(new Error('The reader of this subscription took nothing for too long.'));
  }

  /** The server ends it: the request to listen gets its answer. */
  end(): void {
    if (this.#isClosed) return;
    this.#enqueue(frame(farewell(this.#parts.id, this.#parts.serverInfo)));
    this.#close();
    this.#controller.close();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    runtime.clearInterval(this.#keepAlive);
    this.#subscription.close();
    this.#room.resolve();
    this.#closing.abort();
    this.#parts.onClose();
  }

  /** Passes on what the SDK writes. It ends a stream that listens to nothing it knows; the tasks keep this one open. */
  async #relay(): Promise<void> {
    const { signal } = this.#closing;
    for await (const { data } of readEvents(this.#parts.inner, { signal }))
      if (!this.#isClosed) await this.#relayOne(JSON.parse(data)).catch(() => {});
  }

  async #relayOne(message: unknown): Promise<void> {
    if (!isJsonObject(message) || 'result' in message) return;
    if (message.method !== acknowledgement) return this.write(message);
    await this.write(
      acknowledging(
        message,
        this.#parts.tasks.map(({ id }) => id),
      ),
    );
    this.#subscription.start();
  }

  async #untilRoom(): Promise<void> {
    const patience = runtime.setTimeout(() => this.drop(), slowReaderMs);
    while (!this.#isClosed && !this.#hasRoom()) {
      this.#room = Promise.withResolvers();
      await this.#room.promise;
    }
    runtime.clearTimeout(patience);
  }

  #hasRoom(): boolean {
    return (this.#controller.desiredSize ?? 0) > 0;
  }

  #enqueue(text: string): void {
    if (!this.#isClosed) this.#controller.enqueue(this.#encoder.encode(text));
  }
}

function frame(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
