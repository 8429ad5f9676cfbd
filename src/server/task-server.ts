/**
 * The tools, limits and callers of one `Tasks`, shared by HTTP, stdio and all SDK servers. Created once per `Tasks`,
 * while SDK servers come and go.
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
    `Unknown draft "${draft}". Use one or more of: ${allDrafts.join(', ')}.`,
  );
}

export interface Called extends Pick<ToolCall, 'tool' | 'input' | 'calledAs' | 'head'> {
  /** Present if the call has a log. Sends it to the caller until the returned `Listening` ends. */
  readonly listen?: (log: CallLog) => Listening;
}

/** A request of a session, and the session. */
export interface SessionRequest {
  readonly opening: Opening;
  /** Undefined on a pipe. */
  readonly session: string | undefined;
  readonly method: string;
  readonly meta: unknown;
}

interface SessionAccess {
  connection(): Promise<SessionConnection>;
  /** Stores a message if it answers a question that another process asked; otherwise returns undefined. */
  foreignAnswer(message: object, bearer: Bearer): Promise<void> | undefined;
}

/** The parameters of a call except its tool and input. */
export interface CallParams extends Pick<ToolCall, 'named' | 'started'> {
  readonly inputResponses?: unknown;
  readonly requestState?: unknown;
  readonly meta?: unknown;
  /** Set if a caller of 2025-11-25 requests a task: the requested ttl, and the session of the request. */
  readonly task?: { readonly ttl?: unknown; readonly session: string };
  /** Returns a header of the HTTP request. */
  readonly header?: (name: string) => string | null | undefined;
}

/** In characters. Anonymous callers share one owner: one that guesses another's idempotency key would get its task. */
const minAnonymousKeyLength = 22;

export class TaskServer {
  readonly tasks: Tasks;
  /** The dialect of 2026-07-28. Callers in sessions have others. */
  readonly dialect: Dialect = tasksExtension;
  readonly drafts: Drafts;
  readonly limiter: RateLimiter;
  readonly resources: readonly DurableResource[];
  readonly prompts: readonly DurablePrompt[];
  /** The server's name and version; set after the first answer of an SDK server. */
  serverInfo: JsonObject | undefined;
  /** True while the server closes its connections. The work of their callers continues. */
  isStopping = false;
  /** The streams that belong to no request, by transport. Only HTTP has them. */
  readonly standaloneStreams = new WeakMap<object, StandaloneStream>();
  /** What HTTP needs from the SDK server of a session, by transport. */
  readonly sessions = new WeakMap<object, SessionAccess>();
  /** The drafts without SEP-1686, in which callers choose the names of their tasks. */
  readonly #draftsWithoutNames: Drafts;
  readonly #windowMs: number;
  readonly #anonymousRetentionMs: number;
  /** The upper limit on the deadline of tasks that callers start. Infinity for none. */
  readonly maxDeadlineMs: number;
  readonly #showsLimits: boolean;
  readonly #ownerOf: (credentials: Credentials | undefined) => Owner;
  readonly #tools: ReadonlyMap<string, DurableTool>;
  readonly #toolNamed: (name: string, input: unknown) => Called | undefined;
  /** True if `tools` is complete. Otherwise names are looked up, and tools may change. */
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
    // The last of several versions is the newest. It gets all new calls.
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

  /** The current version of each durable tool. */
  get tools(): Iterable<DurableTool> {
    return this.#tools.values();
  }

  tool(name: unknown): DurableTool | undefined {
    return typeof name === 'string' ? this.#toolNamed(name, undefined)?.tool : undefined;
  }

  /** The durable tool, resource or prompt of a request, and its input; undefined if there is none. */
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

