/**
 * What every face of a server shares: the tools, the methods and the callers of one `Tasks`, whichever way requests
 * come in. Made once; servers of the SDK come and go.
 */

import { tasksExtension } from '../dialects/2026-07-28/dialect.ts';
import { idempotencyKey } from '../dialects/2026-07-28/names.ts';
import { dialectOf, type Opening } from '../dialects/detection.ts';
import type { Dialect, Sender } from '../dialects/dialect.ts';
import { drafts as allDrafts, type Drafts } from '../dialects/drafts/flags.ts';
import { InvalidParams, InvalidRequestState } from '../dialects/errors.ts';
import type { DurablePrompt } from '../engine/handlers/prompt.ts';
import { type DurableResource, matchUri } from '../engine/handlers/resource.ts';
import type { DurableTool } from '../engine/handlers/tool.ts';
import type { TaskService } from '../engine/task-service.ts';
import type { Tasks } from '../engine/tasks.ts';
import { toMs } from '../model/duration.ts';
import { InvalidOptions } from '../model/errors.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { checkIdempotencyKey, checkOwner } from '../model/name-length.ts';
import type { Origin, Owner } from '../model/task.ts';
import { callersTrace } from '../model/trace.ts';
import {
  anonymous,
  type Bearer,
  type Caller,
  type Credentials,
  local,
  ownerOf,
} from '../task-methods/caller.ts';
import { limitsFrom } from '../task-methods/limits.ts';
import { RateLimiter } from '../task-methods/rate-limiter.ts';
import type { CallLog, Listening } from './calls/call-log.ts';
import type { OpenRequest, ToolCall } from './calls/tool-call.ts';
import { ToolCalls } from './calls/tool-calls.ts';
import type { StandaloneStream } from './sdk/streams.ts';
import type { ServingOptions } from './serving-options.ts';
import type { SessionConnection } from './sessions/session-connection.ts';

function unknownDraft(draft: string): InvalidOptions {
  return new InvalidOptions(
    'UNKNOWN_DRAFT',
    `There is no draft "${draft}". There are: ${allDrafts.join(', ')}.`,
  );
}

export interface Called extends Pick<ToolCall, 'tool' | 'input' | 'calledAs' | 'head'> {
  /** If it has a log that its caller can hear, until the returned listening ends. */
  readonly listen?: (log: CallLog) => Listening;
}

/** A request of a session: the session that it came in, and what the request says. */
export interface SessionRequest {
  readonly opening: Opening;
  /** Undefined on a pipe. */
  readonly session: string | undefined;
  readonly method: string;
  readonly meta: unknown;
}

interface SessionSeams {
  connection(): Promise<SessionConnection>;
  /** Stores a message if it answers a question that another process put; undefined if not. */
  strangeAnswer(message: object, bearer: Bearer): Promise<void> | undefined;
}

/** What a call says besides whom it is for and with which input. */
export interface CallParams extends Pick<ToolCall, 'named' | 'begun'> {
  readonly inputResponses?: unknown;
  readonly requestState?: unknown;
  readonly meta?: unknown;
  /** The wishes of a caller of 2025-11-25 that asks for a task, and the session that it asks in. */
  readonly task?: { readonly ttl?: unknown; readonly session: string };
  /** A header of the HTTP request that it came with. */
  readonly header?: (name: string) => string | null | undefined;
}

/** A key that others can guess would show them the task of a stranger. */
const shortestAnonymousKey = 22;

export class TaskServer {
  readonly tasks: Tasks;
  readonly dialect: Dialect = tasksExtension;
  readonly drafts: Drafts;
  readonly limiter: RateLimiter;
  readonly resources: readonly DurableResource[];
  readonly prompts: readonly DurablePrompt[];
  /** How the server introduces itself; known once a server of the SDK has answered anything. */
  serverInfo: JsonObject | undefined;
  /** The server closes its connections: what their callers began goes on. */
  isStopping = false;
  /** The streams that belong to no request, by the transport of their connection; HTTP alone has them. */
  readonly standaloneStreams = new WeakMap<object, StandaloneStream>();
  /** What the HTTP face needs of a server of the SDK that serves a session, by its transport. */
  readonly sessions = new WeakMap<object, SessionSeams>();
  readonly #draftsWithoutNames: Drafts;
  readonly #windowMs: number;
  readonly #anonymousRetentionMs: number;
  /** Infinity for none. */
  readonly maxDeadlineMs: number;
  readonly #showsLimits: boolean;
  readonly #ownerOf: (credentials: Credentials | undefined) => Owner;
  readonly #tools: ReadonlyMap<string, DurableTool>;
  readonly #toolNamed: (name: string, input: unknown) => Called | undefined;
  /** Whether `tools` are all there are; otherwise names are looked up, and may come and go. */
  readonly hasFixedTools: boolean;
  #served: Promise<{ readonly requests: TaskService; readonly calls: ToolCalls }> | undefined;

