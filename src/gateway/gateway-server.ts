/** The gateway: offers the tools of upstreams, and commands, as durable tools to clients of every revision. */

import { type McpRequestContext, Server, type ServerNotifier } from '@modelcontextprotocol/server';
import { invalidParams } from '../dialects/json-rpc.ts';
import type { TasksOptions as EngineOptions } from '../engine/tasks-options.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { RemoteError } from '../remote-tasks/errors.ts';
import { within } from '../runtime/timeout.ts';
import { type LogLevel, LogStream } from '../server/calls/call-log.ts';
import { handOverSettings } from '../server/hand-over/options.ts';
import { Fault } from '../server/sdk/sdk-adapter.ts';
import { createTasks, type Tasks } from '../server/tasks.ts';
import { Catalogue } from './catalogue.ts';
import { commandTool, Programs } from './commands/command.ts';
import type { Config } from './config/config.ts';
import { UpstreamUnreachable } from './upstream/call-outcome.ts';
import type { ListCache } from './upstream/list-cache.ts';
import { SessionLogs } from './upstream/logs.ts';
import { relayTool } from './upstream/relay.ts';
import { Upstream } from './upstream/upstream.ts';

export interface GatewayOptions extends Pick<EngineOptions, 'store' | 'log' | 'telemetry'> {
  readonly config: Config;
  /** The version that the gateway reports to clients and upstreams. */
  readonly version: string;
  /** How long the first clients wait for upstreams that have not answered. Default 30 s. */
  readonly startMs?: number;
  /** Keeps the lists of upstreams across processes. By default they are not kept. */
  readonly lists?: ListCache;
  /** Environment variables that commands inherit. By default all but Holdfast's own settings. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Called when an upstream cannot be reached, once for each reason. */
  readonly onTrouble?: (trouble: Error) => void;
}

type Handler = (request: { params?: JsonObject }) => unknown;

/** The default concurrency of the worker. It is high, because a call mostly waits for its upstream and costs little. */
const maxConcurrentCalls = 1_000;

export class Gateway implements AsyncDisposable {
  readonly tasks: Tasks;
  /** Notifies clients of 2026-07-28 that subscribe over HTTP. Set by the HTTP server; undefined without one. */
  notifier: ServerNotifier | undefined;
  /** Resolves when every upstream has answered, `startMs` is over, or the gateway is closed. */
  readonly settled: Promise<void>;
  readonly #upstreams: readonly Upstream[];
  readonly #catalogue: Catalogue;
  readonly #programs: Programs;
  readonly #sessionLogs = new SessionLogs();
  readonly #version: string;
  readonly #plainClients: Config['plainClients'];
  /** The SDK's servers that stay connected: one for each session, and the one on standard input and output. */
  readonly #connected = new Set<Server>();
  readonly #closing = new AbortController();

