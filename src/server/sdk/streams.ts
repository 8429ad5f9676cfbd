/** The streams on which a server of the SDK can send to its client, and the HTTP connections that carry them. */
import type { Server, ServerContext, Transport } from '@modelcontextprotocol/server';
import type { Schema } from '../../engine/handlers/schema.ts';
import { newId } from '../../model/id.ts';
import type { JsonObject } from '../../model/json.ts';
import { maxTimeoutMs } from '../../runtime/runtime.ts';
import { Deliveries, type HttpExchange } from '../calls/deliveries.ts';
import { type Channel, SessionConnection } from '../sessions/session-connection.ts';
import type { TaskServer } from '../task-server.ts';

/** A person may take days to answer; what ends a question is its task. */
const noTimeout = maxTimeoutMs;

/** A schema that takes anything: whoever reads the value says what is wrong with it. */
export const anything: Pick<Schema<unknown, unknown>, '~standard'> = {
  '~standard': { version: 1, vendor: 'holdfast', validate: (value) => ({ value }) },
};

export class Streams {
  readonly #binding: TaskServer;
  readonly #server: Server;
  readonly #transport: Transport;
  readonly #closed: AbortSignal;
  readonly #ownName = newId();
  readonly #standaloneName = newId();
  /** What becomes of the answers on this connection. */
  readonly deliveries = new Deliveries();
  #connection: Promise<SessionConnection> | undefined;

  constructor(binding: TaskServer, server: Server, transport: Transport, closed: AbortSignal) {
    this.#binding = binding;
    this.#server = server;
    this.#transport = transport;
    this.#closed = closed;
  }

  /** Undefined on a pipe. */
  get session(): string | undefined {
    return this.#transport.sessionId;
  }

  /** Where there are no sessions the connection is one. */
  get name(): string {
    return this.session ?? this.#ownName;
  }

  connection(): Promise<SessionConnection> {
    this.#connection ??= this.#binding.served().then(({ requests }) => new SessionConnection(requests, this));
    return this.#connection;
  }

  close(): void {
    this.deliveries.close();
    void this.#connection?.then((connection) => connection.close());
  }

  /** The stream of a request that waits: questions may go out on it. */
  of({ mcpReq, http }: ServerContext): Channel {
    const request = http?.req as { signal?: AbortSignal } | undefined;
    const lost = new AbortController();
    const signals = [this.#closed, lost.signal, ...(request?.signal ? [request.signal] : [])];
    /** The transport throws bare errors, and only if it cannot write: what the client says has a class. */
    const sent = (answer: Promise<unknown>) =>
      (answer as Promise<JsonObject>).catch((error: unknown) => {
        if ((error as object).constructor === Error) lost.abort(error);
        throw error;
      });
    return {
      name: newId(),
      closed: AbortSignal.any(signals),
      request: (question, signal) =>
        sent(mcpReq.send(question as never, anything, { signal, timeout: noTimeout })),
    };
  }

  // --- What belongs to no request -------------------------------------------------------------------------

  /** The stream, while it is open: on HTTP while the client keeps one open; elsewhere the connection itself is one. */
  standalone(): Channel | undefined {
    const closed = this.#standaloneClosed();
    if (!closed) return undefined;
    const request: Channel['request'] = async (question, signal) =>
      (await this.#server.request(question as never, anything, { signal, timeout: noTimeout })) as JsonObject;
    return { name: this.#standaloneName, closed, request };
  }

  async notify(notification: { method: string; params: JsonObject }): Promise<void> {
    if (this.#standaloneClosed()) await this.#server.notification(notification as never);
  }

  /** Calls back when the stream has been opened. */
  onOpen(listener: () => void): () => void {
    return this.#binding.standaloneStreams.get(this.#transport)?.onOpen(listener) ?? (() => {});
  }

  #standaloneClosed(): AbortSignal | undefined {
    const stream = this.#binding.standaloneStreams.get(this.#transport);
    if (stream) return stream.closed;
    return 'handleRequest' in this.#transport ? undefined : this.#closed;
  }
}

// --- HTTP -------------------------------------------------------------------------------------------------

/** The stream of an HTTP session that belongs to no request. It closes and opens again whenever its client wants. */
export class StandaloneStream {
  readonly #listeners = new Set<() => void>();
  #closed: AbortSignal | undefined;
  #exchange: HttpExchange | undefined;

  /** Fires when the open stream closes; undefined if none is open. */
  get closed(): AbortSignal | undefined {
    return this.#closed?.aborted ? undefined : this.#closed;
  }

  /** Resolves when its reader has taken everything; at once if there is none. */
  async drained(): Promise<void> {
    if (this.closed) await this.#exchange?.drained();
  }

  opened(closed: AbortSignal, exchange: HttpExchange | undefined): void {
    this.#closed = closed;
    this.#exchange = exchange;
    for (const listener of this.#listeners) listener();
  }

  onOpen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