  constructor(tasks: Tasks, options: ServingOptions) {
    const { window = '200ms', owner = ownerOf, anonymousRetention = '1h', drafts = [], limits } = options;
    this.tasks = tasks;
    this.limiter = new RateLimiter(limitsFrom(limits), tasks);
    const wanted = drafts === 'all' ? allDrafts : [drafts].flat();
    const unknown = wanted.find((draft) => !allDrafts.includes(draft));
    if (unknown !== undefined) throw unknownDraft(unknown);
    this.drafts = new Set(wanted);
    this.#draftsWithoutNames = new Set([...this.drafts].filter((draft) => draft !== 'sep-1686'));
    this.#windowMs = toMs(window);
    this.#anonymousRetentionMs = toMs(anonymousRetention);
    const { maxDeadline = '30d' } = options;
    this.maxDeadlineMs = maxDeadline === 'none' ? Number.POSITIVE_INFINITY : toMs(maxDeadline);
    this.#showsLimits = options.showLimits ?? true;
    this.#ownerOf = owner;
    this.hasFixedTools = options.toolNamed === undefined;
    // Of several versions the newest is called.
    this.#tools = new Map(options.toolNamed ? [] : tasks.tools.map((tool) => [tool.name, tool]));
    this.#toolNamed =
      options.toolNamed ??
      ((name, input) => {
        const tool = this.#tools.get(name);
        return tool && { tool, input };
      });
    this.resources = [...new Map(tasks.resources.map((one) => [one.name, one])).values()];
    this.prompts = [...new Map(tasks.prompts.map((one) => [one.name, one])).values()];
  }

  /** Of each durable tool the version that new calls go to. */
  get tools(): Iterable<DurableTool> {
    return this.#tools.values();
  }

  tool(name: unknown): DurableTool | undefined {
    return typeof name === 'string' ? this.#toolNamed(name, undefined)?.tool : undefined;
  }

  /** The durable tool, resource or prompt that a request is for, and its input; undefined if it is none of ours. */
  called(method: string, params: JsonObject): Called | undefined {
    const { name, uri, arguments: input } = params;
    if (method === 'tools/call') return typeof name === 'string' ? this.#toolNamed(name, input) : undefined;
    if (method === 'prompts/get') {
      const tool = this.prompts.find(({ listedAs }) => listedAs === name);
      return tool && { tool, input };
    }
    if (method !== 'resources/read' || typeof uri !== 'string') return undefined;
    for (const tool of this.resources) {
      const read = matchUri(tool, uri);
      if (read) return { tool, input: { uri: read.uri } };
    }
    return undefined;
  }

