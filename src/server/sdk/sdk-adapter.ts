/**
 * Adds tasks to one SDK server, and overrides only public methods of the instance:
 *
 *   - `setRequestHandler` (see `attach.ts`), so that this adapter receives `tools/call` first;
 *   - `connect`, so that the SDK does not add a `content` to an answer with a task, and does not pass our request states
 *     to the author's own check.
 *
 * Errors are plain objects with a `code`, which is all that the SDK needs. So this file imports only its types.
 */
import type { Server, ServerContext, Transport } from '@modelcontextprotocol/server';
import { tasksOf2025 } from '../../dialects/2025-11-25/dialect.ts';
import { immediateResponseKey } from '../../dialects/2025-11-25/names.ts';
import { clientCapabilitiesKey, serverInfoKey } from '../../dialects/2026-07-28/names.ts';
import { requestedTask } from '../../dialects/detection.ts';
import type { TaskMethodName, WireFault } from '../../dialects/dialect.ts';
import { isFailure, NotOffered } from '../../dialects/errors.ts';
import { internalError, invalidParams } from '../../dialects/json-rpc.ts';
import {
  createdMessage,
  nameIn,
  originalTasks,
  relatedToName,
  requestedTaskOf,
} from '../../dialects/sep-1686/dialect.ts';
import { taskKey } from '../../dialects/sep-1686/names.ts';
import type { RequestMethod } from '../../engine/handlers/tool.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { runtime } from '../../runtime/runtime.ts';
import { actorOf } from '../../task-methods/audit-notes.ts';
import { anonymous, type Bearer, type Caller } from '../../task-methods/caller.ts';
import { answerTo, idOfName, spendOn, topOf, visibleTree } from '../../task-methods/task-methods.ts';
import { listeningOf } from '../calls/call-log.ts';
import { exchangeOf } from '../calls/deliveries.ts';
import {
  type Naming,
  type OpenRequest,
  progressOf,
  RequestAborted,
  responsesOf,
  type SessionRequest,
} from '../calls/tool-call.ts';
import type { PlainClients, Received } from '../hand-over/plain-clients.ts';
import { taskResult } from '../sessions/session-connection.ts';
import type { Called, TaskServer } from '../task-server.ts';
import { immediateResponse } from './listings.ts';
import { applyForeignAnswer, type QuestionRef, RequestIds } from './request-ids.ts';
import { Streams } from './streams.ts';

/** What a transport reports about the request of a message. */
interface Extra {
  readonly request?: unknown;
  readonly authInfo?: never;
}

/** The credentials of the sender. Without an HTTP request, a message comes on a pipe from the parent process. */
function bearerOf(extra: Extra | undefined): Bearer {
  return extra?.request ? extra.authInfo : 'local';
}

/** What is recorded about a request until its answer is sent. */
interface Pending {
  /** The original params. The SDK removes unknown and malformed ones. */
  readonly sent?: JsonObject | undefined;
  /** The answer to send in place of the SDK's, which validated only a placeholder. */
  readonly exact?: JsonObject;
  /** Set if the answer lists the server's capabilities. */
  readonly handshake?: Handshake;
}

export class SdkAdapter {
  readonly taskServer: TaskServer;
  readonly #server: Server;
  /** Set if calls of plain clients are handed over. */
  readonly plainClients: PlainClients | undefined;
  /** The open requests, by their ids. */
  readonly #pending = new Map<unknown, Pending>();
  readonly #closed = new AbortController();
  /** Set on connect, before any request. */
  streams!: Streams;
  #passToSdk: NonNullable<Transport['onmessage']> = () => {};

