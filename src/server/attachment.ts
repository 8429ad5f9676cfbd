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
import type { DurableTool, RequestMethod } from '../engine/tool.ts';
import { anonymous, type Bearer, type Caller } from '../hosting/caller.ts';
import { actorOf } from '../hosting/recording.ts';
import { answerTo, spendOn, topOf, visible } from '../hosting/task-methods.ts';
import { idOfName } from '../hosting/task-names.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { runtime } from '../model/runtime.ts';
import type { TaskMethodName } from '../protocol/dialect.ts';
import { tasksOf2025 } from '../protocol/dialects/2025-11-25/dialect.ts';
import { immediateResponseKey } from '../protocol/dialects/2025-11-25/names.ts';
import { clientCapabilitiesKey, revision, serverInfoKey } from '../protocol/dialects/2026-07-28/names.ts';
import {
  createdMessage,
  nameIn,
  originalTasks,
  relatedToName,
} from '../protocol/dialects/sep-1686/dialect.ts';
import { isFailure, NotOffered } from '../protocol/errors.ts';
import { answeredElsewhere } from './answered-elsewhere.ts';
import { BegunCall } from './begun-calls.ts';
import type { Binding, Called } from './binding.ts';
import { listeningOf } from './call-log.ts';
import { responsesOf, withoutBadResponses } from './given-responses.ts';
import type { PlainClients } from './hand-over/plain-clients.ts';
import { introduced, isIntroduction, type Opening } from './introduction.ts';
import { addressOf } from './remote-address.ts';
import { type QuestionPlace, RequestIds } from './request-ids.ts';
import { Fault, withRightCode } from './sdk-errors.ts';
import { ShortCalls } from './short-calls.ts';
import { Streams } from './streams.ts';
import { taskResult } from './task-result.ts';
import { type OpenRequest, RequestAborted } from './tool-call.ts';
import { immediateResponse, progressOf } from './tool-listing.ts';
import { asksForTask, mustRefuse, type Wishes, wishesOf } from './wishes.ts';

/** What a transport tells of the request that a message came with. */
interface Extra {
  readonly request?: unknown;
  readonly authInfo?: never;
}

/** Whoever sends something over a pipe started this process. */
function bearerOf(extra: Extra | undefined): Bearer {
  return extra?.request ? extra.authInfo : 'local';
}

export class Attachment {
  readonly binding: Binding;
  readonly #server: Server;
  /** If calls of clients without tasks are handed over. */
  readonly plainClients: PlainClients | undefined;
  /** Answers that leave as they are, by the id of their request. */
  readonly #exact = new Map<unknown, JsonObject>();
  /** States that calls came back with, by the id of their request. */
  readonly #states = new Map<unknown, unknown>();
  /** What the SDK takes out of params in which it does not know it, by the id of their request. */
  readonly #taken = new Map<unknown, JsonObject>();
  /** Requests for what this server has, by their id. */
  readonly #openings = new Map<unknown, Opening>();
  readonly #closed = new AbortController();
  readonly #short: ShortCalls;
  #streams: Streams | undefined;