  /** The store's tasks, and the calls. Opens the store on first use. */
  served(): Promise<{ readonly requests: TaskService; readonly calls: ToolCalls }> {
    this.#served ??= this.tasks.requests().then((requests) => ({
      requests,
      calls: new ToolCalls(this.tasks, requests, this.#windowMs, () => this.isStopping),
    }));
    return this.#served;
  }

  /** Resolves when the tasks of all ended requests are cancelled, removed, or left for a repeated call to join. */
  async settled(): Promise<void> {
    const served = await this.#served?.catch(() => undefined);
    await served?.calls.settled();
  }

  /** The caller of a request of 2026-07-28, which declares the capabilities of its sender. */
  caller(capabilities: unknown, bearer: Bearer, address?: Caller['address']): Caller {
    return this.callerLike(this.sender(capabilities), bearer, address);
  }

  /** The sender with these capabilities of 2026-07-28. Subtasks count only if their draft is on. */
  sender(capabilities: unknown): Sender {
    const { knowsSubtasks, ...sender } = this.dialect.sender(capabilities);
    return knowsSubtasks && this.drafts.has('sep-2268') ? { ...sender, knowsSubtasks } : sender;
  }

  /** The caller of a request whose sender is known. */
  callerLike(sender: Sender, bearer: Bearer, address?: Caller['address']): Caller {
    return { owner: this.ownerOf(bearer), dialect: this.dialect, sender, address, ...this.#limited(bearer) };
  }

  /** The caller of a request of a session, which declared its capabilities once. */
  sessionCaller(request: SessionRequest, bearer: Bearer, address?: Caller['address']): Caller {
    const owner = this.ownerOf(bearer);
    // Without distinct owners or sessions, a caller that guesses a task's name would get the task.
    const hasNames = owner !== anonymous || request.session !== undefined;
    const dialect = dialectOf(request.opening, hasNames ? this.drafts : this.#draftsWithoutNames, request);
    const sender = dialect.sender(request.opening.capabilities);
    return { owner, dialect, sender, session: request.session ?? '', address, ...this.#limited(bearer) };
  }

  /** The limiter of a caller. The parent process has none. */
  #limited(bearer: Bearer): Pick<Caller, 'limiter'> {
    return bearer === 'local' ? {} : { limiter: this.limiter };
  }

  /** The limits of a caller under the names of the options; undefined if there are none or they are hidden. */
  limitsFor(bearer: Bearer): JsonObject | undefined {
    if (bearer === 'local' || !this.#showsLimits) return undefined;
    const { maxValueSize, minRetention, maxRetention } = this.tasks.engineLimits;
    const limits = {
      ...this.limiter.limits,
      maxValueSize,
      minRetention,
      maxRetention: Math.min(maxRetention, this.#maxRetentionMs(this.ownerOf(bearer))),
      maxDeadline: this.maxDeadlineMs,
    };
    return Object.fromEntries(Object.entries(limits).filter(([, value]) => Number.isFinite(value)));
  }

  #maxRetentionMs(owner: Owner): number {
    return owner === anonymous ? this.#anonymousRetentionMs : Number.POSITIVE_INFINITY;
  }

  ownerOf(bearer: Bearer): Owner {
    return bearer === 'local' ? local : this.#ownerOf(bearer);
  }

  async call(called: Called, params: CallParams, caller: Caller, request: OpenRequest): Promise<JsonObject> {
    const { inputResponses, requestState, meta, task, named, started } = params;
    if (requestState !== undefined && typeof requestState !== 'string')
      throw new InvalidRequestState('it must be a string');
    const key = keyOf(meta, caller);
    // Check these before the call starts.
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
      started,
      trace: traceOf(params),
      maxDeadlineMs: this.maxDeadlineMs,
      maxRetentionMs: this.#maxRetentionMs(caller.owner),
    });
  }
}

/** Where to send the progress of a requested task; undefined if the caller sent no progress token. */
function progressIn(meta: unknown, session: string): Origin['progress'] {
  const token = isJsonObject(meta) ? meta.progressToken : undefined;
  return typeof token === 'string' || typeof token === 'number' ? { token, session } : undefined;
}

/** The trace context in the request has priority over the HTTP headers. */
function traceOf({ meta, header = () => undefined }: CallParams): Origin['trace'] {
  const trace = isJsonObject(meta) ? callersTrace(meta.traceparent, meta.tracestate) : undefined;
  return trace ?? callersTrace(header('traceparent'), header('tracestate'));
}

/** The idempotency key of a request, if there is one. */
function keyOf(meta: unknown, { owner }: Caller): string | undefined {
  const key = isJsonObject(meta) ? meta[idempotencyKey] : undefined;
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || key === '')
    throw new InvalidParams(`_meta["${idempotencyKey}"] must be a string.`);
  if (owner === anonymous && key.length < minAnonymousKeyLength)
    throw new InvalidParams(
      `_meta["${idempotencyKey}"] is too easy to guess for a caller without a token: use at least 128 random bits, which take ${minAnonymousKeyLength} characters or more.`,
    );
  return key;
}
