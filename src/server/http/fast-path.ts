/**
 * The fast path: task methods, calls that become a task at once, and calls through the gateway that end in a moment are
 * answered without a server of the SDK. Only requests that are right in every respect take it; the SDK answers all
 * others, and words the refusals. Both ways end in the same functions.
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
import { type Begun, type MayJoin, RequestAborted } from '../calls/tool-call.ts';
import type { ToolCalls } from '../calls/tool-calls.ts';
import type { TaskServer } from '../task-server.ts';

/** A POST as both faces see it, its body parsed. */
export interface Posted {
  readonly body: unknown;
  readonly header: (name: string) => string | null | undefined;
  readonly authInfo: AuthInfo | undefined;
  /** Fires when the connection is done with the request. Made only for those that listen to it. */
  readonly signal: () => AbortSignal;
  /** As the SDK takes it, its body left out. Made only for what takes the long way. */
  readonly request: () => globalThis.Request;
  /** Where it came from. The web's requests do not tell. */
  readonly address?: (() => string | undefined) | undefined;
}

export interface FastAnswer {
  readonly status: number;
  /** The message as JSON. */
  readonly text: string;
  /** When it may be worth asking again. */
  readonly retryAfterMs?: number | undefined;
}

interface Request {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
  readonly meta: JsonObject;
  readonly sender: Sender;
}

/** A result as JSON. */
type Act = () => Promise<string>;

/** The SDK's answer to a request. */
type Sdk = (request: globalThis.Request) => Promise<Response>;

type CalledWithHead = Parameters<ToolCalls['begin']>[0];

/** Clients declare the same about themselves in every request: what was found valid need not be checked again. */
const knownMetas = 1_000;
/** What honest clients declare is shorter by far; the rest is not worth the room. */
const longestMeta = 4_096;

export class FastPath {
  readonly #binding: TaskServer;
  readonly #onError: (error: Error) => void;
  /** The senders of requests whose metadata was found valid, by that metadata. */
  readonly #senders = new Map<string, Sender>();
  readonly #handsOver: ReadonlySet<DurableTool>;

  constructor(binding: TaskServer, onError: (error: Error) => void) {
    this.#binding = binding;
    this.#onError = onError;
    this.#handsOver = new Set([...binding.tools].filter(handsOverAtOnce));
  }

  /** Undefined if the SDK has to answer. */
  answer(posted: Posted, sdk: Sdk): Promise<FastAnswer | Response> | undefined {
    const request = this.#understood(posted);
    if (!request) return undefined;
    const caller = this.#binding.callerLike(request.sender, posted.authInfo, posted.address);
    const act = this.#actFor(request, caller, posted);
    if (act) return this.#worded(request.id, act);
    const called = this.#calledWithHead(request, caller);
    return called && this.#begin(request.id, called, caller, posted, sdk);
  }

  /** A call that begins before there is a task, unless it becomes one at once. */
  #calledWithHead({ method, params, meta }: Request, { sender }: Caller): CalledWithHead | undefined {
    // Until then the SDK has not said how the server introduces itself.
    if (method !== 'tools/call' || !this.#binding.serverInfo || !isPlainCall(params)) return undefined;
    // The SDK sends what is told during a call; calls with a key become tasks.
    if ([meta.progressToken, meta[idempotencyKey], meta[logLevelKey]].some((it) => it !== undefined))
      return undefined;
    const { tool, input, head } = this.#binding.called(method, params) ?? {};
    if (!tool || !head || tool.before || tool.task === 'required') return undefined;
    return tool.task === 'always' && sender.takesTasks ? undefined : { tool, input, head };
  }

