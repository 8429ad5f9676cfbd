/** An SDK client on a transport that is replaced when its connection is lost. */
import type { Client, Transport } from '@modelcontextprotocol/client';
import { extension } from '../../dialects/2026-07-28/names.ts';
import { subtasksExtension } from '../../dialects/collapse.ts';
import { type Draft, type Drafts, flagsOf } from '../../dialects/drafts/flags.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { ConnectionLost, ServerUnreachable } from '../../remote-tasks/errors.ts';
import {
  originalTasks,
  type RemoteDialect,
  tasksContinued,
  tasksExtension,
  tasksOf2025,
} from '../../remote-tasks/remote-dialect.ts';
import type { RemotePeer } from '../../remote-tasks/task-poller.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { maxTimeoutMs, runtime } from '../../runtime/runtime.ts';
import { Dispatcher, type IncomingListeners } from '../dispatcher.ts';

export type OpenTransport = () => Transport | Promise<Transport>;

export interface ConnectionOptions extends IncomingListeners {
  readonly drafts: Drafts;
  /** Always use SEP-1686, whatever else the server supports. */
  readonly isOriginal: boolean;
  readonly capabilities: JsonObject;
  readonly timeoutMs: number;
}

/** What the server declared when a connection was opened. Each connection has its own object. */
export interface Agreement {
  /** True for 2026-07-28 and later revisions. */
  readonly isModern: boolean;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
}

const neverConnected: Agreement = { isModern: false, capabilities: {} };
/** Between a failed attempt to reconnect and the next one. */
const backoff = { minMs: 500, maxMs: 10_000 };
/** How long other requests of a lost session may take to be rejected as well. */
const drainMs = 1_000;

export class Connection implements RemotePeer {
  readonly client: Client;
  readonly dispatcher: Dispatcher;
  readonly #open: OpenTransport;
  /** False if the host passed a single transport, which cannot be opened twice. */
  readonly #canReopen: boolean;
  readonly #options: ConnectionOptions;
  #opening: Promise<void> | undefined;
  #isClosed = false;
  /** The agreement of the last opened connection. The SDK's client drops it during a reconnect. */
  #agreement = neverConnected;
  /** The last attempt to reconnect, if it failed. There is no other attempt before `until` (monotonic time in ms). */
  #failed: { readonly error: Error; readonly times: number; readonly until: number } | undefined;

  constructor(client: Client, transport: Transport | OpenTransport, options: ConnectionOptions) {
    this.client = client;
    this.#options = options;
    this.#canReopen = typeof transport === 'function';
    this.#open = typeof transport === 'function' ? transport : () => transport;
    this.dispatcher = new Dispatcher(options.timeoutMs, options);
    const { drafts, capabilities } = options;
    client.registerCapabilities({
      ...capabilities,
      extensions: { [extension]: {}, ...(drafts.has('sep-2268') && { [subtasksExtension]: {} }) },
      ...(drafts.size > 0 && { experimental: flagsOf(drafts) }),
    } as never);
  }

