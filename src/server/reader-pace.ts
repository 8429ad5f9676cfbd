/**
 * How fast the reader of a stream of events takes what is written to it. The SDK writes into streams that hold whatever
 * is not read; whoever has much to say, and could leave some of it out, waits here before it says more.
 */
export class ReaderPace {
  #waiting: PromiseWithResolvers<void> | undefined;
  /** It waits for more, and everything that was written has been taken. */
  #isWaitedFor = false;
  #isOver = false;

  /** Resolves when the reader waits for more, or for nothing ever again. */
  room(): Promise<void> {
    if (this.#isOver || this.#isWaitedFor) return Promise.resolve();
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  /** The same body, read at the pace of its reader and not a piece ahead. */
  of(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          this.#isWaitedFor = true;
          const next = reader.read();
          this.#makeRoom();
          const { done, value } = await next.catch((error: unknown) => {
            this.#end();
            throw error;
          });
          this.#isWaitedFor = false;
          if (!done) return controller.enqueue(value);
          this.#end();
          controller.close();
        },
        cancel: (reason) => {
          this.#end();
          return reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
  }

  #makeRoom(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  #end(): void {
    this.#isOver = true;
    this.#makeRoom();
  }
}

const paces = new WeakMap<object, ReaderPace>();

/** The pace at which the answer to a request of the web is read, for those that want to mind it. */
export function paceOf(request: object): ReaderPace {
  const pace = paces.get(request) ?? new ReaderPace();
  paces.set(request, pace);
  return pace;
}

/** The answer to a request, at its reader's pace if anybody minds that. */
export function paced(response: Response, pace: ReaderPace | undefined): Response {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  if (!pace || !response.body || !isStream) return response;
  const { status, statusText, headers } = response;
  return new Response(pace.of(response.body), { status, statusText, headers });
}

/** Undefined if nobody minds. */
export function mindedPace(request: object): ReaderPace | undefined {
  return paces.get(request);
}
