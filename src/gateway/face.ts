/** The gateway as a server of the SDK: tools with their tasks on it; everything else is passed on as it is. */
import { type McpRequestContext, Server, type ServerNotifier } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { invalidParams } from '../protocol/json-rpc.ts';
import { RemoteError } from '../requestor/errors.ts';
import { type LogLevel, LogStream } from '../server/call-log.ts';
import type { Tasks } from '../server/tasks.ts';
import type { Catalogue } from './catalogue.ts';
import type { Config } from './config.ts';
import type { HearingSession, SessionLogs } from './logs.ts';
import type { Upstream } from './upstream.ts';

export interface FaceParts {
  readonly tasks: Tasks;
  readonly catalogue: Catalogue;
  readonly upstreams: readonly Upstream[];
  readonly sessionLogs: SessionLogs;
  readonly version: string;
  readonly plainClients: Config['plainClients'];
  /** Resolves when it is known what there is. */
  readonly settled: Promise<void>;
}

type Handler = (request: { params?: JsonObject }) => unknown;

/** A server that stays connected, and what it is told of logs. */
function hearing(server: Server, { binding }: Tasks): HearingSession {
  return {
    stream: new LogStream(
      async (params) => {
        if (server.transport) await server.notification({ method: 'notifications/message', params } as never);
      },
      async () => server.transport && binding.standaloneStreams.get(server.transport)?.room(),
    ),
  };
}

/** An error as the SDK puts it on the wire. */
class PassedOn extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Makes the servers that clients talk to, and tells those of them that can be told when something has changed. */
export class Face {
  readonly #parts: FaceParts;
  /** Those that stay connected: sessions, and the one on standard input and output. */
  readonly #connected = new Set<Server>();
  /** Announces to clients of 2026-07-28 that listen over HTTP. */
  notifier: ServerNotifier | undefined;

  constructor(parts: FaceParts) {
    this.#parts = parts;
  }

  readonly serverFor = async ({ era, requestInfo }: McpRequestContext): Promise<Server> => {
    await this.#parts.settled;
    const server = this.#server();
    // One that serves a single request hears of nothing.
    if (era === 'legacy' || !requestInfo) {
      this.#connected.add(server);
      const stopHearing = era === 'legacy' ? this.#hearLogs(server) : () => {};
      server.onclose = () => {
        this.#connected.delete(server);
        stopHearing();
      };
    }
    return server;
  };

  /** In a session the level is said once, and holds for whatever is logged from then on. */
  #hearLogs(server: Server): () => void {
    const { sessionLogs, tasks, upstreams } = this.#parts;
    if (!this.#has('logging')) return () => {};
    const session = hearing(server, tasks);
    sessionLogs.join(session);
    server.setRequestHandler('logging/setLevel', async ({ params }) => {
      sessionLogs.setLevel(session, params.level as LogLevel);
      await Promise.all(upstreams.map(({ logs }) => logs.askSoon()));
      return {};
    });
    return () => sessionLogs.leave(session);
  }

