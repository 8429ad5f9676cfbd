/**
 * The fast path answers task methods, calls that become a task immediately, and short gateway calls. It does so without
 * creating an SDK server. It takes only fully valid requests. The SDK answers all others, and sends the refusals. Both
 * paths call the same functions.
 */
import { type AuthInfo, classifyInboundRequest } from '@modelcontextprotocol/server';
import {
  clientCapabilitiesKey,
  idempotencyKey,
  logLevelKey,
  missingCapability,
  revision,
  serverInfoKey,
} from '../../dialects/2026-07-28/names.ts';
import type { Dialect, Sender } from '../../dialects/dialect.ts';
import { isFailure, OverLimit } from '../../dialects/errors.ts';
import { toJsonSchema } from '../../engine/handlers/schema.ts';
import type { DurableTool } from '../../engine/handlers/tool.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import type { Caller } from '../../task-methods/caller.ts';
import { answerTo, isTaskMethod } from '../../task-methods/task-methods.ts';
import { exchangeOf } from '../calls/deliveries.ts';
import { type MayJoin, RequestAborted, type StartedCall } from '../calls/tool-call.ts';
import type { ToolCalls } from '../calls/tool-calls.ts';
import type { TaskServer } from '../task-server.ts';

/** A POST request with a parsed body, from either HTTP interface. */
export interface Posted {
  readonly body: unknown;
  readonly header: (name: string) => string | null | undefined;
  readonly authInfo: AuthInfo | undefined;
  /** Returns a signal that fires when the connection is done with the request. Created on demand. */
  readonly signal: () => AbortSignal;
  /** Returns the request for the SDK, without its body. Created on demand. */
  readonly request: () => globalThis.Request;
  /** The client's address. Web requests do not contain it. */
  readonly address?: (() => string | undefined) | undefined;
}

/** An HTTP response with a JSON-RPC message. */
export interface FastAnswer {
  readonly status: number;
  /** The message as JSON. */
  readonly text: string;
  /** When the client may try again. */
  readonly retryAfterMs?: number | undefined;
}

/** A valid JSON-RPC request. The web request is `globalThis.Request`. */
interface Request {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
  readonly meta: JsonObject;
  readonly sender: Sender;
}

/** Carries out a request and returns the JSON text of the result. */
type Act = () => Promise<string>;

/** Lets the SDK answer a request. */
type Sdk = (request: globalThis.Request) => Promise<Response>;

type CalledWithHead = Parameters<ToolCalls['begin']>[0];

/** Clients send the same metadata in every request, so valid metadata is cached. At this many, the cache is emptied. */
const maxCachedMetas = 1_000;
/** In characters. Well-behaved clients send much less metadata; longer metadata is not cached. */
const maxMetaLength = 4_096;

export class FastPath {
  readonly #taskServer: TaskServer;
  readonly #onError: (error: Error) => void;
  /** Senders by their valid metadata. */
  readonly #senders = new Map<string, Sender>();
  /** Tools whose calls become tasks immediately. Not related to the hand-over to plain clients. */
  readonly #handsOver: ReadonlySet<DurableTool>;

  constructor(taskServer: TaskServer, onError: (error: Error) => void) {
    this.#taskServer = taskServer;
    this.#onError = onError;
    this.#handsOver = new Set([...taskServer.tools].filter(handsOverAtOnce));
  }

  /** Undefined if the SDK has to answer. */
  answer(posted: Posted, sdk: Sdk): Promise<FastAnswer | Response> | undefined {
    const request = this.#validated(posted);
    if (!request) return undefined;
    const caller = this.#taskServer.callerLike(request.sender, posted.authInfo, posted.address);
    const act = this.#actFor(request, caller, posted);
    if (act) return this.#respond(request.id, act);
    const called = this.#calledWithHead(request, caller);
    return called && this.#begin(request.id, called, caller, posted, sdk);
  }