  served(): Promise<{ readonly requests: TaskService; readonly calls: ToolCalls }> {
    this.#served ??= this.tasks.requests().then((requests) => ({
      requests,
      calls: new ToolCalls(this.tasks, requests, this.#windowMs, () => this.isStopping),
    }));
    return this.#served;
  }

  /** Resolves when nothing is left to write for requests that have ended. */
  async settled(): Promise<void> {
    const served = await this.#served?.catch(() => undefined);
    await served?.calls.settled();
  }

  /** The sender of a request of 2026-07-28, which declares its capabilities every time. */
  caller(capabilities: unknown, bearer: Bearer, address?: Caller['address']): Caller {
    return this.callerLike(this.sender(capabilities), bearer, address);
  }

  sender(capabilities: unknown): Sender {
    const { knowsSubtasks, ...sender } = this.dialect.sender(capabilities);
    return knowsSubtasks && this.drafts.has('sep-2268') ? { ...sender, knowsSubtasks } : sender;
  }

  /** For those that know the sender already. */
  callerLike(sender: Sender, bearer: Bearer, address?: Caller['address']): Caller {
    return { owner: this.ownerOf(bearer), dialect: this.dialect, sender, address, ...this.#limited(bearer) };
  }

  /** The sender of a request of a session, which declared its capabilities once. */
  sessionCaller(request: SessionRequest, bearer: Bearer, address?: Caller['address']): Caller {
    const owner = this.ownerOf(bearer);
    // Where neither owners nor sessions can be told apart, whoever guessed a name would be given its task.
    const hasNames = owner !== anonymous || request.session !== undefined;
    const dialect = dialectOf(request.opening, hasNames ? this.drafts : this.#draftsWithoutNames, request);
    const sender = dialect.sender(request.opening.capabilities);
    return { owner, dialect, sender, session: request.session ?? '', address, ...this.#limited(bearer) };
  }

  /** Whoever started this process may ask of it what it likes. */
  #limited(bearer: Bearer): Pick<Caller, 'limiter'> {
    return bearer === 'local' ? {} : { limiter: this.limiter };
  }

  /** What it may ask for, if it is limited and may know it: the numbers behind the options of the same names. */
  limitsToldTo(bearer: Bearer): JsonObject | undefined {
    if (bearer === 'local' || !this.#showsLimits) return undefined;
    const { maxValueSize, minRetention, maxRetention } = this.tasks.engineLimits;
    const told = {
      ...this.limiter.limits,
      maxValueSize,
      minRetention,
      maxRetention: Math.min(maxRetention, this.#maxRetentionMs(this.ownerOf(bearer))),
      maxDeadline: this.maxDeadlineMs,
    };
    return Object.fromEntries(Object.entries(told).filter(([, value]) => Number.isFinite(value)));
  }

  #maxRetentionMs(owner: Owner): number {
    return owner === anonymous ? this.#anonymousRetentionMs : Number.POSITIVE_INFINITY;
  }

  ownerOf(bearer: Bearer): Owner {
    return bearer === 'local' ? local : this.#ownerOf(bearer);
  }

  async call(called: Called, params: CallParams, caller: Caller, request: OpenRequest): Promise<JsonObject> {
    const { inputResponses, requestState, meta, task, named, begun } = params;
    if (requestState !== undefined && typeof requestState !== 'string')
      throw new InvalidRequestState('it must be a string');
    const key = keyOf(meta, caller);
    // Before anything of the call begins.
    checkOwner(caller.owner);
    if (key !== undefined) checkIdempotencyKey(key);
    const { calls } = await this.served();
    return calls.call({
      ...called,
      ...request,
      caller,
      inputResponses: isJsonObject(inputResponses) ? inputResponses : undefined,
      requestState,
      idempotencyKey: key,
      ttlMs: typeof task?.ttl === 'number' ? task.ttl : undefined,
      progress: task && progressIn(meta, task.session),
      named,
      begun,
      trace: traceOf(params),
      maxDeadlineMs: this.maxDeadlineMs,
      maxRetentionMs: this.#maxRetentionMs(caller.owner),
    });
  }
}

/** Where to tell of the progress of a task that its caller asked for. */
function progressIn(meta: unknown, session: string): Origin['progress'] {
  const token = isJsonObject(meta) ? meta.progressToken : undefined;
  return typeof token === 'string' || typeof token === 'number' ? { token, session } : undefined;
}

/** What the request itself says of its trace comes before what its carrier says. */
function traceOf({ meta, header = () => undefined }: CallParams): Origin['trace'] {
  const said = isJsonObject(meta) ? callersTrace(meta.traceparent, meta.tracestate) : undefined;
  return said ?? callersTrace(header('traceparent'), header('tracestate'));
}

function keyOf(meta: unknown, { owner }: Caller): string | undefined {
  const key = isJsonObject(meta) ? meta[idempotencyKey] : undefined;
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || key === '')
    throw new InvalidParams(`_meta["${idempotencyKey}"] must be a string.`);
  if (owner === anonymous && key.length < shortestAnonymousKey)
    throw new InvalidParams(
      `_meta["${idempotencyKey}"] is too easy to guess for a caller without a token: use at least 128 random bits, which take ${shortestAnonymousKey} characters or more.`,
    );
  return key;
}
