/**
 * Records whether the answers to requests were delivered. An answer over HTTP is delivered when its response is finished,
 * any other when its transport has written it. Until then the caller may disconnect.
 */
import type { ServerContext } from '@modelcontextprotocol/server';
import type { MayJoin, StartedCall } from './tool-call.ts';

/** The outcome of an answer. `'cancelled'`: the client cancelled its request and gets no answer. */
export type Fate = 'delivered' | 'lost' | 'cancelled';

/** The code with which the SDK aborts a request whose connection was closed. */
const closed = 'CONNECTION_CLOSED';

/** What the server knows about an HTTP request in addition to the request itself. */
export interface HttpExchange {
  /** By the monotonic clock. */
  readonly arrivedAt: number;
  readonly address?: string | undefined;
  /** Resolves when the response was finished, or cannot be finished. */
  readonly fate: () => Promise<Fate>;
  /** Resolves when the client has read everything that was written, or is gone. */
  readonly drained: () => Promise<void>;
  /** The call that the fast path started, until the SDK continues it. */
  started?: StartedCall | MayJoin | undefined;
}

const exchanges = new WeakMap<object, HttpExchange>();

export function withExchange(request: Request, exchange: HttpExchange): Request {
  exchanges.set(request, exchange);
  return request;
}

/** Undefined if the request did not come over HTTP. */
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
      // On 2026-07-28 only the response counts: the SDK aborts the request after every answer.
      if (exchange && mcpReq.envelope) return;
      // The SDK does not answer an aborted request.
      const abort = () => {
        const fate = (signal.reason as { code?: unknown })?.code === closed ? 'lost' : 'cancelled';
        if (exchange) resolve(fate);
        else this.#settle(id, fate);
      };
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
    });
  }

  /** Tracks a message that is being written, if it is the answer to a request. */
  async written(message: object, writing: Promise<void>): Promise<void> {
    const id = 'id' in message && !('method' in message) ? message.id : undefined;
    const open = id === undefined ? undefined : this.#open.get(id);
    if (!open) return writing;
    // The SDK's handler closes its connection right after the answer, without waiting for it to be written.
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
