/**
 * When requests arrived, and what became of their answers. An answer over HTTP is delivered when its response is
 * finished, any other when its transport has written it. Until then its caller may be gone.
 */
import type { ServerContext } from '@modelcontextprotocol/server';
import type { Begun, MayJoin } from './tool-call.ts';

/** `'cancelled'`: the client cancelled its request, and gets no answer. */
export type Fate = 'delivered' | 'lost' | 'cancelled';

/** How the SDK says that a request was aborted because its connection was closed. */
const closed = 'CONNECTION_CLOSED';

/** What is known of an HTTP request besides the request itself. */
export interface HttpExchange {
  /** On the monotonic clock. */
  readonly arrivedAt: number;
  readonly address?: string | undefined;
  /** Whether its response was finished. */
  readonly fate: () => Promise<Fate>;
  /** Resolves when the client has read what was written to it, or is gone. */
  readonly drained: () => Promise<void>;
  /** The call that the fast path has begun, until the SDK continues it. */
  begun?: Begun | MayJoin | undefined;
}

const exchanges = new WeakMap<object, HttpExchange>();

export function exchanged(request: Request, exchange: HttpExchange): Request {
  exchanges.set(request, exchange);
  return request;
}

/** Undefined if the request came another way. */
export function exchangeOf(request: object | undefined): HttpExchange | undefined {
  return request && exchanges.get(request);
}

interface OpenAnswer {
  readonly resolve: (fate: Fate) => void;
  readonly isOverHttp: boolean;
}

/** The answers on one transport. */
export class Deliveries {
  readonly #open = new Map<unknown, OpenAnswer>();

  of({ http, mcpReq }: ServerContext): Promise<Fate> {
    const exchange = exchangeOf(http?.req);
    return new Promise((resolve) => {
      const { id, signal } = mcpReq;
      if (exchange) void exchange.fate().then(resolve);
      else this.#open.set(id, { resolve, isOverHttp: http !== undefined });
      // A response of 2026-07-28 tells all there is to know: the SDK aborts its request after every answer.
      if (exchange && mcpReq.envelope) return;
      // The SDK answers no request that was aborted.
      const abort = () => {
        const fate = (signal.reason as { code?: unknown })?.code === closed ? 'lost' : 'cancelled';
        if (exchange) resolve(fate);
        else this.#settle(id, fate);
      };
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
    });
  }

  /** A message is being written: it may be the answer to a request. */
  async written(message: object, writing: Promise<void>): Promise<void> {
    const id = 'id' in message && !('method' in message) ? message.id : undefined;
    const open = id === undefined ? undefined : this.#open.get(id);
    if (!open) return writing;
    // A handler of the SDK closes its connection right after the answer, which it does not follow any further.
    if (open.isOverHttp) this.#open.delete(id);
    try {
      await writing;
      open.resolve('delivered');
    } catch (error) {
      open.resolve('lost');
      throw error;
    } finally {
      this.#open.delete(id);
    }
  }

  close(): void {
    for (const id of [...this.#open.keys()]) this.#settle(id, 'lost');
  }

  #settle(id: unknown, fate: Fate): void {
    this.#open.get(id)?.resolve(fate);
    this.#open.delete(id);
  }
}