  constructor(options: GatewayOptions) {
    const { config, version, startMs = 30_000, lists, environment, onTrouble, ...engineOptions } = options;
    this.#programs = new Programs(environment);
    this.#version = version;
    this.#plainClients = config.plainClients;
    const reserved = handOverSettings(config);
    const configured = Object.entries(config.upstreams);
    const isOnlyUpstream = configured.length === 1;
    const upstreams = configured.map(([name, upstreamConfig]) => {
      const upstream: Upstream = new Upstream(name, upstreamConfig, {
        version,
        listed: lists?.get(name),
        sessionLogs: this.#sessionLogs,
        isOnlyUpstream: isOnlyUpstream,
        events: {
          changed: () => {
            lists?.set(name, upstream.listed);
            this.#catalogue.refresh();
            this.#changed();
          },
          failed: (why) => onTrouble?.(new UpstreamUnreachable(name, why)),
          notified: (method, params) => this.#forward(method, params),
        },
      });
      return upstream;
    });
    this.#sessionLogs.onWantedChanged = () => {
      for (const { logs } of upstreams) void logs.syncLevel();
    };
    const relays = new Map(upstreams.map((upstream) => [upstream, relayTool(upstream)]));
    const commands = Object.entries(config.commands).map(([name, command]) =>
      commandTool(name, command, this.#programs),
    );
    this.#catalogue = new Catalogue(relays, commands, reserved ? Object.values(reserved.names) : []);
    this.#upstreams = upstreams;
    this.tasks = createTasks({
      ...engineOptions,
      tools: [...relays.values(), ...commands],
      // The maximum for callers without a token. It is long: task ids are secret, and the config sets the retention.
      anonymousRetention: '30d',
      limits: config.limits,
      toolNamed: (name, input) => this.#catalogue.called(name, input),
    });
    const answered = upstreams.map(async ({ connection, isListCached }) => {
      const started = connection.start();
      // If there are cached lists, clients get these and need not wait.
      if (!isListCached) await started;
    });
    this.settled = within(startMs, Promise.all(answered), this.#closing.signal).then(() => {});
  }

  /** Starts the worker. It also continues tasks of earlier processes. */
  async work(concurrency = maxConcurrentCalls): Promise<void> {
    // Only the lists of an upstream show whether an interrupted call may be repeated.
    await this.settled;
    // After `close`, a worker would open the database again.
    if (this.#closing.signal.aborted) return;
    await this.tasks.work({ concurrency, watchdog: 'exit' });
  }

  /** Closes the tasks and the connections to upstreams. Stop the HTTP server or stdio first. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.tasks.close();
    await this.#programs.close();
    await Promise.all(this.#upstreams.map(({ connection }) => connection.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // --- The servers that clients connect to: calls become tasks, everything else is forwarded ----------------

  readonly serverFor = async ({ era, requestInfo }: McpRequestContext): Promise<Server> => {
    await this.settled;
    const server = this.#server();
    // Any other server answers a single request and cannot send notifications.
    if (era === 'legacy' || !requestInfo) {
      this.#connected.add(server);
      const unsubscribe = era === 'legacy' ? this.#subscribeToLogs(server) : () => {};
      server.onclose = () => {
        this.#connected.delete(server);
        unsubscribe();
      };
    }
    return server;
  };

  /** Sends log messages to a session, which may set their level at any time. Returns a function that ends this. */
  #subscribeToLogs(server: Server): () => void {
    if (!this.#has('logging')) return () => {};
    const session = new LogStream(
      async (params) => {
        if (server.transport) await server.notification({ method: 'notifications/message', params } as never);
      },
      async () =>
        server.transport && this.tasks.taskServer.standaloneStreams.get(server.transport)?.drained(),
    );
    this.#sessionLogs.set(session, undefined);
    server.setRequestHandler('logging/setLevel', async ({ params }) => {
      this.#sessionLogs.set(session, params.level as LogLevel);
      await Promise.all(this.#upstreams.map(({ logs }) => logs.syncLevelSoon()));
      return {};
    });
    return () => this.#sessionLogs.leave(session);
  }

  /** True if at least one upstream has declared the capability. */
  #has(capability: string): boolean {
    return this.#upstreams.some((upstream) => upstream.has(capability));
  }

  /** Notifies clients that the lists of an upstream have changed. */
  #changed(): void {
    this.notifier?.toolsChanged();
    this.notifier?.promptsChanged();
    this.notifier?.resourcesChanged();
    for (const list of ['tools', 'prompts', 'resources']) this.#notify(`notifications/${list}/list_changed`);
  }

  /** Forwards a notification of an upstream to clients. */
  #forward(method: string, params: JsonObject): void {
    if (method === 'notifications/resources/updated') this.notifier?.resourceUpdated(String(params.uri));
    this.#notify(method, params);
  }

  /** Sends a notification to every connected session. */
  #notify(method: string, params?: JsonObject): void {
    for (const server of this.#connected)
      if (server.transport) void server.notification({ method, params } as never).catch(() => {});
  }

