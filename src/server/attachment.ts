/**
 * One server of the SDK with tasks on it, through public seams only:
 *
 *   - `setRequestHandler` is overridden on the instance (see `attach.ts`), so that `tools/call` passes by here first;
 *   - `connect` is overridden, so that the answer to a call that became a task leaves exactly as it was made (the SDK
 *     would add a `content` to it), and so that our request states come in past the author's own check.
 *
 * Errors travel as objects with a `code`, which is all that the SDK asks of them; nothing of it is needed at run time.
 */
import type { Server, ServerContext, Transport } from '@modelcontextprotocol/server';
import { parse } from '../engine/schema.ts';
import type { DurableTool } from '../engine/tool.ts';
import { HoldfastError } from '../model/errors.ts';
import { newId } from '../model/id.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { WireFault } from '../protocol/dialect.ts';
import { NotOffered, tasksOf2025 } from '../protocol/dialects/2025-11-25/dialect.ts';
import { immediateResponseKey } from '../protocol/dialects/2025-11-25/names.ts';
import { clientCapabilitiesKey, serverInfoKey } from '../protocol/dialects/2026-07-28/names.ts';
import type { Binding } from './binding.ts';
import { anonymous, type Bearer, type Caller } from './caller.ts';
import { type Channel, Connection, type Standalone } from './connection.ts';
import { RequestIds } from './request-ids.ts';
import { RequestAborted } from './tool-calls.ts';
import { progressOf } from './tool-listing.ts';

/** An error as the SDK puts it on the wire. */
class Fault extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: WireFault) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** A person may take days to answer; what ends a question is its task. */
const noTimeout = 2 ** 31 - 1;

/** What a transport tells of the request that a message came with. */
interface Extra {
  readonly request?: unknown;
  readonly authInfo?: never;
}

export class Attachment {
  readonly binding: Binding;
  readonly #server: Server;
  /** Answers that leave as they are, by the id of their request. */
  readonly #exact = new Map<unknown, JsonObject>();
  /** States that calls came back with, by the id of their request. */
  readonly #states = new Map<unknown, unknown>();
  /** Requests to open a session by callers that cannot be told apart. */
  readonly #anonymousOpenings = new Set<unknown>();
  readonly #closed = new AbortController();
  /** Where there are no sessions the connection is one. */
  readonly #name = newId();
  #transport: Transport | undefined;
  #connection: Promise<Connection> | undefined;

