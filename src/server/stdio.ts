/**
 * Serves MCP on standard input and output, to one client. When the input ends, the server releases everything and the
 * process may exit. Unfinished tasks stay in the store for the next process.
 */
import type { JSONRPCMessage, McpServerFactory, Transport } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio as serveSdk } from '@modelcontextprotocol/server/stdio';
import {
  clientCapabilitiesKey,
  protocolVersionKey,
  revision,
  subscriptionIdKey,
  unsupportedVersion,
} from '../dialects/2026-07-28/names.ts';
import { isFailure } from '../dialects/errors.ts';
import { invalidRequest } from '../dialects/json-rpc.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { isDeeperThan, maxDepth } from './http/body.ts';
import {
  acknowledgement,
  asTaskListen,
  Subscription,
  type SubscriptionId,
  type TaskListen,
  watchedTasks,
} from './sessions/subscription.ts';
import type { TaskServer } from './task-server.ts';
import type { Tasks } from './tasks.ts';

export interface ServeStdioOptions {
  /** Called with errors. Do not write them to standard output, which belongs to the protocol. */
  readonly onError?: (error: Error) => void;
  /** The connection to the client. Default: standard input and output. */
  readonly transport?: Transport;
  /** Signals that stop the server; the end of its input stops it, too. Default SIGTERM and SIGINT. */
  readonly stopOn?: readonly NodeJS.Signals[];
}

export interface StdioServer {
  /** Resolves when the input has ended and everything is closed. */
  readonly stopped: Promise<void>;
  /** Ends the subscriptions, closes the connection, stops the workers, and closes the store. */
  stop(): Promise<void>;
}

export function serveStdio(
  tasks: Tasks,
  factory: McpServerFactory,
  options: ServeStdioOptions = {},
): StdioServer {
  const wire = new ListeningTransport(options.transport ?? new WrittenTransport(), tasks.taskServer);
  const { promise: stopped, resolve, reject } = Promise.withResolvers<void>();
  const served = serveSdk(factory, {
    transport: wire,
    ...(options.onError && { onerror: options.onError }),
  });
  let stopping: Promise<void> | undefined;
  const signals = options.stopOn ?? ['SIGTERM', 'SIGINT'];
  const stop = () => {
    stopping ??= (async () => {
      await wire.endSubscriptions();
      await served.close();
      await tasks.close();
      // Only now: clients send SIGTERM soon after they close the input. Without a handler it would kill running steps.
      for (const signal of signals) process.off(signal, stop);
    })();
    stopping.then(resolve, reject);
    return stopping;
  };
  stopped.catch(() => {});
  wire.onEnd = () => void stop();
  for (const signal of signals) process.on(signal, stop);
  return { stopped, stop };
}

/** Standard input and output. A send resolves when the message is written; the SDK's resolves when it is buffered. */
class WrittenTransport extends StdioServerTransport {
  override send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      process.stdout.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }
}

