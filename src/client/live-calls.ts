/** The calls that are under way here, by their handles' ids. */
import type { Handle } from './handle.ts';

interface LiveCall {
  readonly handle: Handle;
  readonly over: AbortController;
  /** Resolves when nothing of it is under way any more. */
  readonly left: Promise<unknown>;
}

export class LiveCalls {
  readonly #calls = new Map<string, LiveCall>();

  add(id: string, call: LiveCall): void {
    this.#calls.set(id, call);
  }

  delete(id: string): void {
    this.#calls.delete(id);
  }

  /** A detached handle gives no result. Who resumes its call waits until it has ended, and then gets a new one. */
  async handleOf(id: string): Promise<Handle | undefined> {
    for (let live = this.#calls.get(id); live; live = this.#calls.get(id)) {
      if (!live.over.signal.aborted) return live.handle;
      await live.left;
    }
    return undefined;
  }

  detachAll(): void {
    for (const { over } of this.#calls.values()) over.abort();
  }
}

/** Ends with the signal of a caller, and leaves nothing on it. */
export function overWith(signal: AbortSignal | undefined): AbortController {
  const over = new AbortController();
  if (signal?.aborted) over.abort(signal.reason);
  signal?.addEventListener('abort', () => over.abort(signal.reason), { once: true, signal: over.signal });
  return over;
}