  constructor(taskServer: TaskServer, server: Server, plainClients?: PlainClients) {
    this.taskServer = taskServer;
    this.#server = server;
    this.plainClients = plainClients;
    const connect = server.connect.bind(server);
    server.connect = async (transport: Transport) => {
      const streams = new Streams(taskServer, server, transport, this.#closed.signal);
      this.streams = streams;
      const send = transport.send.bind(transport);
      const ids = new RequestIds(() => transport.sessionId);
      transport.send = (message, options) =>
        streams.deliveries.written(message, send(ids.outgoing(this.#corrected(message)), options));
      await connect(transport);
      const { onmessage, onclose } = transport;
      if (onmessage) this.#passToSdk = onmessage;
      const foreignAnswer = (message: object, bearer: Bearer) => {
        const ref = ids.foreignQuestion('id' in message && !('method' in message) && message.id);
        return ref && this.#foreignAnswer(message, ref, bearer);
      };
      taskServer.sessions.set(transport, { connection: () => streams.connection(), foreignAnswer });
      transport.onmessage = (message, extra) => {
        const known = ids.incoming(message);
        if (!known) {
          void foreignAnswer(message, bearerOf(extra as Extra))?.catch(() => {});
          return;
        }
        onmessage?.(this.#received(known, extra as Extra), extra);
      };
      transport.onclose = () => {
        this.#closed.abort();
        streams.close();
        onclose?.();
      };
    };
  }

  // --- Requests -------------------------------------------------------------------------------------------

  /** Answers a request for a durable tool, resource or prompt; undefined if it is for another one. */
  call(method: RequestMethod, known: JsonObject, context: ServerContext): Promise<JsonObject> | undefined {
    const params = this.#pending.get(context.mcpReq.id)?.sent ?? known;
    const called = this.taskServer.called(method, params);
    const asks = asksForTask(params, context);
    const plainTool = method === 'tools/call' && !asks ? this.plainClients?.tool(params.name) : undefined;
    if (!called && !plainTool && !asks) return undefined;
    const caller = this.callerOf(context, method);
    const received: Received = { caller, context, streams: this.streams };
    if (plainTool) return this.faulting(context, () => this.plainClients!.call(plainTool, params, received));
    if (!called && !mustRefuse(caller, method, params, context)) return undefined;
    return this.faulting(context, async () => {
      // True if the tool is not durable or never becomes a task.
      const isNever = !called || called.tool.task === 'never';
      // A tool that never becomes a task ignores the request for one, unless that must be refused.
      const isIgnored = isNever && !mustRefuse(caller, method, params, context);
      const requested: TaskRequest = isIgnored ? {} : taskRequestOf(caller, method, params, context);
      if (requested.task && isNever)
        throw new NotOffered(`The tool ${params.name} cannot be called as a task.`);
      return this.#call(called!, params, received, requested);
    });
  }

  async #call(
    called: Called,
    params: JsonObject,
    received: Received,
    requested: TaskRequest,
  ): Promise<JsonObject> {
    const { task, ttl, named } = requested;
    const { caller, context } = received;
    const { mcpReq } = context;
    // The SDK sends no answer to an aborted request, so remove its entry here.
    mcpReq.signal.addEventListener('abort', () => this.#pending.delete(mcpReq.id), { once: true });
    // The caller, with support for a task if it requested one.
    const givenTo = task
      ? { ...caller, sender: { ...caller.sender, takesTasks: true, wantsTask: true } }
      : caller;
    const exchange = exchangeOf(context.http?.req);
    const started = exchange?.started;
    if (exchange) exchange.started = undefined;
    const listening = listeningOf(called, context);
    // A head runs before there is a task, but log messages are matched by the task's id: a call with a log has no head.
    const calling = this.taskServer.call(
      listening ? { ...called, head: undefined } : called,
      {
        inputResponses: responsesOf(context, params),
        requestState: 'requestState' in params ? params.requestState : mcpReq.requestState(),
        meta: mcpReq._meta,
        ...((task || ttl || caller.sender.takesTasksUnasked) && {
          task: { ttl: ttl?.ttl, session: this.streams.name },
        }),
        named,
        started,
        header: (name) => context.http?.req?.headers.get(name),
      },
      givenTo,
      {
        signal: mcpReq.signal,
        ...(named
          ? { ...this.#originalRequest(caller, context), ...progressOf(context, relatedToName(named.taskId)) }
          : !task && progressOf(context)),
        ...(!task && !named && this.plainClients?.handOverFor(called, received)),
        ...(!mcpReq.envelope && { inSession: this.#sessionRequest(context) }),
        ...(listening && { onTask: listening.onTask }),
      },
    );
    const reply = await calling.finally(() => listening?.end());
    if (isJsonObject(reply.task)) return this.#handedOver(called, reply, received);
    if (reply.resultType !== 'task') return reply;
    this.#note(mcpReq.id, { exact: reply });
    return { content: [] };
  }

  /** A request whose cancellation may arrive at another process. It is aborted as if the cancellation arrived here. */
  #sessionRequest({ mcpReq: { id: requestId, signal } }: ServerContext): SessionRequest {
    return {
      requestId,
      abort: async () => {
        if (signal.aborted) return;
        const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        this.#passToSdk({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
        await aborted;
      },
    };
  }

  /**
   * A request of SEP-1686: its caller is notified of the task immediately, and can be asked questions on its stream.
   */
  #originalRequest(caller: Caller, context: ServerContext): Pick<OpenRequest, 'gone' | 'onCreated'> {
    return {
      gone: this.#closed.signal,
      onCreated: async (tree) => {
        await context.mcpReq.notify(createdMessage(tree) as never);
        const connection = await this.streams.connection();
        return connection.follow(tree.root.id, caller).offer(this.streams.of(context));
      },
    };
  }

  /**
   * Answers a call in a session with its task and a text for the model. The connection reports the task from now on.
   * Not related to the hand-over to plain clients.
   */
  async #handedOver(called: Called, reply: JsonObject, received: Received): Promise<JsonObject> {
    const { tool, input } = called;
    const { caller, context } = received;
    const { mcpReq } = context;
    const immediately = await immediateResponse(tool, input);
    const _meta = immediately === undefined ? undefined : { [immediateResponseKey]: immediately };
    this.#note(mcpReq.id, { exact: { ...reply, ...(_meta && { _meta }) } });
    const { taskId } = reply.task as { taskId: string };
    const connection = await this.streams.connection();
    const follow = async () => {
      if (!this.#closed.signal.aborted) connection.follow(taskId, caller);
    };
    // After the answer: no notification may precede the task's id. The store may be closed by then.
    runtime.setImmediate(() => void follow().catch((error: Error) => this.#server.onerror?.(error)));
    return placeholders[tool.method];
  }

  callerOf(context: ServerContext, method: string): Caller {
    const { mcpReq, http } = context;
    const bearer: Bearer = http ? http.authInfo : 'local';
    const address = () => exchangeOf(http?.req)?.address;
    if (!mcpReq.envelope) return this.#sessionCaller(bearer, method, mcpReq._meta, address);
    const envelope = mcpReq.envelope as Readonly<Record<string, unknown>>;
    const caller = this.taskServer.caller(envelope[clientCapabilitiesKey], bearer, address);
    // In this revision only calls of tools may be answered with a task.
    const takesNone = method === 'resources/read' || method === 'prompts/get';
    return takesNone ? { ...caller, sender: { ...caller.sender, takesTasks: false } } : caller;
  }

  #sessionCaller(bearer: Bearer, method: string, meta: unknown, address?: Caller['address']): Caller {
    const opening = {
      protocolVersion: this.#server.getNegotiatedProtocolVersion(),
      capabilities: this.#server.getClientCapabilities(),
    };
    const request = { opening, session: this.streams.session, method, meta };
    return this.taskServer.sessionCaller(request, bearer, address);
  }

  /** Runs a method, and converts its errors into the caller's dialect. */
  async faulting<T>(context: ServerContext, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      // The SDK sends nothing for an aborted request.
      if (error instanceof RequestAborted) throw error;
      if (isFailure(error)) this.#server.onerror?.(error as Error);
      const dialect = context.mcpReq.envelope ? this.taskServer.dialect : tasksOf2025;
      throw new Fault(dialect.fault(error));
    }
  }

  // --- A connection of a session -------------------------------------------------------------------------

  /** Answers a task method in any dialect. `tasks/result` of 2025-11-25 waits for the task. */
  async answer(method: TaskMethodName, known: JsonObject, context: ServerContext): Promise<JsonObject> {
    const params = this.#pending.get(context.mcpReq.id)?.sent ?? known;
    const { requests } = await this.taskServer.served();
    const caller = this.callerOf(context, method);
    const isWaitedFor = method === 'tasks/result' && !caller.dialect.callerNamesTasks;
    if (isWaitedFor && caller.dialect.methods.includes(method)) {
      spendOn(method, caller);
      const waiting = {
        connection: await this.streams.connection(),
        channel: this.streams.of(context),
        signal: context.mcpReq.signal,
      };
      return taskResult(requests, caller, params, waiting);
    }
    const { result, tree } = await answerTo(method, requests, caller, params);
    // From now on the session is notified of the task.
    if (tree && tree.root.phase !== 'done' && !context.mcpReq.envelope)
      (await this.streams.connection()).follow(topOf(tree).id, caller);
    return result;
  }

  // --- Messages of the transport --------------------------------------------------------------------------

  /** Records an incoming message, and returns it as the SDK must receive it. */
  #received<M extends object>(message: M, extra: Extra | undefined): M {
    const bearer = bearerOf(extra);
    if (!('method' in message)) return message;
    if (message.method === 'notifications/cancelled' && 'params' in message && isJsonObject(message.params)) {
      this.#pending.delete(message.params.requestId);
      void this.#cancelled(message.params, bearer).catch(() => {});
    }
    if (!('id' in message)) return message;
    if (isHandshake(message.method))
      this.#note(message.id, { handshake: { method: message.method, bearer } });
    if (!('params' in message) || !isJsonObject(message.params)) return message;
    const { params } = message;
    this.#note(message.id, { sent: params });
    // Remove our request state: the SDK would pass it to the author's own check.
    const isOurs =
      message.method === 'tools/call' &&
      (this.taskServer.tool(params.name) ?? this.plainClients?.tool(params.name));
    if (!isOurs || params.requestState === undefined) return message;
    const { requestState: _, ...others } = params;
    return { ...message, params: others };
  }

  /** Applies an answer to a question that another process asked in this session. */
  async #foreignAnswer(message: object, ref: QuestionRef, bearer: Bearer): Promise<void> {
    const { requests } = await this.taskServer.served();
    const caller = this.#sessionCaller(bearer, 'tasks/result', undefined);
    await applyForeignAnswer(requests, caller, ref, message);
  }

  /** Cancels a request that another process may serve or, with SEP-1686, that came in another session. */
  async #cancelled({ requestId, _meta }: JsonObject, bearer: Bearer): Promise<void> {
    const { requests, calls } = await this.taskServer.served();
    const sender = this.#sessionCaller(bearer, 'notifications/cancelled', _meta);
    await calls.cancelled(sender, requestId);
    const name = nameIn(_meta);
    if (name === undefined || !this.taskServer.drafts.has('sep-1686')) return;
    const caller = { ...sender, dialect: originalTasks };
    const tree = await visibleTree(requests, caller, await idOfName(requests, caller, name));
    if (tree?.root.origin.named?.requestId === requestId)
      await requests.cancel(tree!.root.id, 'The client cancelled its request.', actorOf(caller));
  }

  /** Adds to what is recorded about a request. */
  #note(id: unknown, part: Pending): void {
    this.#pending.set(id, { ...this.#pending.get(id), ...part });
  }

  /** Returns an outgoing message as the client must receive it. */
  #corrected<M extends object>(message: M): M {
    if ('id' in message && 'error' in message) {
      this.#pending.delete(message.id);
      return withRightCode(message);
    }
    if (!('id' in message) || !('result' in message) || !isJsonObject(message.result)) return message;
    const { handshake, exact } = this.#pending.get(message.id) ?? {};
    const { _meta } = message.result;
    if (isJsonObject(_meta) && isJsonObject(_meta[serverInfoKey]))
      this.taskServer.serverInfo ??= _meta[serverInfoKey];
    this.#pending.delete(message.id);
    if (handshake) return { ...message, result: withLimits(message.result, handshake, this.taskServer) };
    if (!exact) return message;
    const metas = { ...(exact._meta as JsonObject | undefined), ...(_meta as JsonObject | undefined) };
    return { ...message, result: { ...exact, ...(Object.keys(metas).length > 0 && { _meta: metas }) } };
  }
}

/** The results that handlers return to the SDK, which validates them. `#corrected` replaces them by the task. */
const placeholders: Readonly<Record<RequestMethod, JsonObject>> = {
  'tools/call': { content: [] },
  'resources/read': { contents: [] },
  'prompts/get': { messages: [] },
};

// --- Errors ------------------------------------------------------------------------------------------------

/**
 * In sessions the SDK reports params that do not match its schemas as an internal error with the raw issues. This turns
 * it into "invalid params" with a readable message.
 */
function withRightCode<M extends object>(answer: M): M {
  if (!('error' in answer) || !isJsonObject(answer.error) || answer.error.code !== internalError)
    return answer;
  const issues = issuesIn(answer.error.message);
  if (!issues) return answer;
  const message = `Invalid params: ${issues.map(sentenceOf).join('; ')}.`;
  return { ...answer, error: { ...answer.error, code: invalidParams, message } };
}

/** The schema issues of a request in an error message. Messages from handlers have another form. */
function issuesIn(message: unknown): JsonObject[] | undefined {
  if (typeof message !== 'string' || !message.startsWith('[')) return undefined;
  try {
    const issues: unknown[] = JSON.parse(message);
    return issues.length > 0 && issues.every(isIssueOfParams) ? issues : undefined;
  } catch {
    return undefined;
  }
}

function isIssueOfParams(issue: unknown): issue is JsonObject {
  return isJsonObject(issue) && Array.isArray(issue.path) && issue.path[0] === 'params';
}

function sentenceOf({ path, message }: JsonObject): string {
  const field = (path as unknown[]).slice(1).join('.') || 'params';
  return `${field}: ${String(message)}`;
}

/** An error that the SDK sends as it is. */
export class Fault extends Error {
  constructor({ code, message, data }: WireFault) {
    super(message);
    Object.assign(this, { code, data });
  }
}

// --- Capabilities of the server ----------------------------------------------------------------------------

const limitsExtension = 'dev.holdfast/limits';

/** A request whose answer contains the server's capabilities. */
interface Handshake {
  readonly method: 'initialize' | 'server/discover';
  readonly bearer: Bearer;
}

function isHandshake(method: unknown): method is Handshake['method'] {
  return method === 'initialize' || method === 'server/discover';
}

/** The server's capabilities for this sender, with its limits. */
function withLimits(result: JsonObject, { method, bearer }: Handshake, taskServer: TaskServer): JsonObject {
  const { capabilities } = result;
  if (!isJsonObject(capabilities)) return result;
  const own = taskServer.ownerOf(bearer) === anonymous ? withoutList(capabilities) : capabilities;
  const limits = taskServer.limitsFor(bearer);
  if (!limits) return { ...result, capabilities: own };
  // The revisions before 2026-07-28 have no `extensions`.
  const key = method === 'initialize' ? 'experimental' : 'extensions';
  const others = isJsonObject(own[key]) ? own[key] : {};
  return { ...result, capabilities: { ...own, [key]: { ...others, [limitsExtension]: limits } } };
}

/** Removes `tasks/list` for anonymous callers, who would see each other's tasks. */
function withoutList(capabilities: JsonObject): JsonObject {
  if (!isJsonObject(capabilities.tasks)) return capabilities;
  const { list: _, ...tasks } = capabilities.tasks;
  return { ...capabilities, tasks };
}

// --- Requested tasks ---------------------------------------------------------------------------------------

/** What a request asks for about its task. */
interface TaskRequest {
  /** True if a caller of 2025-11-25 requests a task. */
  readonly task?: boolean;
  /** The ttl that was requested, in milliseconds, not validated. Can be set without `task` if the server decides. */
  readonly ttl?: { readonly ttl?: unknown };
  /** Set by callers of SEP-1686. */
  readonly named?: Naming;
}

function asksForTask({ task }: JsonObject, { mcpReq }: ServerContext): boolean {
  return !mcpReq.envelope && (task !== undefined || mcpReq._meta?.[taskKey] !== undefined);
}

/** Reads the task request in the caller's dialect. Later revisions have none: there the server decides. */
function taskRequestOf(
  { dialect, sender }: Caller,
  method: string,
  params: JsonObject,
  { mcpReq }: ServerContext,
): TaskRequest {
  if (mcpReq.envelope) return {};
  if (dialect.callerNamesTasks)
    return { named: { ...requestedTaskOf(mcpReq._meta as JsonObject, params), requestId: mcpReq.id } };
  const ttl = dialect.methods.length === 0 ? undefined : requestedTask(params);
  if (!ttl) return {};
  if (sender.takesTasksUnasked) return { ttl };
  return method === 'tools/call' ? { task: true, ttl } : {};
}

/** True if a request that asks for a task must be refused because the tool is not durable. */
function mustRefuse(caller: Caller, method: string, params: JsonObject, context: ServerContext): boolean {
  if (caller.dialect.callerNamesTasks) return params.task !== undefined;
  return taskRequestOf(caller, method, params, context).task === true;
}