/** Adds task subscriptions to a transport. The SDK receives all other messages, and its acknowledgement covers both. */
class ListeningTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;
  /** Called when the connection is closed. */
  onEnd: () => void = () => {};
  readonly #wire: Transport;
  readonly #taskServer: TaskServer;
  /** By the id of the `subscriptions/listen` request; undefined while that is being checked. */
  readonly #subscriptions = new Map<SubscriptionId, Subscription | undefined>();
  /** Resolves when the last notification of a subscription has been written. */
  #turn = Promise.resolve();

  constructor(wire: Transport, taskServer: TaskServer) {
    this.#wire = wire;
    this.#taskServer = taskServer;
  }

  async start(): Promise<void> {
    this.#wire.onmessage = (message, extra) => {
      this.#received(message as JSONRPCMessage, () => this.onmessage?.(message, extra));
    };
    this.#wire.onerror = (error) => this.onerror?.(error);
    this.#wire.onclose = () => {
      for (const subscription of this.#subscriptions.values()) subscription?.close();
      this.#subscriptions.clear();
      this.onclose?.();
      this.onEnd();
    };
    await this.#wire.start();
  }

  async send(message: JSONRPCMessage, options?: Parameters<Transport['send']>[1]): Promise<void> {
    const subscription = this.#acknowledged(message);
    if (!subscription) {
      // The SDK refused the subscription.
      if ('error' in message && message.id !== undefined) this.#forget(message.id);
      return this.#wire.send(message, options);
    }
    await this.#send(subscription.acknowledging(message as JsonObject));
    subscription.start();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  /** Cancels each `subscriptions/listen` request, as the protocol requires on stdio. The SDK then answers it. */
  async endSubscriptions(): Promise<void> {
    for (const id of [...this.#subscriptions.keys()]) await this.#end(id, 'The server is shutting down.');
  }

  async #end(requestId: SubscriptionId, reason: string): Promise<void> {
    this.#forget(requestId);
    await this.#send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } });
  }

  #received(message: JSONRPCMessage, pass: () => void): void {
    const refusal = refusalOf(message);
    if (refusal) return void this.#send(refusal);
    const listen = asTaskListen(message);
    if (listen) {
      this.#listen(listen, pass).catch((error: unknown) => {
        this.#forget(listen.id);
        if (isFailure(error)) this.onerror?.(error as Error);
        const fault = this.#taskServer.dialect.fault(error);
        void this.#send({ jsonrpc: '2.0', id: listen.id, error: fault as unknown as JsonObject });
      });
      return;
    }
    if ('method' in message && message.method === 'notifications/cancelled') {
      const { requestId } = (message.params ?? {}) as { requestId?: SubscriptionId };
      if (requestId !== undefined) this.#forget(requestId);
    }
    pass();
  }

  async #listen(listen: TaskListen, pass: () => void): Promise<void> {
    const { id, params } = listen;
    const capabilities = isJsonObject(params._meta) ? params._meta[clientCapabilitiesKey] : undefined;
    // The SDK refuses a request without capabilities.
    if (capabilities === undefined) return pass();
    this.#forget(id);
    this.#subscriptions.set(id, undefined);
    const caller = this.#taskServer.caller(capabilities, 'local');
    const { requests } = await this.#taskServer.served();
    const watched = await watchedTasks(requests, caller, listen);
    if (!this.#subscriptions.has(id)) return;
    const reader = {
      id,
      write: (message: JsonObject) => this.#sendInTurn(message),
      drop: () => void this.#end(id, 'The tasks cannot be read.').catch(() => {}),
    };
    const subscription = new Subscription(requests, caller, watched, reader);
    this.#subscriptions.set(id, subscription);
    pass();
  }

  #forget(id: SubscriptionId): void {
    this.#subscriptions.get(id)?.close();
    this.#subscriptions.delete(id);
  }

  #acknowledged(message: JSONRPCMessage): Subscription | undefined {
    if (!('method' in message) || message.method !== acknowledgement) return undefined;
    const meta = message.params?._meta as JsonObject | undefined;
    return this.#subscriptions.get(meta?.[subscriptionIdKey] as SubscriptionId);
  }

  /** Sends one message at a time: each one that waits for room adds listeners to the output. */
  #sendInTurn(message: JsonObject): Promise<void> {
    const sent = this.#turn.then(() => this.#send(message));
    this.#turn = sent.catch(() => {});
    return sent;
  }

  #send(message: JsonObject): Promise<void> {
    return this.#wire.send(message as unknown as JSONRPCMessage);
  }
}

/** The answer to a request that the SDK would wrongly serve, or that would overflow the stack; undefined for others. */
function refusalOf(message: JSONRPCMessage): JsonObject | undefined {
  if (!('method' in message) || !('id' in message)) return undefined;
  const { id, params } = message;
  const answer = (code: number, text: string, data?: JsonObject) => ({
    jsonrpc: '2.0',
    id,
    error: { code, message: text, ...(data && { data }) },
  });
  if (isDeeperThan(message, maxDepth))
    return answer(invalidRequest, `The message is nested more than ${maxDepth} levels deep.`);
  const requested = params?._meta?.[protocolVersionKey];
  if (typeof requested === 'string' && requested !== revision)
    return answer(unsupportedVersion, `Unsupported protocol version: ${requested}`, {
      supported: [revision],
      requested,
    });
  return undefined;
}
