import { runtime } from '../../runtime/runtime.ts';
import type { Fate, HttpExchange } from '../calls/deliveries.ts';

/**
 * A request of the web says when its sender is gone, but not when its answer has been read. Here both are the end of it,
 * as of Node's; otherwise a session would be in use for ever after its first answer.
 */
export class Reading implements HttpExchange {
  readonly arrivedAt: number;
  readonly #gone: AbortSignal;
  #over: AbortController | undefined;
  readonly #fate = Promise.withResolvers<Fate>();
  /** The reader waits for more: it has taken everything that was written. */
  #isWaiting = false;
  #pulled = Promise.withResolvers<void>();
  #isOver = false;

  constructor(gone: AbortSignal, arrivedAt: number) {
    this.#gone = gone;
    this.arrivedAt = arrivedAt;
  }

  /** Fires when the request is over. Made only for those that listen to it. */
  get signal(): AbortSignal {
    this.#over ??= new AbortController();
    return AbortSignal.any([this.#gone, this.#over.signal]);
  }

  /** Whether the answer was read to its end. */
  fate(): Promise<Fate> {
    const lost = () => this.#fate.resolve('lost');
    if (this.#gone.aborted) lost();
    else this.#gone.addEventListener('abort', lost, { once: true });
    return this.#fate.promise;
  }

  readonly drained = async (): Promise<void> => {
    for (;;) {
      // Until then the reader is given what there is.
      await new Promise((resolve) => runtime.setImmediate(resolve));
      if (this.#isWaiting || this.#isOver) return;
      await this.#pulled.promise;
    }
  };

  /** The answer, which ends the request once it was read. */
  of(response: Response): Response {
    if (!response.body) return response;
    // A stream may begin long before somebody asks for the signal or the fate.
    const end = (how: Fate = 'lost') => {
      this.#isOver = true;
      this.#pulled.resolve();
      this.#fate.resolve(how);
      this.#over?.abort(read);
    };
    const reader = response.body.getReader();
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          this.#isWaiting = true;
          this.#pulled.resolve();
          const { done, value } = await reader.read().catch((error: unknown) => {
            end();
            throw error;
          });
          this.#isWaiting = false;
          this.#pulled = Promise.withResolvers();
          if (!done) return controller.enqueue(value);
          end('delivered');
          controller.close();
        },
        cancel: (reason) => {
          end();
          return reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  }
}

/** A reason that costs nothing to make: by default each abort makes an exception of its own. */
const read = new Error('The answer was read.');
