/** The streams on which an SDK server can send messages to its client. */
import type { Server, ServerContext, Transport } from '@modelcontextprotocol/server';
import type { Schema } from '../../engine/handlers/schema.ts';
import { newId } from '../../model/id.ts';
import type { JsonObject } from '../../model/json.ts';
import { maxTimeoutMs } from '../../runtime/runtime.ts';
import { Deliveries, type HttpExchange } from '../calls/deliveries.ts';
import { type Channel, SessionConnection } from '../sessions/session-connection.ts';
import type { TaskServer } from '../task-server.ts';

/** The longest timeout, in milliseconds. A person may take days to answer, and only the task ends its question. */
const noTimeout = maxTimeoutMs;

/** A schema that accepts anything, where the SDK requires a schema. The code that uses the value validates it. */
export const anything: Pick<Schema<unknown, unknown>, '~standard'> = {
  '~standard': { version: 1, vendor: 'holdfast', validate: (value) => ({ value }) },
};

export class Streams {
  readonly #taskServer: TaskServer;
  readonly #server: Server;
  readonly #transport: Transport;
  readonly #closed: AbortSignal;
  readonly #ownName = newId();
  readonly #standaloneName = newId();
  /** Whether the answers on this connection were delivered. */
  readonly deliveries = new Deliveries();
  #connection: Promise<SessionConnection> | undefined;

  constructor(taskServer: TaskServer, server: Server, transport: Transport, closed: AbortSignal) {
    this.#taskServer = taskServer;
    this.#server = server;
    this.#transport = transport;
    this.#closed = closed;
  }

  /** The id of the HTTP session. Undefined on a pipe. */
  get session(): string | undefined {
    return this.#transport.sessionId;
  }

  /** A name for the session. On a pipe, which has no session id, the connection counts as a session. */
  get name(): string {
    return this.session ?? this.#ownName;
  }

  connection(): Promise<SessionConnection> {
    this.#connection ??= this.#taskServer
      .served()
      .then(({ requests }) => new SessionConnection(requests, this));
    return this.#connection;
  }

  close(): void {
    this.deliveries.close();
    void this.#connection?.then((connection) => connection.close());
  }

  /** The stream of an open request, on which questions can be sent. */
  of({ mcpReq, http }: ServerContext): Channel {
    const request = http?.req as { signal?: AbortSignal } | undefined;
    const lost = new AbortController();
    const signals = [this.#closed, lost.signal, ...(request?.signal ? [request.signal] : [])];
    /**
     * A plain `Error` comes from the transport and means that it cannot write. Errors of the client have another class.
     */
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

  // --- The standalone stream ------------------------------------------------------------------------------

  /** The stream that belongs to no request, if it is open. On a pipe it is the connection itself. */
  standalone(): Channel | undefined {
    const closed = this.#standaloneClosed();
    if (!closed) return undefined;
    const request: Channel['request'] = async (question, signal) =>
      (await this.#server.request(question as never, anything, { signal, timeout: noTimeout })) as JsonObject;
    return { name: this.#standaloneName, closed, request };
  }

  /** Sends a notification on the standalone stream, or drops it if that is not open. */
  async notify(notification: { method: string; params: JsonObject }): Promise<void> {
    if (this.#standaloneClosed()) await this.#server.notification(notification as never);
  }

  /** Calls the listener whenever the standalone stream opens. Returns a function that unsubscribes. */
  onOpen(listener: () => void): () => void {
    return this.#taskServer.standaloneStreams.get(this.#transport)?.onOpen(listener) ?? (() => {});
  }

  /** Fires when the standalone stream closes; undefined if none is open. Only HTTP transports have `handleRequest`. */
  #standaloneClosed(): AbortSignal | undefined {
    const stream = this.#taskServer.standaloneStreams.get(this.#transport);
    if (stream) return stream.closed;
    return 'handleRequest' in this.#transport ? undefined : this.#closed;
  }
}

// --- HTTP -------------------------------------------------------------------------------------------------

/** The stream of an HTTP session that belongs to no request. Its client may close and reopen it at any time. */
export class StandaloneStream {
  readonly #listeners = new Set<() => void>();
  #closed: AbortSignal | undefined;
  #exchange: HttpExchange | undefined;

  /** Fires when the open stream closes; undefined if none is open. */
  get closed(): AbortSignal | undefined {
    return this.#closed?.aborted ? undefined : this.#closed;
  }

  /** Resolves when the reader has read everything; immediately if the stream is closed. */
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
