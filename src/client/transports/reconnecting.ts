/** A client of the SDK on a transport, and on another when that one is gone. */
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
  /** Speak SEP-1686, whatever else the server has. */
  readonly isOriginal: boolean;
  readonly capabilities: JsonObject;
  readonly timeoutMs: number;
}

/** What the server declared when a connection was opened. Each connection has an object of its own. */
export interface Agreement {
  readonly isModern: boolean;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
}

const neverConnected: Agreement = { isModern: false, capabilities: {} };
/** After an attempt to connect again that failed, nobody tries for a while. */
const backoff = { minMs: 500, maxMs: 10_000 };
/** Requests in a session that the server has forgotten are refused within this time, like the one that showed it. */
const drainMs = 1_000;

export class Connection implements RemotePeer {
  readonly client: Client;
  readonly dispatcher: Dispatcher;
  readonly #open: OpenTransport;
  readonly #canReopen: boolean;
  readonly #options: ConnectionOptions;
  #opening: Promise<void> | undefined;
  #isClosed = false;
  /** Of the last connection that was opened: the SDK's client forgets it while it connects again. */
  #agreed = neverConnected;
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

  /** Opens a connection unless there is one; joins whoever is opening one already. */
  async connect(): Promise<Agreement> {
    if (this.#agreed === neverConnected) await this.#connectOnce();
    else if (this.#opening || !this.dispatcher.isOpen) await this.#reconnect('It is closed.');
    return this.#agreed;
  }

  async #connectOnce(): Promise<void> {
    const transport = await this.#open();
    this.dispatcher.prepare(transport);
    await this.client.connect(transport, {
      timeout: Math.min(this.#options.timeoutMs, maxTimeoutMs),
    });
    const isModern = this.client.getProtocolEra() === 'modern';
    this.dispatcher.attach(transport, isModern);
    // On its own pipes the SDK asks a throw-away process what it speaks: what requests say is known with the first.
    if (isModern && !this.dispatcher.hasEnvelope) await this.client.discover();
    const capabilities = this.client.getServerCapabilities();
    const instructions = this.client.getInstructions();
    this.#agreed = {
      isModern,
      capabilities: isJsonObject(capabilities) ? (capabilities as JsonObject) : {},
      ...(instructions !== undefined && { instructions }),
    };
  }

  async request(...[message, options]: Parameters<Dispatcher['request']>): Promise<JsonObject> {
    if (!this.dispatcher.isOpen) await this.#reconnect('It is closed.');
    const agreed = this.#agreed;
    try {
      return await this.dispatcher.request(message, options);
    } catch (error) {
      // If another request has opened a new connection by now, calls run on it: it must not be closed.
      if (error instanceof ConnectionLost && error.isOver && agreed === this.#agreed)
        await this.#reconnect(error.message).catch(unlessLost);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.client.close();
  }

  // --- What was agreed ------------------------------------------------------------------------------------

  get isModern(): boolean {
    return this.#agreed.isModern;
  }

  /** Does the server declare that, as an object? */
  declares(...path: readonly string[]): boolean {
    let found: unknown = this.#agreed.capabilities;
    for (const key of path) found = isJsonObject(found) ? found[key] : undefined;
    return isJsonObject(found);
  }

  /** Do both sides flag it? */
  agreesOn(draft: Draft): boolean {
    return this.#options.drafts.has(draft) && this.declares('experimental', draft);
  }

  /** May a call be made as a task, as 2025-11-25 has it? */
  get takesTasks(): boolean {
    return this.declares('tasks', 'requests', 'tools', 'call');
  }

  /** In which words the server speaks of the tasks that are made now; undefined if it makes none. */
  get dialect(): RemoteDialect | undefined {
    const { isOriginal, drafts } = this.#options;
    if (this.isModern) return tasksExtension;
    if (isOriginal) return originalTasks;
    if (this.declares('tasks')) return this.agreesOn('sep-2339') ? tasksContinued : tasksOf2025;
    return drafts.has('sep-1686') ? originalTasks : undefined;
  }

  // --- Coming back ----------------------------------------------------------------------------------------

  /** Opens another connection, once for all that need it. */
  async #reconnect(why: string): Promise<void> {
    if (this.#isClosed) throw new ServerUnreachable(0, 'This client was closed.');
    if (!this.#canReopen)
      throw new ServerUnreachable(
        0,
        `${why} There is no way to open another: connect with a URL, or with a function that makes a transport.`,
      );
    if (!this.#opening && this.#failed && runtime.monotonic() < this.#failed.until)
      throw lostBy(this.#failed.error);
    // In a turn of its own: closing the old connection may call somebody who connects, and must join.
    this.#opening ??= Promise.resolve()
      .then(() => this.#connectAgain())
      .finally(() => {
        this.#opening = undefined;
      });
    await this.#opening;
  }

  async #connectAgain(): Promise<void> {
    // Closing makes open requests end without an answer, and their callers would not know whether they were carried out.
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

/** Of a request that waited for the connection, and was not sent. */
function lostBy(cause: Error): ConnectionLost {
  return Object.assign(new ConnectionLost(cause.message, { isUnsent: true }), { cause });
}

/** Of a request that was sent before: that no connection could be opened since does not make it unsent. */
function unlessLost(error: unknown): void {
  if (!(error instanceof ConnectionLost)) throw error;
}
