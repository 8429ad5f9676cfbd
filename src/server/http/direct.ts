/**
 * The short way: task methods, calls that become a task at once, and calls whose head is all there is to them, are
 * answered without a server of the SDK. Only requests that are right in every respect take it; whatever is missing, doubtful or wrong takes the long way, where
 * the SDK words the refusal. Both end in the same functions.
 */
import { classifyInboundRequest } from '@modelcontextprotocol/server';
import { toJsonSchema } from '../../engine/schema.ts';
import type { DurableTool } from '../../engine/tool.ts';
import type { Caller, Credentials } from '../../hosting/caller.ts';
import { answerTo, isTaskMethod } from '../../hosting/task-methods.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Sender } from '../../protocol/dialect.ts';
import {
  clientCapabilitiesKey,
  idempotencyKey,
  logLevelKey,
  missingCapability,
  revision,
  serverInfoKey,
} from '../../protocol/dialects/2026-07-28/names.ts';
import { isFailure, OverLimit } from '../../protocol/errors.ts';
import { BegunCall } from '../begun-calls.ts';
import type { Binding } from '../binding.ts';
import { headOf, isOfText } from '../short-calls.ts';
import { RequestAborted } from '../tool-call.ts';

/** A POST as both faces see it, its body parsed. */
export interface Posted {
  readonly body: unknown;
  readonly header: (name: string) => string | null | undefined;
  readonly authInfo: Credentials | undefined;
  readonly signal: () => AbortSignal;
  /** Where it came from, if that is known. */
  readonly address?: (() => string | undefined) | undefined;
}

export interface DirectAnswer {
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

/** Clients declare the same about themselves in every request: what was found valid need not be checked again. */
const knownMetas = 1_000;
/** What honest clients declare is shorter by far; the rest is not worth the room. */
const longestMeta = 4_096;

export class DirectAnswers {
  readonly #binding: Binding;
  readonly #onError: (error: Error) => void;
  /** The senders of requests whose metadata was found valid, by that metadata. */
  readonly #senders = new Map<string, Sender>();
  readonly #handsOver: ReadonlySet<DurableTool>;

  constructor(binding: Binding, onError: (error: Error) => void) {
    this.#binding = binding;
    this.#onError = onError;
    this.#handsOver = new Set([...binding.tools].filter(handsOverAtOnce));
  }

  /** Undefined if the request has to take the long way. */
  answer<T>(
    posted: Posted,
    goOn: (begun: BegunCall) => Promise<T>,
  ): DirectAnswer | Promise<DirectAnswer | T> | undefined {
    const request = this.#understood(posted);
    if (!request) return undefined;
    const caller = this.#binding.callerLike(request.sender, posted.authInfo, posted.address);
    const act = this.#actFor(request, caller, posted);
    if (act) return this.#worded(request.id, act);
    const head = this.#headFor(request, caller);
    return head && this.#headed(request.id, head, caller, posted.signal(), goOn);
  }

  /** A call that begins before there is a task of it, unless it is to become one at once. */
  #headFor({ method, params, meta }: Request, caller: Caller): ReturnType<typeof headOf> {
    // Nobody knows yet how the server introduces itself.
    if (method !== 'tools/call' || !this.#binding.serverInfo || !isPlainCall(params)) return undefined;
    // What is told meanwhile, or begun elsewhere, takes the long way.
    if ([meta.progressToken, meta[idempotencyKey], meta[logLevelKey]].some((it) => it !== undefined))
      return undefined;
    const called = this.#binding.called(method, params);
    return called && headOf(this.#binding, called, caller);
  }

  async #headed<T>(
    id: string | number,
    head: NonNullable<ReturnType<typeof headOf>>,
    { limiter, owner }: Caller,
    signal: AbortSignal,
    goOn: (begun: BegunCall) => Promise<T>,
  ): Promise<DirectAnswer | T> {
    try {
      const allowed = limiter?.spend(owner, 'calls');
      if (allowed) await allowed;
    } catch (error) {
      return this.#refused(id, error);
    }
    const headed = await head(owner, signal);
    if (!('outcome' in headed) || !isOfText(headed.outcome)) return goOn(new BegunCall(headed));
    return { status: 200, text: answered(id, this.#text(headed.outcome.value)) };
  }

  async #worded(id: string | number, act: Act): Promise<DirectAnswer> {
    try {
      return { status: 200, text: answered(id, await act()) };
    } catch (error) {
      return this.#refused(id, error);
    }
  }

  #refused(id: string | number, error: unknown): DirectAnswer {
    if (error instanceof RequestAborted) throw error;
    if (isFailure(error)) this.#onError(error as Error);
    const fault = this.#binding.dialect.fault(error);
    const text = JSON.stringify({ jsonrpc: '2.0', id, error: fault });
    if (error instanceof OverLimit) return overLimitAnswer(error, text);
    return { status: fault.code === missingCapability ? 400 : 200, text };
  }

  #understood({ body, header }: Posted): Request | undefined {
    if (!isJsonObject(body) || body.jsonrpc !== '2.0') return undefined;
    const { id, method, params } = body;
    // What was checked of its sender's earlier requests says nothing about the rest of this one.
    if (Object.keys(body).length !== 4 || typeof method !== 'string') return undefined;
    if (typeof id !== 'string' && !isWholeNumber(id)) return undefined;
    if (method !== 'tools/call' && !this.#hasMethod(method)) return undefined;
    if (!isJsonObject(params) || !isJsonObject(params._meta)) return undefined;
    if (header('mcp-protocol-version') !== revision || header('mcp-method') !== method) return undefined;
    const name = method === 'tools/call' ? params.name : params.taskId;
    if (typeof name !== 'string' || header('mcp-name') !== name) return undefined;
    const sender = this.#senderOf(params._meta, body);
    return sender && { id, method, params, meta: params._meta, sender };
  }

  #hasMethod(method: string): boolean {
    return isTaskMethod(method) && this.#binding.dialect.methods.includes(method);
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
    const given = { arguments: params.arguments, meta, header };
    return async () => this.#text(await this.#binding.call(tool, given, caller, { signal: signal() }));
  }

  #text(result: JsonObject): string {
    return JSON.stringify(this.#introduced(result));
  }

  #introduced(result: JsonObject): JsonObject {
    const { serverInfo } = this.#binding;
    const complete = 'resultType' in result ? result : { resultType: 'complete', ...result };
    if (!serverInfo) return complete;
    const _meta = { ...(complete._meta as JsonObject | undefined), [serverInfoKey]: serverInfo };
    return { ...complete, _meta };
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

/** What passes is said in the way of HTTP too. */
export function overLimitAnswer({ retryAfterMs }: OverLimit, text: string): DirectAnswer {
  return retryAfterMs === undefined ? { status: 200, text } : { status: 429, text, retryAfterMs };
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
