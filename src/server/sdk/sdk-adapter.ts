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
import { answerTo, idOfName, spendOn, topOf, visible } from '../../task-methods/task-methods.ts';
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
import { answeredElsewhere, type QuestionPlace, RequestIds } from './request-ids.ts';
import { Streams } from './streams.ts';

/** What a transport tells of the request that a message came with. */
interface Extra {
  readonly request?: unknown;
  readonly authInfo?: never;
}

/** Whoever sends something over a pipe started this process. */
function bearerOf(extra: Extra | undefined): Bearer {
  return extra?.request ? extra.authInfo : 'local';
}

interface Pending {
  /** The params as they came: the SDK takes out of them what it does not know, or finds malformed. */
  readonly sent?: JsonObject | undefined;
  /** The answer, which leaves as it is. */
  readonly exact?: JsonObject;
  /** It asks what this server has. */
  readonly opening?: Opening;
}

export class SdkAdapter {
  readonly binding: TaskServer;
  readonly #server: Server;
  /** If calls of clients without tasks are handed over. */
  readonly plainClients: PlainClients | undefined;
  /** What has to be known of requests until they are answered, by their ids. */
  readonly #pending = new Map<unknown, Pending>();
  readonly #closed = new AbortController();
  /** Requests come only where there is a connection. */
  streams!: Streams;
  #tellSdk: NonNullable<Transport['onmessage']> = () => {};