  #has(capability: string): boolean {
    return this.#parts.upstreams.some((upstream) => upstream.has(capability));
  }

  /** The lists of some upstream have changed. */
  changed(): void {
    this.notifier?.toolsChanged();
    this.notifier?.promptsChanged();
    this.notifier?.resourcesChanged();
    for (const server of this.#connected) {
      if (!server.transport) continue;
      for (const told of [
        () => server.sendToolListChanged(),
        () => server.sendPromptListChanged(),
        () => server.sendResourceListChanged(),
      ])
        void Promise.resolve()
          .then(told)
          .catch(() => {});
    }
  }

  /** An upstream said something that is for clients. */
  notified(method: string, params: JsonObject): void {
    if (method === 'notifications/resources/updated') this.notifier?.resourceUpdated(String(params.uri));
    for (const server of this.#connected)
      if (server.transport) void server.notification({ method, params } as never).catch(() => {});
  }

  #server(): Server {
    const { tasks, upstreams, version, plainClients } = this.#parts;
    const has = (capability: string) => this.#has(capability);
    const instructions = instructionsOf(upstreams);
    const server = new Server(
      { name: 'holdfast', version },
      {
        capabilities: {
          ...(has('prompts') && { prompts: { listChanged: true } }),
          ...(has('resources') && { resources: { listChanged: true, subscribe: true } }),
          ...(has('completions') && { completions: {} }),
          ...(has('logging') && { logging: {} }),
        },
        ...(instructions && { instructions }),
      },
    );
    tasks.attach(server, { plainClients });
    server.registerCapabilities({ tools: { listChanged: true } });
    this.#answer(server, has);
    return server;
  }

  #answer(server: Server, has: (capability: string) => boolean): void {
    const { catalogue } = this.#parts;
    const set = (method: string, handler: Handler) =>
      (server.setRequestHandler as (method: string, handler: Handler) => void)(method, handler);
    set('tools/list', () => ({ tools: catalogue.tools }));
    if (has('prompts')) {
      set('prompts/list', () => ({ prompts: catalogue.prompts }));
      set('prompts/get', ({ params = {} }) => this.#prompt('prompts/get', params));
    }
    if (has('resources')) {
      set('resources/list', () => ({ resources: catalogue.resources }));
      set('resources/templates/list', () => ({ resourceTemplates: catalogue.resourceTemplates }));
      for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe'])
        set(method, ({ params = {} }) => this.#resource(method, params));
    }
    if (has('completions')) set('completion/complete', ({ params = {} }) => this.#complete(params));
  }

  async #prompt(method: string, params: JsonObject): Promise<JsonObject> {
    const found = this.#parts.catalogue.prompt(String(params.name));
    if (!found) throw new PassedOn({ code: invalidParams, message: `Prompt ${params.name} not found` });
    return passedOn(found.upstream, method, { ...params, name: found.name });
  }

  /** Whoever knows it answers; if nobody does, the likeliest says why. */
  async #resource(method: string, params: JsonObject): Promise<JsonObject> {
    let refusal: unknown;
    for (const upstream of this.#parts.catalogue.holdersOf(String(params.uri)))
      try {
        return await passedOn(upstream, method, params);
      } catch (error) {
        refusal ??= error;
      }
    throw refusal ?? new PassedOn({ code: invalidParams, message: `Resource ${params.uri} not found` });
  }

  async #complete(params: JsonObject): Promise<JsonObject> {
    const ref = isJsonObject(params.ref) ? params.ref : {};
    if (ref.type === 'ref/resource') {
      const [upstream] = this.#parts.catalogue.holdersOf(String(ref.uri));
      if (upstream) return passedOn(upstream, 'completion/complete', params);
    }
    const found = this.#parts.catalogue.prompt(String(ref.name));
    if (!found)
      throw new PassedOn({
        code: invalidParams,
        message: `There is nothing to complete for ${ref.name ?? ref.uri}.`,
      });
    return passedOn(found.upstream, 'completion/complete', { ...params, ref: { ...ref, name: found.name } });
  }
}

async function passedOn(
  upstream: Upstream,
  method: string,
  { _meta, ...params }: JsonObject,
): Promise<JsonObject> {
  try {
    const { resultType: _, _meta: _other, ...result } = await upstream.request(method, params);
    return result;
  } catch (error) {
    throw error instanceof RemoteError ? new PassedOn(error as { code: number; message: string }) : error;
  }
}

function instructionsOf(upstreams: readonly Upstream[]): string | undefined {
  const all = upstreams.flatMap(({ name, listed }) =>
    listed.instructions ? [[name, listed.instructions] as const] : [],
  );
  if (all.length <= 1) return all[0]?.[1];
  return all.map(([name, text]) => `${name}:\n${text}`).join('\n\n');
}