  /** The answer if it is a simple one that comes at once; otherwise the SDK continues with the call. */
  async #begin(
    id: string | number,
    called: CalledWithHead,
    caller: Caller,
    { signal, request }: Posted,
    sdk: Sdk,
  ): Promise<FastAnswer | Response> {
    let begun: Begun | MayJoin;
    try {
      const { calls } = await this.#binding.served();
      begun = await calls.begin(called, caller, signal());
    } catch (error) {
      return refusedAnswer(this.#binding.dialect, id, error, this.#onError);
    }
    if ('outcome' in begun && isOfText(begun.outcome))
      return { status: 200, text: answered(id, this.#text(begun.outcome.value)) };
    const continuing = request();
    const exchange = exchangeOf(continuing)!;
    exchange.begun = begun;
    try {
      return await sdk(continuing);
    } finally {
      // Nobody has taken it up.
      if (exchange.begun && 'abandon' in exchange.begun) exchange.begun.abandon();
    }
  }

  async #worded(id: string | number, act: Act): Promise<FastAnswer> {
    try {
      return { status: 200, text: answered(id, await act()) };
    } catch (error) {
      if (error instanceof RequestAborted) throw error;
      return refusedAnswer(this.#binding.dialect, id, error, this.#onError);
    }
  }

  #understood({ body, header }: Posted): Request | undefined {
    if (!isJsonObject(body) || body.jsonrpc !== '2.0') return undefined;
    const { id, method, params } = body;
    // What was checked of its sender's earlier requests says nothing about the rest of this one.
    if (Object.keys(body).length !== 4 || typeof method !== 'string') return undefined;
    if (typeof id !== 'string' && !isWholeNumber(id)) return undefined;
    const isOfTask = isTaskMethod(method) && this.#binding.dialect.methods.includes(method);
    if (method !== 'tools/call' && !isOfTask) return undefined;
    if (!isJsonObject(params) || !isJsonObject(params._meta)) return undefined;
    if (header('mcp-protocol-version') !== revision || header('mcp-method') !== method) return undefined;
    const name = method === 'tools/call' ? params.name : params.taskId;
    if (typeof name !== 'string' || header('mcp-name') !== name) return undefined;
    const sender = this.#senderOf(params._meta, body);
    return sender && { id, method, params, meta: params._meta, sender };
  }

  #senderOf(meta: JsonObject, body: JsonObject): Sender | undefined {
    const text = JSON.stringify(declaredIn(meta));
    const known = this.#senders.get(text);
    if (known) return known;
    const route = classifyInboundRequest({ httpMethod: 'POST', protocolVersionHeader: revision, body });
    if (route.kind !== 'modern' || route.classification.revision !== revision) return undefined;
    if (this.#senders.size >= knownMetas) this.#senders.clear();
    const sender = this.#binding.sender(meta[clientCapabilitiesKey]);
    if (text.length <= longestMeta) this.#senders.set(text, sender);
    return sender;
  }

  #actFor({ method, params, meta }: Request, caller: Caller, { signal, header }: Posted): Act | undefined {
    if (isTaskMethod(method))
      return async () => {
        const { requests } = await this.#binding.served();
        return this.#text((await answerTo(method, requests, caller, params)).result);
      };
    const tool = this.#binding.tool(params.name);
    if (!tool || !this.#handsOver.has(tool) || !caller.sender.takesTasks) return undefined;
    if (!isPlainCall(params)) return undefined;
    const called = { tool, input: params.arguments };
    return async () =>
      this.#text(await this.#binding.call(called, { meta, header }, caller, { signal: signal() }));
  }

  /** With what the SDK adds to every result. */
  #text(result: JsonObject): string {
    const { serverInfo } = this.#binding;
    const complete = 'resultType' in result ? result : { resultType: 'complete', ...result };
    if (!serverInfo) return JSON.stringify(complete);
    const _meta = { ...(complete._meta as JsonObject | undefined), [serverInfoKey]: serverInfo };
    return JSON.stringify({ ...complete, _meta });
  }
}

function answered(id: string | number, result: string): string {
  return `{"jsonrpc":"2.0","id":${typeof id === 'number' ? id : JSON.stringify(id)},"result":${result}}`;
}

/** Nothing that only a second round of a call has. */
function isPlainCall({ requestState, inputResponses, arguments: input }: JsonObject): boolean {
  return (
    requestState === undefined && inputResponses === undefined && (input === undefined || isJsonObject(input))
  );
}

/** Without what is another in every request, and says nothing about its sender. */
function declaredIn(meta: JsonObject): JsonObject {
  if (!('traceparent' in meta)) return meta;
  const { traceparent: _, tracestate: _state, baggage: _baggage, ...declared } = meta;
  return declared;
}

/** An error in the words of a dialect. Temporary limits are also reported as HTTP 429 with `Retry-After`. */
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

/** Nothing is waited for, nothing asked first, and no header has to repeat an argument. */
function handsOverAtOnce({ name, task, before, inputSchema }: DurableTool): boolean {
  if ((task !== 'always' && task !== 'required') || before) return false;
  if (!inputSchema) return true;
  return !JSON.stringify(toJsonSchema(inputSchema, `The input of ${name}`)).includes('"x-mcp-header"');
}

/** A result in which nothing has to be checked. With all others the SDK is more careful. */
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