  constructor(binding: Binding, server: Server) {
    this.binding = binding;
    this.#server = server;
    const connect = server.connect.bind(server);
    server.connect = async (transport: Transport) => {
      this.#transport = transport;
      binding.connections.set(transport, () => this.#open(transport));
      const send = transport.send.bind(transport);
      const ids = new RequestIds();
      transport.send = (message, options) => send(ids.outgoing(this.#corrected(message)), options);
      await connect(transport);
      const { onmessage, onclose } = transport;
      transport.onmessage = (message, extra) => {
        const known = ids.incoming(message);
        if (known) onmessage?.(this.#received(known, extra as Extra), extra);
      };
      transport.onclose = () => {
        this.#closed.abort();
        void this.#connection?.then((connection) => connection.close());
        onclose?.();
      };
    };
  }

  // --- Requests -------------------------------------------------------------------------------------------

  /** Undefined if the tool is none of ours. */
  call(params: JsonObject, context: ServerContext): Promise<JsonObject> | undefined {
    const tool = this.binding.tool(params.name);
    const wish = context.mcpReq.envelope ? undefined : params.task;
    if (!tool && !isJsonObject(wish)) return undefined;
    return this.faulting(context, async () => {
      if (isJsonObject(wish) && (!tool || tool.task === 'never'))
        throw new NotOffered(`The tool ${params.name} cannot be called as a task.`);
      return this.#call(tool!, params, context);
    });
  }

  async #call(tool: DurableTool, params: JsonObject, context: ServerContext): Promise<JsonObject> {
    const { mcpReq } = context;
    const requestState = this.#states.has(mcpReq.id) ? this.#states.get(mcpReq.id) : mcpReq.requestState();
    // Of a request that is aborted the SDK sends no answer that would take these along.
    mcpReq.signal.addEventListener('abort', () => this.#forget(mcpReq.id), { once: true });
    const wish = !mcpReq.envelope && isJsonObject(params.task) ? params.task : undefined;
    const reply = await this.binding.call(
      tool,
      {
        arguments: params.arguments,
        inputResponses: responsesOf(context),
        requestState,
        meta: mcpReq._meta,
        ...(wish && { task: { ttl: wish.ttl, session: this.#session } }),
      },
      this.callerOf(context, wish !== undefined),
      { signal: mcpReq.signal, ...(!wish && progressOf(context)) },
    );
    if (isJsonObject(reply.task)) return this.#handedOver(tool, params, reply, context);
    if (reply.resultType !== 'task') return reply;
    this.#exact.set(mcpReq.id, reply);
    return { content: [] };
  }

  /** On 2025-11-25: what a model may be told meanwhile goes along, and the connection hears of the task from now on. */
  async #handedOver(
    tool: DurableTool,
    params: JsonObject,
    reply: JsonObject,
    context: ServerContext,
  ): Promise<JsonObject> {
    const { mcpReq } = context;
    const immediately = await immediateResponse(tool, params.arguments);
    const _meta = immediately === undefined ? undefined : { [immediateResponseKey]: immediately };
    this.#exact.set(mcpReq.id, { ...reply, ...(_meta && { _meta }) });
    const { taskId } = reply.task as { taskId: string };
    const connection = await this.connection();
    // Not before the answer is out: nobody may hear of a task whose id it does not know.
    setImmediate(() => connection.follow(taskId));
    return { content: [] };
  }

  get #session(): string {
    return this.#transport?.sessionId ?? this.#name;
  }

  callerOf(context: ServerContext, wantsTask = false): Caller {
    const { mcpReq, http } = context;
    const bearer: Bearer = http ? http.authInfo : 'local';
    if (!mcpReq.envelope)
      return this.binding.olderCaller(this.#server.getClientCapabilities(), bearer, wantsTask);
    const envelope = mcpReq.envelope as Readonly<Record<string, unknown>>;
    return this.binding.caller(envelope[clientCapabilitiesKey], bearer);
  }

  /** Runs a method; what goes wrong is said in the words of the caller's dialect. */
  async faulting<T>(context: ServerContext, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      // Nobody is there to be told; the SDK sends nothing for a request that was aborted.
      if (error instanceof RequestAborted) throw error;
      if (!(error instanceof HoldfastError)) this.#server.onerror?.(error as Error);
      const dialect = context.mcpReq.envelope ? this.binding.dialect : tasksOf2025;
      throw new Fault(dialect.fault(error));
    }
  }

  // --- A connection of 2025-11-25 -------------------------------------------------------------------------

  /** Whoever asks about a task on such a connection is told of it from then on. */
  async interested({ taskId, status }: JsonObject, context: ServerContext): Promise<void> {
    const isOpen = status === 'working' || status === 'input_required';
    if (!context.mcpReq.envelope && isOpen) (await this.connection()).follow(taskId as string);
  }

  connection(): Promise<Connection> {
    return this.#open(this.#transport!);
  }

  #open(transport: Transport): Promise<Connection> {
    this.#connection ??= this.binding
      .served()
      .then(({ requests }) => new Connection(requests, this.#standalone(transport)));
    return this.#connection;
  }

  /** On HTTP there is such a stream while the client keeps one open; elsewhere the connection itself is one. */
  #standalone(transport: Transport): Standalone {
    const stream = this.binding.standaloneStreams.get(transport);
    const isHttp = 'handleRequest' in transport;
    const closed = () => (stream ? stream.closed : isHttp ? undefined : this.#closed.signal);
    const ask: Channel['ask'] = (request, signal) =>
      this.#server.request(request as never, {
        signal,
        timeout: noTimeout,
      }) as unknown as Promise<JsonObject>;
    const name = newId();
    return {
      session: this.#session,
      channel: () => {
        const signal = closed();
        return signal && { name, closed: signal, ask };
      },
      notify: async (notification) => {
        if (closed()) await this.#server.notification(notification as never);
      },
      onOpen: (listener) => stream?.onOpen(listener) ?? (() => {}),
    };
  }

  /** The stream of a request that waits: questions may go out on it. */
  channelOf({ mcpReq, http }: ServerContext): Channel {
    const request = http?.req as { signal?: AbortSignal } | undefined;
    const signals = [this.#closed.signal, ...(request?.signal ? [request.signal] : [])];
    return {
      name: newId(),
      closed: AbortSignal.any(signals),
      ask: (question, signal) =>
        mcpReq.send(question as never, { signal, timeout: noTimeout }) as unknown as Promise<JsonObject>,
    };
  }

  // --- What passes by -------------------------------------------------------------------------------------

  #received<M extends object>(message: M, extra: Extra | undefined): M {
    if (!('id' in message) || !('method' in message)) return message;
    if (message.method === 'initialize') {
      const bearer: Bearer = extra?.request ? extra.authInfo : 'local';
      if (this.binding.ownerOf(bearer) === anonymous) this.#anonymousOpenings.add(message.id);
    }
    const sent = withoutBadResponses(message);
    return sent.method === 'tools/call' ? this.#withoutState(sent) : sent;
  }

  /** Our states are none of the author's, whose own check the SDK would put them to first. */
  #withoutState<M extends { id: unknown }>(message: M): M {
    if (!('params' in message) || !isJsonObject(message.params)) return message;
    const { requestState, ...params } = message.params;
    if (requestState === undefined || !this.binding.tool(params.name)) return message;
    this.#states.set(message.id, requestState);
    return { ...message, params };
  }

  #forget(id: unknown): void {
    this.#exact.delete(id);
    this.#states.delete(id);
    this.#anonymousOpenings.delete(id);
  }

  #corrected<M extends object>(message: M): M {
    if ('id' in message && 'error' in message) this.#forget(message.id);
    if (!('id' in message) || !('result' in message) || !isJsonObject(message.result)) return message;
    if (this.#anonymousOpenings.delete(message.id))
      return { ...message, result: withoutList(message.result) };
    const { _meta } = message.result;
    if (isJsonObject(_meta) && isJsonObject(_meta[serverInfoKey]))
      this.binding.serverInfo ??= _meta[serverInfoKey];
    const exact = this.#exact.get(message.id);
    this.#forget(message.id);
    if (!exact) return message;
    const metas = { ...(exact._meta as JsonObject | undefined), ...(_meta as JsonObject | undefined) };
    return { ...message, result: { ...exact, ...(Object.keys(metas).length > 0 && { _meta: metas }) } };
  }
}

/** The SDK would make an empty object of them, and a caller be told that its answers were taken. */
function withoutBadResponses<M extends object>(message: M): M {
  if (!('params' in message) || !isJsonObject(message.params)) return message;
  const { inputResponses, ...params } = message.params;
  return inputResponses === undefined || isJsonObject(inputResponses) ? message : { ...message, params };
}

/** Callers that cannot be told apart would see each other's tasks in a list. */
function withoutList(opened: JsonObject): JsonObject {
  const { capabilities } = opened;
  if (!isJsonObject(capabilities) || !isJsonObject(capabilities.tasks)) return opened;
  const { list: _, ...tasks } = capabilities.tasks;
  return { ...opened, capabilities: { ...capabilities, tasks } };
}

async function immediateResponse(tool: DurableTool, input: unknown): Promise<string | undefined> {
  const { immediately, inputSchema, name } = tool;
  if (typeof immediately !== 'function') return immediately;
  const parsed = inputSchema ? await parse(inputSchema, input ?? {}, `The input of ${name}`) : input;
  return immediately(parsed as never);
}

/** The SDK takes malformed answers out; they are put back, so that their sender hears what is wrong with them. */
export function responsesOf({ mcpReq }: ServerContext): unknown {
  const { inputResponses, droppedInputResponseKeys = [] } = mcpReq;
  if (droppedInputResponseKeys.length === 0) return inputResponses;
  return { ...inputResponses, ...Object.fromEntries(droppedInputResponseKeys.map((key) => [key, null])) };
}