  /** Opens a connection unless there is one. Concurrent calls share one attempt. */
  async connect(): Promise<Agreement> {
    if (this.#agreement === neverConnected) await this.#connectOnce();
    else if (this.#opening || !this.dispatcher.isOpen) await this.#reconnect('It is closed.');
    return this.#agreement;
  }

  /** Opens a connection without retries. */
  async #connectOnce(): Promise<void> {
    const transport = await this.#open();
    this.dispatcher.prepare(transport);
    await this.client.connect(transport, {
      timeout: Math.min(this.#options.timeoutMs, maxTimeoutMs),
    });
    const isModern = this.client.getProtocolEra() === 'modern';
    this.dispatcher.attach(transport, isModern);
    // On stdio the SDK probes a separate process, so the envelope is not known before the first request.
    if (isModern && !this.dispatcher.hasEnvelope) await this.client.discover();
    const capabilities = this.client.getServerCapabilities();
    const instructions = this.client.getInstructions();
    this.#agreement = {
      isModern,
      capabilities: isJsonObject(capabilities) ? (capabilities as JsonObject) : {},
      ...(instructions !== undefined && { instructions }),
    };
  }

  /** Sends a request, after reconnecting if necessary. Does not send a failed request again. */
  async request(...[message, options]: Parameters<Dispatcher['request']>): Promise<JsonObject> {
    if (!this.dispatcher.isOpen) await this.#reconnect('It is closed.');
    const before = this.#agreement;
    try {
      return await this.dispatcher.request(message, options);
    } catch (error) {
      // Another request may have opened a new connection already, which must stay open.
      if (error instanceof ConnectionLost && error.isOver && before === this.#agreement)
        await this.#reconnect(error.message).catch(ignoreConnectionLost);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.client.close();
  }

  // --- Agreement ------------------------------------------------------------------------------------------

  get isModern(): boolean {
    return this.#agreement.isModern;
  }

  /** True if the server's capabilities contain an object at this path. */
  declares(...path: readonly string[]): boolean {
    let found: unknown = this.#agreement.capabilities;
    for (const key of path) found = isJsonObject(found) ? found[key] : undefined;
    return isJsonObject(found);
  }

  /** True if both sides have enabled the draft. */
  agreesOn(draft: Draft): boolean {
    return this.#options.drafts.has(draft) && this.declares('experimental', draft);
  }

  /** True if tool calls may request a task, as in 2025-11-25. */
  get takesTasks(): boolean {
    return this.declares('tasks', 'requests', 'tools', 'call');
  }

  /** The dialect of tasks that are created now; undefined if the server does not support tasks. */
  get dialect(): RemoteDialect | undefined {
    const { isOriginal, drafts } = this.#options;
    if (this.isModern) return tasksExtension;
    if (isOriginal) return originalTasks;
    if (this.declares('tasks')) return this.agreesOn('sep-2339') ? tasksContinued : tasksOf2025;
    return drafts.has('sep-1686') ? originalTasks : undefined;
  }

  // --- Reconnecting ---------------------------------------------------------------------------------------

  /** Opens a new connection. Concurrent calls share one attempt. */
  async #reconnect(why: string): Promise<void> {
    if (this.#isClosed) throw new ServerUnreachable(0, 'This client was closed.');
    if (!this.#canReopen)
      throw new ServerUnreachable(
        0,
        `${why} The client cannot reconnect: pass a URL, or a function that creates a transport.`,
      );
    if (!this.#opening && this.#failed && runtime.monotonic() < this.#failed.until)
      throw lostBy(this.#failed.error);
    // Deferred, because closing the old connection may call `connect` again, which must share this attempt.
    this.#opening ??= Promise.resolve()
      .then(() => this.#connectAgain())
      .finally(() => {
        this.#opening = undefined;
      });
    await this.#opening;
  }

  async #connectAgain(): Promise<void> {
    // Closing ends open requests without an answer, and their callers would not know whether they were executed.
    await this.dispatcher.settled(drainMs);
    await this.client.close().catch(() => {});
    if (this.#isClosed) return;
    try {
      await this.#connectOnce();
    } catch (error) {
      const times = this.#failed?.times ?? 0;
      const until = runtime.monotonic() + backoffMs(backoff, times);
      this.#failed = { error: error as Error, times: times + 1, until };
      throw lostBy(error as Error);
    }
    this.#failed = undefined;
    if (this.#isClosed) await this.client.close();
  }
}

/** The error of a request that was not sent because the connection failed. */
function lostBy(cause: Error): ConnectionLost {
  return Object.assign(new ConnectionLost(cause.message, { isUnsent: true }), { cause });
}

/** For a request that was sent: a failed reconnect must not report it as unsent. */
function ignoreConnectionLost(error: unknown): void {
  if (!(error instanceof ConnectionLost)) throw error;
}
