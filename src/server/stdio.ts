/**
 * The stdio face: one client, on standard input and output. When the input ends the server lets go of everything and
 * the process may exit; work that is not done waits in the store for the next one.
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
import { deepest, isDeeperThan } from './http/body.ts';
import {
  acknowledgement,
  asTaskListen,
  Subscription,
  type SubscriptionId,
  type TaskListen,
  tasksToHear,
} from './sessions/subscription.ts';
import type { TaskServer } from './task-server.ts';
import type { Tasks } from './tasks.ts';

export interface ServeStdioOptions {
  /** Hears of errors. Standard output belongs to the protocol: write them elsewhere. */
  readonly onError?: (error: Error) => void;
  /** Default standard input and output. */
  readonly transport?: Transport;
  /** Signals that stop the server, besides the end of its input. Default SIGTERM and SIGINT. */
  readonly stopOn?: readonly NodeJS.Signals[];
}

export interface StdioServer {
  /** Resolves when the input has ended and everything is closed. */
  readonly stopped: Promise<void>;
  stop(): Promise<void>;
}

export function serveStdio(
  tasks: Tasks,
  factory: McpServerFactory,
  options: ServeStdioOptions = {},
): StdioServer {
  const wire = new ListeningTransport(options.transport ?? new WrittenTransport(), tasks.binding);
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
      // Not before: clients send SIGTERM soon after they have closed the input, and would cut the steps short.
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

/** Standard input and output. The SDK takes a message for sent when it is buffered; here it must have been written. */
class WrittenTransport extends StdioServerTransport {
  override send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      process.stdout.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }
}

/** A transport on which tasks can be listened to: the SDK sees everything else, and acknowledges for both. */
class ListeningTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;
  onEnd: () => void = () => {};
  readonly #wire: Transport;
  readonly #binding: TaskServer;
  /** By the id of the request to listen; undefined while that is being looked into. */
  readonly #subscriptions = new Map<SubscriptionId, Subscription | undefined>();
  #turn = Promise.resolve();

  constructor(wire: Transport, binding: TaskServer) {
    this.#wire = wire;
    this.#binding = binding;
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
      // Not acknowledged but refused.
      if ('error' in message && message.id !== undefined) this.#forget(message.id);
      return this.#wire.send(message, options);
    }
    await this.#tell(subscription.acknowledging(message as JsonObject));
    subscription.start();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  /** As the protocol wants it on stdio: the request to listen is cancelled, and then answered. */
  async endSubscriptions(): Promise<void> {
    for (const id of [...this.#subscriptions.keys()]) await this.#end(id, 'The server is shutting down.');
  }

  async #end(requestId: SubscriptionId, reason: string): Promise<void> {
    this.#forget(requestId);
    await this.#tell({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } });
  }

  #received(message: JSONRPCMessage, pass: () => void): void {
    const refusal = refusalOf(message);
    if (refusal) return void this.#tell(refusal);
    const listen = asTaskListen(message);
    if (listen) {
      this.#listen(listen, pass).catch((error: unknown) => {
        this.#forget(listen.id);
        if (isFailure(error)) this.onerror?.(error as Error);
        const fault = this.#binding.dialect.fault(error);
        void this.#tell({ jsonrpc: '2.0', id: listen.id, error: fault as unknown as JsonObject });
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
    // Without capabilities the SDK has more to say about the request.
    if (capabilities === undefined) return pass();
    this.#forget(id);
    this.#subscriptions.set(id, undefined);
    const caller = this.#binding.caller(capabilities, 'local');
    const { requests } = await this.#binding.served();
    const tasks = await tasksToHear(requests, caller, listen);
    if (!this.#subscriptions.has(id)) return;
    const reader = {
      id,
      write: (message: JsonObject) => this.#tellInTurn(message),
      drop: () => void this.#end(id, 'The tasks cannot be read.').catch(() => {}),
    };
    const subscription = new Subscription(requests, caller, tasks, reader);
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

  /** One at a time: each that waits for room adds listeners to the output. */
  #tellInTurn(message: JsonObject): Promise<void> {
    const told = this.#turn.then(() => this.#tell(message));
    this.#turn = told.catch(() => {});
    return told;
  }

  #tell(message: JsonObject): Promise<void> {
    return this.#wire.send(message as unknown as JSONRPCMessage);
  }
}

/** What the SDK would serve, or run out of stack with. */
function refusalOf(message: JSONRPCMessage): JsonObject | undefined {
  if (!('method' in message) || !('id' in message)) return undefined;
  const { id, params } = message;
  const answer = (code: number, words: string, data?: JsonObject) => ({
    jsonrpc: '2.0',
    id,
    error: { code, message: words, ...(data && { data }) },
  });
  if (isDeeperThan(message, deepest))
    return answer(invalidRequest, `The message is nested more than ${deepest} levels deep.`);
  const requested = params?._meta?.[protocolVersionKey];
  if (typeof requested === 'string' && requested !== revision)
    return answer(unsupportedVersion, `Unsupported protocol version: ${requested}`, {
      supported: [revision],
      requested,
    });
  return undefined;
}
