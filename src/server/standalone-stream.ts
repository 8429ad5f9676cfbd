/** The stream of an HTTP session that belongs to no request of the client: there, or gone, or there again. */
export class StandaloneStream {
  readonly #listeners = new Set<() => void>();
  #closed: AbortSignal | undefined;

  /** Fires when the stream closes that is open now; undefined if none is. */
  get closed(): AbortSignal | undefined {
    return this.#closed?.aborted ? undefined : this.#closed;
  }

  opened(closed: AbortSignal): void {
    this.#closed = closed;
    for (const listener of this.#listeners) listener();
  }

  onOpen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