  /** Creates the SDK's server for one client. */
  #server(): Server {
    const instructions = instructionsOf(this.#upstreams);
    const server = new Server(
      { name: 'holdfast', version: this.#version },
      {
        capabilities: {
          ...(this.#has('prompts') && { prompts: { listChanged: true } }),
          ...(this.#has('resources') && { resources: { listChanged: true, subscribe: true } }),
          ...(this.#has('completions') && { completions: {} }),
          ...(this.#has('logging') && { logging: {} }),
        },
        ...(instructions && { instructions }),
      },
    );
    this.tasks.attach(server, { plainClients: this.#plainClients });
    server.registerCapabilities({ tools: { listChanged: true } });
    this.#answer(server);
    return server;
  }

  #answer(server: Server): void {
    const catalogue = this.#catalogue;
    const set = (method: string, handler: Handler) =>
      (server.setRequestHandler as (method: string, handler: Handler) => void)(method, handler);
    set('tools/list', () => ({ tools: catalogue.tools }));
    if (this.#has('prompts')) {
      set('prompts/list', () => ({ prompts: catalogue.prompts }));
      set('prompts/get', ({ params = {} }) => this.#prompt(params));
    }
    if (this.#has('resources')) {
      set('resources/list', () => ({ resources: catalogue.resources }));
      set('resources/templates/list', () => ({ resourceTemplates: catalogue.resourceTemplates }));
      for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe'])
        set(method, ({ params = {} }) => this.#resource(method, params));
    }
    if (this.#has('completions')) set('completion/complete', ({ params = {} }) => this.#complete(params));
  }

  async #prompt(params: JsonObject): Promise<JsonObject> {
    const found = this.#catalogue.prompt(String(params.name));
    if (!found) throw new Fault({ code: invalidParams, message: `Prompt ${params.name} not found` });
    return forwarded(found.upstream, 'prompts/get', { ...params, name: found.name });
  }

  /** Asks each candidate in turn. If all refuse, it throws the error of the first. */
  async #resource(method: string, params: JsonObject): Promise<JsonObject> {
    let firstError: unknown;
    for (const upstream of this.#catalogue.candidatesFor(String(params.uri)))
      try {
        return await forwarded(upstream, method, params);
      } catch (error) {
        firstError ??= error;
      }
    throw firstError ?? new Fault({ code: invalidParams, message: `Resource ${params.uri} not found` });
  }

  async #complete(params: JsonObject): Promise<JsonObject> {
    const ref = isJsonObject(params.ref) ? params.ref : {};
    if (ref.type === 'ref/resource') {
      const [upstream] = this.#catalogue.candidatesFor(String(ref.uri));
      if (upstream) return forwarded(upstream, 'completion/complete', params);
    }
    const found = this.#catalogue.prompt(String(ref.name));
    if (!found)
      throw new Fault({
        code: invalidParams,
        message: `Nothing to complete for ${ref.name ?? ref.uri}`,
      });
    return forwarded(found.upstream, 'completion/complete', { ...params, ref: { ...ref, name: found.name } });
  }
}

/**
 * Forwards a request. Removes the fields that only concern one connection, and returns an upstream's error unchanged.
 */
async function forwarded(upstream: Upstream, method: string, { _meta, ...params }: JsonObject) {
  try {
    const { resultType: _, _meta: _other, ...result } = await upstream.request(method, params);
    return result;
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const { rpcCode: code, message, data } = error;
    throw new Fault({ code, message, ...(data !== undefined && { data }) });
  }
}

/** The instructions of all upstreams, with their names if there are several. Undefined if there are none. */
function instructionsOf(upstreams: readonly Upstream[]): string | undefined {
  const all = upstreams.flatMap(({ name, listed }) =>
    listed.instructions ? [[name, listed.instructions] as const] : [],
  );
  if (all.length <= 1) return all[0]?.[1];
  return all.map(([name, text]) => `${name}:\n${text}`).join('\n\n');
}