  constructor(binding: Binding, server: Server, plainClients?: PlainClients) {
    this.binding = binding;
    this.#server = server;
    this.plainClients = plainClients;
    this.#short = new ShortCalls(binding);
    const connect = server.connect.bind(server);
    server.connect = async (transport: Transport) => {
      const streams = new Streams(binding, server, transport, this.#closed.signal);
      this.#streams = streams;
      binding.connections.set(transport, () => streams.connection());
      const send = transport.send.bind(transport);
      const ids = new RequestIds(() => transport.sessionId);
      transport.send = (message, options) =>
        streams.deliveries.written(message, send(ids.outgoing(this.#corrected(message)), options));
      await connect(transport);
      const { onmessage, onclose } = transport;
      const strangeAnswer = (message: object, bearer: Bearer) => {
        const place = ids.placeElsewhere('id' in message && !('method' in message) && message.id);
        return place && this.#strangeAnswer(message, place, bearer);
      };
      binding.strangeAnswers.set(transport, strangeAnswer);
      transport.onmessage = (message, extra) => {
        const known = ids.incoming(message);
        if (!known) {
          void strangeAnswer(message, bearerOf(extra as Extra))?.catch(() => {});
          return;
        }
        this.#short.answer(known, {
          caller: () => this.#plainCaller(extra as Extra),
          send: (answer) => transport.send(answer as never),
          goOn: () => onmessage?.(this.#received(known, extra as Extra), extra),
        });
      };
      transport.onclose = () => {
        this.#closed.abort();
        this.#short.close();
        streams.close();
        onclose?.();
      };
    };
  }

  // --- Requests -------------------------------------------------------------------------------------------

  /** A call of a tool, or a request for a resource or prompt; undefined if it is for none of ours. */
  call(method: RequestMethod, known: JsonObject, context: ServerContext): Promise<JsonObject> | undefined {
    const params = this.#asSent(known, context);
    const called = this.binding.called(method, params);
    const asks = asksForTask(params, context);
    const plainTool = method === 'tools/call' && !asks ? this.plainClients?.tool(params.name) : undefined;
    if (!called && !plainTool && !asks) return undefined;
    const caller = this.callerOf(context, method);
    if (plainTool)
      return this.faulting(context, () =>
        this.plainClients!.call(plainTool, params.arguments, caller, context, this.streams),
      );
    if (!called && !mustRefuse(caller, method, params, context)) return undefined;
    return this.faulting(context, async () => {
      const isNever = !called || called.tool.task === 'never';
      // Of what never becomes a task the wishes are not even read, unless they are a mistake in any case.
      const isPassedOver = isNever && !mustRefuse(caller, method, params, context);
      const wishes: Wishes = isPassedOver ? {} : wishesOf(caller, method, params, context);
      if (wishes.task && isNever) throw new NotOffered(`The tool ${params.name} cannot be called as a task.`);
      return this.#call(called!, caller, wishes, context);
    });
  }

  async #call(
    called: Called,
    caller: Caller,
    { task, ttl, named }: Wishes,
    context: ServerContext,
  ): Promise<JsonObject> {
    const { tool, input, head, calledAs } = called;
    const { mcpReq } = context;
    const requestState = this.#states.has(mcpReq.id) ? this.#states.get(mcpReq.id) : mcpReq.requestState();
    // Of a request that is aborted the SDK sends no answer that would take these along.
    mcpReq.signal.addEventListener('abort', () => this.#forget(mcpReq.id), { once: true });
    const givenTo = task
      ? { ...caller, sender: { ...caller.sender, takesTasks: true, wantsTask: true } }
      : caller;
    const listening = listeningOf(called, context);
    const calling = this.binding.call(
      tool,
      {
        arguments: input,
        calledAs,
        inputResponses: responsesOf(context),
        requestState,
        meta: mcpReq._meta,
        ...((task || ttl || caller.sender.takesTasksUnasked) && {
          task: { ttl: ttl?.ttl, session: this.streams.name },
        }),
        ...(named && { named }),
        head: listening ? undefined : head,
        headed: this.#short.taken(mcpReq.id) ?? BegunCall.taken(context.http?.req),
        header: (name) => context.http?.req?.headers.get(name),
      },
      givenTo,
      {
        signal: mcpReq.signal,
        ...(named
          ? { ...this.#originalRequest(caller, context), ...progressOf(context, relatedToName(named.taskId)) }
          : !task && progressOf(context)),
        ...(!task && !named && this.plainClients?.handingOver(called, caller, context, this.streams)),
        ...(listening && { onTask: listening.onTask }),
      },
    );
    const reply = await calling.finally(() => listening?.end());
    if (isJsonObject(reply.task)) return this.#handedOver(tool, input, reply, caller, context);
    if (reply.resultType !== 'task') return reply;
    this.#exact.set(mcpReq.id, reply);
    return { content: [] };
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
  async #handedOver(
    tool: DurableTool,
    input: unknown,
    reply: JsonObject,
    caller: Caller,
    context: ServerContext,
  ): Promise<JsonObject> {
    const { mcpReq } = context;
    const immediately = await immediateResponse(tool, input);
    const _meta = immediately === undefined ? undefined : { [immediateResponseKey]: immediately };
    this.#exact.set(mcpReq.id, { ...reply, ...(_meta && { _meta }) });
    const { taskId } = reply.task as { taskId: string };
    const connection = await this.streams.connection();
    const follow = async () => {
      if (!this.#closed.signal.aborted) connection.follow(taskId, caller);
    };
    // Not before the answer is out: nobody may hear of a task whose id it does not know. By then the store may be closed.
    runtime.setImmediate(() => void follow().catch((error: Error) => this.#server.onerror?.(error)));
    return placeholders[tool.method];
  }

  /** Requests come only where there is a connection. */
  get streams(): Streams {
    return this.#streams!;
  }

  callerOf(context: ServerContext, method: string): Caller {
    const { mcpReq, http } = context;
    const bearer: Bearer = http ? http.authInfo : 'local';
    const address = () => addressOf(http?.req);
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

  /** Whoever calls in an open session; later requests say themselves who they are from. */
  #plainCaller(extra: Extra | undefined): Caller | undefined {
    const version = this.#server.getNegotiatedProtocolVersion();
    if (version === undefined || version === revision) return undefined;
    const address = () => addressOf(extra?.request as object | undefined);
    return this.#sessionCaller(bearerOf(extra), 'tools/call', undefined, address);
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
    const params = this.#asSent(known, context);
    const { requests } = await this.binding.served();
    const caller = this.callerOf(context, method);
    const isWaitedFor = method === 'tasks/result' && !caller.dialect.requestorNamesTasks;
    if (isWaitedFor && caller.dialect.methods.includes(method)) {
      await spendOn(method, caller);
      const waiting = {
        connection: await this.streams.connection(),
        channel: this.streams.of(context),
        signal: context.mcpReq.signal,
      };
      return taskResult(requests, caller, params, waiting);
    }
    const { result, tree } = await answerTo(method, requests, caller, {
      ...params,
      inputResponses: 'inputResponses' in params ? params.inputResponses : responsesOf(context),
    });
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
      this.#taken.delete(message.params.requestId);
      this.#short.cancel(message.params.requestId);
      void this.#cancelled(message.params, bearer).catch(() => {});
    }
    if (!('id' in message)) return message;
    if (isIntroduction(message.method)) this.#openings.set(message.id, this.#opening(message.method, bearer));
    this.#noteTaken(message);
    const sent = withoutBadResponses(message);
    return sent.method === 'tools/call' ? this.#withoutState(sent) : sent;
  }

  #opening(method: Opening['method'], bearer: Bearer): Opening {
    const isAnonymous = this.binding.ownerOf(bearer) === anonymous;
    return { method, isAnonymous, limits: this.binding.limitsToldTo(bearer) };
  }

  /** An answer to a question that another process may have put in this session. */
  async #strangeAnswer(message: object, place: QuestionPlace, bearer: Bearer): Promise<void> {
    const { requests } = await this.binding.served();
    const caller = this.#sessionCaller(bearer, 'tasks/result', undefined);
    await answeredElsewhere(requests, caller, place, message);
  }

  #noteTaken({ id, method, params }: { id: unknown; method: unknown; params?: unknown }): void {
    const key = takenOut.get(method);
    if (key === undefined || !isJsonObject(params) || params[key] === undefined) return;
    this.#taken.set(id, { [key]: params[key] });
  }

  /** The params with what the SDK took out of them. */
  #asSent(params: JsonObject, { mcpReq }: ServerContext): JsonObject {
    const taken = this.#taken.get(mcpReq.id);
    this.#taken.delete(mcpReq.id);
    return taken ? { ...params, ...taken } : params;
  }

  /** A request of SEP-1686 is cancelled that may have been made over another connection, or before a restart. */
  async #cancelled({ requestId, _meta }: JsonObject, bearer: Bearer): Promise<void> {
    const name = nameIn(_meta);
    if (name === undefined || !this.binding.drafts.has('sep-1686')) return;
    const { requests } = await this.binding.served();
    const caller = {
      ...this.#sessionCaller(bearer, 'notifications/cancelled', _meta),
      dialect: originalTasks,
    };
    const tree = await visible(requests, caller, await idOfName(requests, caller, name));
    if (tree?.root.origin.named?.requestId === requestId)
      await requests.cancel(tree!.root.id, 'The client cancelled its request.', actorOf(caller));
  }

  /** Our states are none of the author's, whose own check the SDK would put them to first. */
  #withoutState<M extends { id: unknown }>(message: M): M {
    if (!('params' in message) || !isJsonObject(message.params)) return message;
    const { requestState, ...params } = message.params;
    const isOurs = this.binding.tool(params.name) ?? this.plainClients?.tool(params.name);
    if (requestState === undefined || !isOurs) return message;
    this.#states.set(message.id, requestState);
    return { ...message, params };
  }