  constructor(binding: TaskServer, server: Server, plainClients?: PlainClients) {
    this.binding = binding;
    this.#server = server;
    this.plainClients = plainClients;
    const connect = server.connect.bind(server);
    server.connect = async (transport: Transport) => {
      const streams = new Streams(binding, server, transport, this.#closed.signal);
      this.streams = streams;
      const send = transport.send.bind(transport);
      const ids = new RequestIds(() => transport.sessionId);
      transport.send = (message, options) =>
        streams.deliveries.written(message, send(ids.outgoing(this.#corrected(message)), options));
      await connect(transport);
      const { onmessage, onclose } = transport;
      if (onmessage) this.#tellSdk = onmessage;
      const strangeAnswer = (message: object, bearer: Bearer) => {
        const place = ids.placeElsewhere('id' in message && !('method' in message) && message.id);
        return place && this.#strangeAnswer(message, place, bearer);
      };
      binding.sessions.set(transport, { connection: () => streams.connection(), strangeAnswer });
      transport.onmessage = (message, extra) => {
        const known = ids.incoming(message);
        if (!known) {
          void strangeAnswer(message, bearerOf(extra as Extra))?.catch(() => {});
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

  /** A call of a tool, or a request for a resource or prompt; undefined if it is for none of ours. */
  call(method: RequestMethod, known: JsonObject, context: ServerContext): Promise<JsonObject> | undefined {
    const params = this.#pending.get(context.mcpReq.id)?.sent ?? known;
    const called = this.binding.called(method, params);
    const asks = asksForTask(params, context);
    const plainTool = method === 'tools/call' && !asks ? this.plainClients?.tool(params.name) : undefined;
    if (!called && !plainTool && !asks) return undefined;
    const caller = this.callerOf(context, method);
    const received: Received = { caller, context, streams: this.streams };
    if (plainTool) return this.faulting(context, () => this.plainClients!.call(plainTool, params, received));
    if (!called && !mustRefuse(caller, method, params, context)) return undefined;
    return this.faulting(context, async () => {
      const isNever = !called || called.tool.task === 'never';
      // Of what never becomes a task the wishes are not even read, unless they are a mistake in any case.
      const isPassedOver = isNever && !mustRefuse(caller, method, params, context);
      const wishes: Wishes = isPassedOver ? {} : wishesOf(caller, method, params, context);
      if (wishes.task && isNever) throw new NotOffered(`The tool ${params.name} cannot be called as a task.`);
      return this.#call(called!, params, received, wishes);
    });
  }

  async #call(called: Called, params: JsonObject, received: Received, wishes: Wishes): Promise<JsonObject> {
    const { task, ttl, named } = wishes;
    const { caller, context } = received;
    const { mcpReq } = context;
    // Of a request that is aborted the SDK sends no answer that would take these along.
    mcpReq.signal.addEventListener('abort', () => this.#pending.delete(mcpReq.id), { once: true });
    const givenTo = task
      ? { ...caller, sender: { ...caller.sender, takesTasks: true, wantsTask: true } }
      : caller;
    const exchange = exchangeOf(context.http?.req);
    const begun = exchange?.begun;
    if (exchange) exchange.begun = undefined;
    const listening = listeningOf(called, context);
    const calling = this.binding.call(
      listening ? { ...called, head: undefined } : called,
      {
        inputResponses: responsesOf(context, params),
        requestState: 'requestState' in params ? params.requestState : mcpReq.requestState(),
        meta: mcpReq._meta,
        ...((task || ttl || caller.sender.takesTasksUnasked) && {
          task: { ttl: ttl?.ttl, session: this.streams.name },
        }),
        named,
        begun,
        header: (name) => context.http?.req?.headers.get(name),
      },
      givenTo,
      {
        signal: mcpReq.signal,
        ...(named
          ? { ...this.#originalRequest(caller, context), ...progressOf(context, relatedToName(named.taskId)) }
          : !task && progressOf(context)),
        ...(!task && !named && this.plainClients?.handingOver(called, received)),
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

  /** A request that another process may hear to be cancelled: the SDK aborts it as if it had been told here. */
  #sessionRequest({ mcpReq: { id: requestId, signal } }: ServerContext): SessionRequest {
    return {
      requestId,
      abort: async () => {
        if (signal.aborted) return;
        const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        this.#tellSdk({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
        await aborted;
      },
    };
  }

  /** A request of SEP-1686: its caller hears of the task at once, and can be asked on its stream while it waits. */
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

  /** In a session: what a model may be told meanwhile goes along, and the connection hears of the task from now on. */
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
    // Not before the answer is out: nobody may hear of a task whose id it does not know. By then the store may be closed.
    runtime.setImmediate(() => void follow().catch((error: Error) => this.#server.onerror?.(error)));
    return placeholders[tool.method];
  }

  callerOf(context: ServerContext, method: string): Caller {
    const { mcpReq, http } = context;
    const bearer: Bearer = http ? http.authInfo : 'local';
    const address = () => exchangeOf(http?.req)?.address;
    if (!mcpReq.envelope) return this.#sessionCaller(bearer, method, mcpReq._meta, address);
    const envelope = mcpReq.envelope as Readonly<Record<string, unknown>>;
    const caller = this.binding.caller(envelope[clientCapabilitiesKey], bearer, address);
    // Of this revision only calls of tools may be answered with a task.
    const takesNone = method === 'resources/read' || method === 'prompts/get';
    return takesNone ? { ...caller, sender: { ...caller.sender, takesTasks: false } } : caller;
  }

  #sessionCaller(bearer: Bearer, method: string, meta: unknown, address?: Caller['address']): Caller {
    const opening = {
      protocolVersion: this.#server.getNegotiatedProtocolVersion(),
      capabilities: this.#server.getClientCapabilities(),
    };
    const request = { opening, session: this.streams.session, method, meta };
    return this.binding.sessionCaller(request, bearer, address);
  }

  /** Runs a method; what goes wrong is said in the words of the caller's dialect. */
  async faulting<T>(context: ServerContext, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      // Nobody is there to be told; the SDK sends nothing for a request that was aborted.
      if (error instanceof RequestAborted) throw error;
      if (isFailure(error)) this.#server.onerror?.(error as Error);
      const dialect = context.mcpReq.envelope ? this.binding.dialect : tasksOf2025;
      throw new Fault(dialect.fault(error));
    }
  }

  // --- A connection of a session -------------------------------------------------------------------------

  /** A method about tasks, whichever dialect it is asked in. */
  async answer(method: TaskMethodName, known: JsonObject, context: ServerContext): Promise<JsonObject> {
    const params = this.#pending.get(context.mcpReq.id)?.sent ?? known;
    const { requests } = await this.binding.served();
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
    // Whoever asks about a task in a session is told of it from then on.
    if (tree && tree.root.phase !== 'done' && !context.mcpReq.envelope)
      (await this.streams.connection()).follow(topOf(tree).id, caller);
    return result;
  }

  // --- What passes by -------------------------------------------------------------------------------------

  #received<M extends object>(message: M, extra: Extra | undefined): M {
    const bearer = bearerOf(extra);
    if (!('method' in message)) return message;
    if (message.method === 'notifications/cancelled' && 'params' in message && isJsonObject(message.params)) {
      this.#pending.delete(message.params.requestId);
      void this.#cancelled(message.params, bearer).catch(() => {});
    }
    if (!('id' in message)) return message;
    if (isIntroduction(message.method))
      this.#note(message.id, { opening: { method: message.method, bearer } });
    if (!('params' in message) || !isJsonObject(message.params)) return message;
    const { params } = message;
    this.#note(message.id, { sent: params });
    // Our states are none of the author's, whose own check the SDK would put them to first.
    const isOurs =
      message.method === 'tools/call' &&
      (this.binding.tool(params.name) ?? this.plainClients?.tool(params.name));
    if (!isOurs || params.requestState === undefined) return message;
    const { requestState: _, ...others } = params;
    return { ...message, params: others };
  }

  /** An answer to a question that another process may have put in this session. */
  async #strangeAnswer(message: object, place: QuestionPlace, bearer: Bearer): Promise<void> {
    const { requests } = await this.binding.served();
    const caller = this.#sessionCaller(bearer, 'tasks/result', undefined);
    await answeredElsewhere(requests, caller, place, message);
  }

  /** A request is cancelled that may have been made at another process or, if it is one of SEP-1686, in another session. */
  async #cancelled({ requestId, _meta }: JsonObject, bearer: Bearer): Promise<void> {
    const { requests, calls } = await this.binding.served();
    const sender = this.#sessionCaller(bearer, 'notifications/cancelled', _meta);
    await calls.cancelled(sender, requestId);
    const name = nameIn(_meta);
    if (name === undefined || !this.binding.drafts.has('sep-1686')) return;
    const caller = { ...sender, dialect: originalTasks };
    const tree = await visible(requests, caller, await idOfName(requests, caller, name));
    if (tree?.root.origin.named?.requestId === requestId)
      await requests.cancel(tree!.root.id, 'The client cancelled its request.', actorOf(caller));
  }

  #note(id: unknown, part: Pending): void {
    this.#pending.set(id, { ...this.#pending.get(id), ...part });
  }

  #corrected<M extends object>(message: M): M {
    if ('id' in message && 'error' in message) {
      this.#pending.delete(message.id);
      return withRightCode(message);
    }
    if (!('id' in message) || !('result' in message) || !isJsonObject(message.result)) return message;
    const { opening, exact } = this.#pending.get(message.id) ?? {};
    const { _meta } = message.result;
    if (isJsonObject(_meta) && isJsonObject(_meta[serverInfoKey]))
      this.binding.serverInfo ??= _meta[serverInfoKey];
    this.#pending.delete(message.id);
    if (opening) return { ...message, result: introduced(message.result, opening, this.binding) };
    if (!exact) return message;
    const metas = { ...(exact._meta as JsonObject | undefined), ...(_meta as JsonObject | undefined) };
    return { ...message, result: { ...exact, ...(Object.keys(metas).length > 0 && { _meta: metas }) } };
  }
}

/** What the SDK checks in place of a task. */
const placeholders: Readonly<Record<RequestMethod, JsonObject>> = {
  'tools/call': { content: [] },
  'resources/read': { contents: [] },
  'prompts/get': { messages: [] },
};

// --- Errors ------------------------------------------------------------------------------------------------

/**
 * In sessions the SDK reports params that do not fit its schemas as an internal error, with the raw issues. This makes
 * them invalid params, in a sentence.
 */
function withRightCode<M extends object>(answer: M): M {
  if (!('error' in answer) || !isJsonObject(answer.error) || answer.error.code !== internalError)
    return answer;
  const issues = issuesIn(answer.error.message);
  if (!issues) return answer;
  const message = `Invalid params: ${issues.map(sentenceOf).join('; ')}.`;
  return { ...answer, error: { ...answer.error, code: invalidParams, message } };
}

/** Issues of a request that was looked at as a whole. What a handler says of its own values does not begin so. */
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
  const place = (path as unknown[]).slice(1).join('..') || 'params';
  return `${place}: ${String(message)}`;
}

/** An error as the SDK puts it on the wire. */
export class Fault extends Error {
  constructor({ code, message, data }: WireFault) {
    super(message);
    Object.assign(this, { code, data });
  }
}

// --- What a server says of itself --------------------------------------------------------------------------

const limitsExtension = 'dev.holdfast/limits';

/** A request for an introduction. */
interface Opening {
  readonly method: 'initialize' | 'server/discover';
  readonly bearer: Bearer;
}

function isIntroduction(method: unknown): method is Opening['method'] {
  return method === 'initialize' || method === 'server/discover';
}

function introduced(result: JsonObject, { method, bearer }: Opening, binding: TaskServer): JsonObject {
  const { capabilities } = result;
  if (!isJsonObject(capabilities)) return result;
  const own = binding.ownerOf(bearer) === anonymous ? withoutList(capabilities) : capabilities;
  const limits = binding.limitsToldTo(bearer);
  if (!limits) return { ...result, capabilities: own };
  // The older revision has no place for extensions.
  const place = method === 'initialize' ? 'experimental' : 'extensions';
  const others = isJsonObject(own[place]) ? own[place] : {};
  return { ...result, capabilities: { ...own, [place]: { ...others, [limitsExtension]: limits } } };
}

/** Callers that cannot be told apart would see each other's tasks in a list. */
function withoutList(capabilities: JsonObject): JsonObject {
  if (!isJsonObject(capabilities.tasks)) return capabilities;
  const { list: _, ...tasks } = capabilities.tasks;
  return { ...capabilities, tasks };
}

// --- Requested tasks ---------------------------------------------------------------------------------------

interface Wishes {
  /** As a caller of 2025-11-25 asks for it. */
  readonly task?: boolean;
  readonly ttl?: { readonly ttl?: unknown };
  /** As a caller of SEP-1686 does. */
  readonly named?: Naming;
}

function asksForTask({ task }: JsonObject, { mcpReq }: ServerContext): boolean {
  return !mcpReq.envelope && (task !== undefined || mcpReq._meta?.[taskKey] !== undefined);
}

/** In the words of its dialect. Later requests have no wishes: there the server decides. */
function wishesOf(
  { dialect, sender }: Caller,
  method: string,
  params: JsonObject,
  { mcpReq }: ServerContext,
): Wishes {
  if (mcpReq.envelope) return {};
  if (dialect.callerNamesTasks)
    return { named: { ...requestedTaskOf(mcpReq._meta as JsonObject, params), requestId: mcpReq.id } };
  const ttl = dialect.methods.length === 0 ? undefined : requestedTask(params);
  if (!ttl) return {};
  if (sender.takesTasksUnasked) return { ttl };
  return method === 'tools/call' ? { task: true, ttl } : {};
}

/** May a request for what is not durable not even be carried out as if it had no wishes? */
function mustRefuse(caller: Caller, method: string, params: JsonObject, context: ServerContext): boolean {
  if (caller.dialect.callerNamesTasks) return params.task !== undefined;
  return wishesOf(caller, method, params, context).task === true;
}
