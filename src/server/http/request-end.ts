import { runtime } from '../../runtime/runtime.ts';
import type { Fate, HttpExchange } from '../calls/deliveries.ts';

/**
 * Detects the end of a web request (`Request` and `Response`). Its own signal fires when the client is gone, but not
 * when the answer has been read. Here either one ends the request, like in Node; otherwise a session would permanently
 * count as in use after its first answer.
 */
export class WebExchange implements HttpExchange {
  readonly arrivedAt: number;
  readonly #gone: AbortSignal;
  /** Fires when the answer was read or broke off. */
  #over: AbortController | undefined;
  readonly #fate = Promise.withResolvers<Fate>();
  /** True while the reader waits for more: it has read everything that was written. */
  #isWaiting = false;
  #pulled = Promise.withResolvers<void>();
  /** True when the answer was read or broke off. */
  #isOver = false;

  constructor(gone: AbortSignal, arrivedAt: number) {
    this.#gone = gone;
    this.arrivedAt = arrivedAt;
  }

  /** Fires when the request has ended. Created on demand. */
  get signal(): AbortSignal {
    this.#over ??= new AbortController();
    return AbortSignal.any([this.#gone, this.#over.signal]);
  }

  /** Resolves to `'delivered'` when the answer was read to its end, and to `'lost'` if it no longer can be. */
  fate(): Promise<Fate> {
    const lost = () => this.#fate.resolve('lost');
    if (this.#gone.aborted) lost();
    else this.#gone.addEventListener('abort', lost, { once: true });
    return this.#fate.promise;
  }

  readonly drained = async (): Promise<void> => {
    for (;;) {
      // After this turn the reader has the present content.
      await new Promise((resolve) => runtime.setImmediate(resolve));
      if (this.#isWaiting || this.#isOver) return;
      await this.#pulled.promise;
    }
  };

  /** Wraps the answer so that reading it to its end ends the request. */
  of(response: Response): Response {
    if (!response.body) return response;
    // Records the end, whether or not `signal` or `fate()` has been used before.
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

/** A shared reason for all aborts: without one, each abort creates an exception, which is slow. */
const read = new Error('The answer was read.');