  /** A call with a head, which starts before there is a task, unless the call becomes a task immediately. */
  #calledWithHead({ method, params, meta }: Request, { sender }: Caller): CalledWithHead | undefined {
    // The server info, which each answer contains, is known only from the first answer of the SDK.
    if (method !== 'tools/call' || !this.#taskServer.serverInfo || !isPlainCall(params)) return undefined;
    // The SDK sends notifications during a call; calls with a key become tasks.
    if ([meta.progressToken, meta[idempotencyKey], meta[logLevelKey]].some((it) => it !== undefined))
      return undefined;
    const { tool, input, head } = this.#taskServer.called(method, params) ?? {};
    if (!tool || !head || tool.before || tool.task === 'required') return undefined;
    return tool.task === 'always' && sender.takesTasks ? undefined : { tool, input, head };
  }

  /** Starts the call, and answers it if the outcome is plain text; otherwise the SDK continues the call. */
  async #begin(
    id: string | number,
    called: CalledWithHead,
    caller: Caller,
    { signal, request }: Posted,
    sdk: Sdk,
  ): Promise<FastAnswer | Response> {
    let started: StartedCall | MayJoin;
    try {
      const { calls } = await this.#taskServer.served();
      started = await calls.begin(called, caller, signal());
    } catch (error) {
      return refusedAnswer(this.#taskServer.dialect, id, error, this.#onError);
    }
    if ('outcome' in started && isOfText(started.outcome))
      return { status: 200, text: answered(id, this.#text(started.outcome.value)) };
    const continuing = request();
    const exchange = exchangeOf(continuing)!;
    exchange.started = started;
    try {
      return await sdk(continuing);
    } finally {
      // Still set if the SDK did not continue the call.
      if (exchange.started && 'abandon' in exchange.started) exchange.started.abandon();
    }
  }

  async #respond(id: string | number, act: Act): Promise<FastAnswer> {
    try {
      return { status: 200, text: answered(id, await act()) };
    } catch (error) {
      if (error instanceof RequestAborted) throw error;
      return refusedAnswer(this.#taskServer.dialect, id, error, this.#onError);
    }
  }

  #validated({ body, header }: Posted): Request | undefined {
    if (!isJsonObject(body) || body.jsonrpc !== '2.0') return undefined;
    const { id, method, params } = body;
    // The cache covers only the metadata, so check the rest of every request. Exactly these 4 fields are allowed.
    if (Object.keys(body).length !== 4 || typeof method !== 'string') return undefined;
    if (typeof id !== 'string' && !isWholeNumber(id)) return undefined;
    const isOfTask = isTaskMethod(method) && this.#taskServer.dialect.methods.includes(method);
    if (method !== 'tools/call' && !isOfTask) return undefined;
    if (!isJsonObject(params) || !isJsonObject(params._meta)) return undefined;
    if (header('mcp-protocol-version') !== revision || header('mcp-method') !== method) return undefined;
    const name = method === 'tools/call' ? params.name : params.taskId;
    if (typeof name !== 'string' || header('mcp-name') !== name) return undefined;
    const sender = this.#senderOf(params._meta, body);
    return sender && { id, method, params, meta: params._meta, sender };
  }

  /** The sender with this metadata; undefined if the metadata is invalid. */
  #senderOf(meta: JsonObject, body: JsonObject): Sender | undefined {
    const text = JSON.stringify(declaredIn(meta));
    const known = this.#senders.get(text);
    if (known) return known;
    const route = classifyInboundRequest({ httpMethod: 'POST', protocolVersionHeader: revision, body });
    if (route.kind !== 'modern' || route.classification.revision !== revision) return undefined;
    if (this.#senders.size >= maxCachedMetas) this.#senders.clear();
    const sender = this.#taskServer.sender(meta[clientCapabilitiesKey]);
    if (text.length <= maxMetaLength) this.#senders.set(text, sender);
    return sender;
  }

  /** Undefined if the request is neither a task method nor a call that becomes a task immediately. */
  #actFor({ method, params, meta }: Request, caller: Caller, { signal, header }: Posted): Act | undefined {
    if (isTaskMethod(method))
      return async () => {
        const { requests } = await this.#taskServer.served();
        return this.#text((await answerTo(method, requests, caller, params)).result);
      };
    const tool = this.#taskServer.tool(params.name);
    if (!tool || !this.#handsOver.has(tool) || !caller.sender.takesTasks) return undefined;
    if (!isPlainCall(params)) return undefined;
    const called = { tool, input: params.arguments };
    return async () =>
      this.#text(await this.#taskServer.call(called, { meta, header }, caller, { signal: signal() }));
  }

  /** The result as JSON, with what the SDK adds to every result. */
  #text(result: JsonObject): string {
    const { serverInfo } = this.#taskServer;
    const complete = 'resultType' in result ? result : { resultType: 'complete', ...result };
    if (!serverInfo) return JSON.stringify(complete);
    const _meta = { ...(complete._meta as JsonObject | undefined), [serverInfoKey]: serverInfo };
    return JSON.stringify({ ...complete, _meta });
  }
}

