/**
 * Records whether the answers to requests were delivered. An answer over HTTP is delivered when its response is
 * finished, any other when its transport has written it. Until then it can be lost with the connection.
 */
import type { ServerContext } from '@modelcontextprotocol/server';
import type { MayJoin, StartedCall } from './tool-call.ts';

/**
 * What happened to an answer. `'lost'`: the connection closed before the answer was delivered. `'cancelled'`: the
 * client cancelled its request and gets no answer.
 */
export type Fate = 'delivered' | 'lost' | 'cancelled';

/** The code with which the SDK aborts a request whose connection was closed. */
const closed = 'CONNECTION_CLOSED';

/** What the server knows about an HTTP request in addition to the request itself. */
export interface HttpExchange {
  /** When the request arrived, in milliseconds of the monotonic clock. */
  readonly arrivedAt: number;
  /** The network address of the client, if known. */
  readonly address?: string | undefined;
  /** Resolves when the response was finished, or can no longer be finished. */
  readonly fate: () => Promise<Fate>;
  /** Resolves when the client has read everything that was written, or is gone. */
  readonly drained: () => Promise<void>;
  /** What the fast path returned for the call; cleared when the SDK continues the call. */
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
  /** True for HTTP without an `HttpExchange`: the author uses the SDK's own HTTP handler. */
  readonly isOverHttp: boolean;
}

/** The answers on one transport. */
export class Deliveries {
  /** Answers that are not delivered yet, by the ids of their requests. */
  readonly #open = new Map<unknown, OpenAnswer>();

  /** Resolves to the fate of the answer to a request. */
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
    // The SDK's handler calls `close` right after the answer, before it is written. That must not count as lost.
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

  /** The connection is closed: all open answers are lost. */
  close(): void {
    for (const id of [...this.#open.keys()]) this.#settle(id, 'lost');
  }

  #settle(id: unknown, fate: Fate): void {
    this.#open.get(id)?.resolve(fate);
    this.#open.delete(id);
  }
}
