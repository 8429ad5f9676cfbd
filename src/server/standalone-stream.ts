import { paced, ReaderPace } from './reader-pace.ts';

/** The stream of an HTTP session that belongs to no request of the client: there, or gone, or there again. */
export class StandaloneStream {
  readonly #listeners = new Set<() => void>();
  #closed: AbortSignal | undefined;
  #pace = new ReaderPace();

  /** Fires when the stream closes that is open now; undefined if none is. */
  get closed(): AbortSignal | undefined {
    return this.#closed?.aborted ? undefined : this.#closed;
  }

  /** Resolves when its reader takes more; at once if there is none. */
  room(): Promise<void> {
    return this.closed ? this.#pace.room() : Promise.resolve();
  }

  /** Takes its body from the SDK, and gives it as it is to be read. */
  opened(response: Response, closed: AbortSignal): Response {
    this.#closed = closed;
    this.#pace = new ReaderPace();
    const given = paced(response, this.#pace);
    for (const listener of this.#listeners) listener();
    return given;
  }

  onOpen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