function answered(id: string | number, result: string): string {
  return `{"jsonrpc":"2.0","id":${typeof id === 'number' ? id : JSON.stringify(id)},"result":${result}}`;
}

/** True for a valid first call: a call that continues an earlier one has a request state or input responses. */
function isPlainCall({ requestState, inputResponses, arguments: input }: JsonObject): boolean {
  return (
    requestState === undefined && inputResponses === undefined && (input === undefined || isJsonObject(input))
  );
}

/** The metadata without the trace context, which differs in every request. */
function declaredIn(meta: JsonObject): JsonObject {
  if (!('traceparent' in meta)) return meta;
  const { traceparent: _, tracestate: _state, baggage: _baggage, ...declared } = meta;
  return declared;
}

/**
 * An error in the caller's dialect. Temporary limits are also reported as HTTP 429 with `Retry-After`. The revision
 * requires 400 for a missing capability. `onError` receives failures of the server.
 */
export function refusedAnswer(
  dialect: Dialect,
  id: unknown,
  error: unknown,
  onError: (error: Error) => void,
): FastAnswer {
  if (isFailure(error)) onError(error as Error);
  const fault = dialect.fault(error);
  const text = JSON.stringify({ jsonrpc: '2.0', id, error: fault });
  const retryAfterMs = error instanceof OverLimit ? error.retryAfterMs : undefined;
  if (retryAfterMs !== undefined) return { status: 429, text, retryAfterMs };
  return { status: fault.code === missingCapability ? 400 : 200, text };
}

function isWholeNumber(id: unknown): id is number {
  return Number.isSafeInteger(id);
}

/** True if a call becomes a task immediately, asks nothing first, and needs no header that repeats an argument. */
function handsOverAtOnce({ name, task, before, inputSchema }: DurableTool): boolean {
  if ((task !== 'always' && task !== 'required') || before) return false;
  if (!inputSchema) return true;
  return !JSON.stringify(toJsonSchema(inputSchema, `The input of ${name}`)).includes('"x-mcp-header"');
}

/** True for a plain text result, which needs no validation. The SDK validates all others. */
function isOfText(outcome: Outcome): outcome is Outcome & { kind: 'result'; value: JsonObject } {
  if (outcome.kind !== 'result' || !isJsonObject(outcome.value)) return false;
  const { content, isError, structuredContent, ...rest } = outcome.value;
  return (
    Array.isArray(content) &&
    content.every(isText) &&
    (isError === undefined || typeof isError === 'boolean') &&
    (structuredContent === undefined || isJsonObject(structuredContent)) &&
    Object.keys(rest).length === 0
  );
}

function isText(block: unknown): boolean {
  if (!isJsonObject(block)) return false;
  const { type, text, ...rest } = block;
  return type === 'text' && typeof text === 'string' && Object.keys(rest).length === 0;
}