  #forget(id: unknown): void {
    this.#short.giveUp(id);
    this.#exact.delete(id);
    this.#states.delete(id);
    this.#taken.delete(id);
    this.#openings.delete(id);
  }

  #corrected<M extends object>(message: M): M {
    if ('id' in message && 'error' in message) {
      this.#forget(message.id);
      return withRightCode(message);
    }
    if (!('id' in message) || !('result' in message) || !isJsonObject(message.result)) return message;
    const opening = this.#openings.get(message.id);
    const { _meta } = message.result;
    if (isJsonObject(_meta) && isJsonObject(_meta[serverInfoKey]))
      this.binding.serverInfo ??= _meta[serverInfoKey];
    const exact = this.#exact.get(message.id);
    this.#forget(message.id);
    if (opening) return { ...message, result: introduced(message.result, opening) };
    if (!exact) return message;
    const metas = { ...(exact._meta as JsonObject | undefined), ...(_meta as JsonObject | undefined) };
    return { ...message, result: { ...exact, ...(Object.keys(metas).length > 0 && { _meta: metas }) } };
  }
}

/** What the SDK takes out of the params of these requests: drafts give it a meaning that it does not know. */
const takenOut: ReadonlyMap<unknown, string> = new Map([
  ['resources/read', 'task'],
  ['prompts/get', 'task'],
  ['tasks/continue', 'inputResponses'],
]);

/** What the SDK checks in place of a task. */
const placeholders: Readonly<Record<RequestMethod, JsonObject>> = {
  'tools/call': { content: [] },
  'resources/read': { contents: [] },
  'prompts/get': { messages: [] },
};
