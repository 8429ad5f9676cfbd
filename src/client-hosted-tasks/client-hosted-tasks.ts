/**
 * Tasks that a client holds: a server asks for an elicitation or a model's answer as a task, goes away with a handle,
 * and comes back for what the person or the model said. The same engine as a server's, with the same promise: a
 * question that was accepted is answered, whatever happens to this process.
 *
 * Tasks belong to the server, by the name under which the host knows it; connections come and go.
 */

import { payloadOf } from '../dialects/2025-11-25/dialect.ts';
import { relatedTaskKey, revision } from '../dialects/2025-11-25/names.ts';
import { dialectOf, type Opening, requestedTask } from '../dialects/detection.ts';
import type { TaskMethodName, WireFault } from '../dialects/dialect.ts';
import type { Drafts } from '../dialects/drafts/flags.ts';
import { CallFailed } from '../dialects/errors.ts';
import { createdMessage, nameIn, originalTasks, requestedTaskOf } from '../dialects/sep-1686/dialect.ts';
import { type DurableTool, durableTool } from '../engine/handlers/tool.ts';
import { ProtocolError } from '../engine/replay/recorded-error.ts';
import type { TaskService, TaskTree } from '../engine/task-service.ts';
import type { Tasks } from '../engine/tasks.ts';
import type { CreateOptions } from '../engine/tasks-options.ts';
import { toMs } from '../model/duration.ts';
import { HoldfastError } from '../model/errors.ts';
import { digestOf } from '../model/id.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { Task, TaskId } from '../model/task.ts';
import { messageOf } from '../model/thrown.ts';
import type { Caller } from '../task-methods/caller.ts';
import {
  answerTo,
  idOfName,
  isTaskMethod,
  known,
  topOf,
  view,
  visible,
} from '../task-methods/task-methods.ts';
import { untilDone, waitFor } from '../task-methods/waiting.ts';

export interface IncomingRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
}

type AskedRequest = Omit<IncomingRequest, 'id'>;

export interface Engine {
  readonly tasks: Tasks;
  /** What answers each method, as a durable handler of `{ method, params }`. */
  readonly handlers: ReadonlyMap<string, DurableTool>;
}

export interface ClientHostedTasksParts {
  /** What tasks are made of. */
  readonly methods: readonly string[];
  /** There once the server is known. */
  readonly engine: Promise<Engine>;
  readonly drafts: Drafts;
  /** Under which the host knows the server. */
  readonly owner: () => string;
  /** What the server said of itself. */
  readonly server: () => Opening;
  readonly notify: (message: { method: string; params: JsonObject }) => Promise<void>;
}

const removed = { kind: 'lost', message: 'The task was removed before it was answered.' } as const;

/** With SEP-2229 a question that is answered within this time needs no task. */
const windowMs = toMs('1s');

/** Unconfirmed tasks: more than a server has open at a time. */
const mostUnconfirmed = 10_000;

/** The server cancelled its request, and waits for no answer. */
class RequestCancelled extends HoldfastError {
  constructor(message: string) {
    super('REQUEST_CANCELLED', message);
  }
}

type Settled = { readonly result: JsonObject } | { readonly error: WireFault };

export class ClientHostedTasks {
  readonly #parts: ClientHostedTasksParts;
  /** Tasks of which the server is told, until they are over. */
  readonly #followed = new Map<TaskId, () => void>();
  /** Requests that are being answered and may be cancelled, by their id. */
  readonly #pending = new Map<string | number, AbortController>();
  /**
   * Tasks that the server has not shown to know yet, by the question: it may have died, or our answer may not have
   * reached it. If it asks the same question again, for the same task of its own, it gets the same task, and nobody is
   * asked twice.
   */
  readonly #unconfirmed = new Map<string, TaskId>();
  #isClosed = false;

  constructor(parts: ClientHostedTasksParts) {
    this.#parts = parts;
  }

  /** What a client declares that makes tasks of what it is asked. */
  get capabilities(): JsonObject {
    const { methods } = this.#parts;
    return {
      tasks: {
        list: {},
        cancel: {},
        requests: {
          ...(methods.includes('elicitation/create') && { elicitation: { create: {} } }),
          ...(methods.includes('sampling/createMessage') && { sampling: { createMessage: {} } }),
        },
      },
    };
  }

  /** The answer to a request of the server; undefined if it has nothing to do with tasks. */
  request(request: IncomingRequest): Promise<Settled> | undefined {
    // Later revisions know no tasks of clients.
    if (String(this.#parts.server().protocolVersion) > revision) return undefined;
    const answer = this.#wayOf(request);
    if (!answer) return undefined;
    const cancelled = new AbortController();
    this.#pending.set(request.id, cancelled);
    return answer(cancelled.signal)
      .finally(() => this.#pending.delete(request.id))
      .then((result) => ({ result }), settled);
  }

  #wayOf(request: IncomingRequest): ((signal: AbortSignal) => Promise<JsonObject>) | undefined {
    const { method, params } = request;
    if (isTaskMethod(method)) return (signal) => this.#taskMethod(method, params, signal);
    if (!this.#parts.methods.includes(method)) return undefined;
    const caller = this.#callerOf(request);
    if (caller.dialect.requestorNamesTasks) return (signal) => this.#named(request, caller, signal);
    const wish = caller.dialect.methods.length > 0 ? requestedTask(params) : undefined;
    if (!wish && !caller.sender.takesTasksUnasked) return undefined;
    return (signal) => this.#asTask(request, caller, wish?.ttl, signal);
  }

  onNotification(method: string, params: JsonObject): void {
    if (method !== 'notifications/cancelled') return;
    const { requestId, _meta } = params;
    this.#pending.get(requestId as string)?.abort();
    const name = nameIn(_meta);
    if (name === undefined || !this.#parts.drafts.has('sep-1686')) return;
    void this.#cancelNamed(name, requestId).catch(() => {});
  }

  close(): void {
    for (const stop of this.#followed.values()) stop();
    this.#followed.clear();
    this.#isClosed = true;
    for (const pending of this.#pending.values()) pending.abort();
  }

  // --- Making tasks ---------------------------------------------------------------------------------------

  /** With SEP-2229 a task only if the answer is not there at once: until then the task belongs to the request. */
  async #asTask(
    request: IncomingRequest,
    caller: Caller,
    ttlMs: unknown,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const requests = await this.#requests();
    const key = await keyOf(request);
    const isUnasked = caller.sender.takesTasksUnasked ?? false;
    // The server may never have got the id of the task.
    const unconfirmed = key === undefined ? undefined : this.#unconfirmed.get(key);
    let tree = unconfirmed && (await view(requests, caller, unconfirmed));
    if (!tree) {
      const { method } = request;
      const { task: _, ...asked } = request.params;
      const root = await this.#begin(method, asked, {
        owner: caller.owner,
        origin: { dialect: caller.dialect.revision, method },
        unpublished: isUnasked,
        ...(typeof ttlMs === 'number' && { ttlMs }),
      });
      tree = { root, descendants: [] };
      if (isUnasked) {
        const waited = await waitFor(requests, root.id, { signal, windowMs });
        if (waited === 'aborted') return this.#abort(root.id);
        const isAlive = waited !== 'done' && (await requests.publish(root.id));
        tree = isAlive ? await view(requests, caller, root.id) : undefined;
        if (!tree) return this.#answered(requests, root.id);
      }
    }
    const { id } = tree.root;
    if (signal.aborted) return this.#abort(id);
    // Its id is on its way to the server.
    if (key !== undefined && this.#unconfirmed.size < mostUnconfirmed) this.#unconfirmed.set(key, id);
    this.#follow(requests, tree, caller);
    return caller.dialect.created(tree, requests.now);
  }

  /** The answer, which needs no task. */
  async #answered(requests: TaskService, id: TaskId): Promise<JsonObject> {
    const task = await requests.task(id);
    await requests.discard(id);
    if (task?.phase !== 'done') throw new CallFailed(removed);
    if (task.outcome.kind !== 'result') throw new CallFailed(task.outcome);
    return task.outcome.value as JsonObject;
  }

  async #begin(method: string, params: JsonObject, options: CreateOptions): Promise<Task> {
    const { tasks, handlers } = await this.#parts.engine;
    return tasks.create(handlers.get(method)!, { method, params }, options);
  }

  /** A client that closes cancels nothing: what it was asked it finds again. */
  async #abort(id: TaskId): Promise<never> {
    const why = 'The server cancelled its request.';
    if (!this.#isClosed) await (await this.#requests()).cancel(id, why);
    throw new RequestCancelled(why);
  }

  /** SEP-1686: the server is told that its task is there, and gets the ordinary answer all the same. */
  async #named(request: IncomingRequest, caller: Caller, signal: AbortSignal): Promise<JsonObject> {
    const { id, method, params } = request;
    const meta = isJsonObject(params._meta) ? params._meta : {};
    const { taskId, keepAlive } = requestedTaskOf(meta, params);
    const requests = await this.#requests();
    const root = await this.#begin(method, params, {
      id: await idOfName(requests, caller, taskId),
      owner: caller.owner,
      origin: { dialect: caller.dialect.revision, method, named: { taskId, session: '', requestId: id } },
      ...(keepAlive !== undefined && { keepAliveMs: keepAlive }),
    });
    const tree = { root, descendants: [] };
    await this.#parts.notify(createdMessage(tree));
    await untilDone(requests, root, { signal });
    if (signal.aborted) return this.#abort(root.id);
    return payloadIn(await view(requests, caller, root.id), caller);
  }

  async #cancelNamed(name: string, requestId: unknown): Promise<void> {
    const requests = await this.#requests();
    const caller = { ...this.#callerOf({ method: '', params: {} }), dialect: originalTasks };
    const tree = await visible(requests, caller, await idOfName(requests, caller, name));
    if (tree?.root.origin.named?.requestId === requestId)
      await requests.cancel(tree!.root.id, 'The server cancelled its request.');
  }

  // --- About tasks ----------------------------------------------------------------------------------------

  async #taskMethod(method: TaskMethodName, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    // The server has the id: the same question would be another one.
    for (const [key, id] of this.#unconfirmed) if (id === params.taskId) this.#unconfirmed.delete(key);
    const requests = await this.#requests();
    const caller = this.#callerOf({ method, params });
    const { dialect } = caller;
    if (method === 'tasks/result' && !dialect.requestorNamesTasks && dialect.methods.includes(method)) {
      const tree = await known(requests, caller, params, method);
      await untilDone(requests, tree.root, { signal });
      if (signal.aborted) throw new RequestCancelled('The server waits no longer.');
      return payloadIn(await known(requests, caller, params, method), caller);
    }
    const { result, tree } = await answerTo(method, requests, caller, params);
    // Whoever comes back to a task, perhaps of an earlier process, hears of it from now on.
    if (tree && tree.root.phase !== 'done') this.#follow(requests, tree, caller);
    return result;
  }

  #callerOf({ method, params }: AskedRequest): Caller {
    const { drafts, owner, server } = this.#parts;
    const opening = server();
    const dialect = dialectOf(opening, drafts, { method, meta: params._meta });
    return { owner: owner(), dialect, sender: dialect.sender(opening.capabilities), session: '' };
  }

  /** Tells the server how a task stands whenever that changes. */
  #follow(requests: TaskService, tree: TaskTree, caller: Caller): void {
    const { id } = topOf(tree);
    if (this.#isClosed || this.#followed.has(id)) return;
    let told = 'working';
    const look = async () => {
      const now = await view(requests, caller, id);
      const news = now && caller.dialect.news(now, requests.now);
      if (!now || now.root.phase === 'done') this.#unfollow(id);
      if (!news || news.params.status === told) return;
      told = news.params.status as string;
      await this.#parts.notify(news);
    };
    // A store that was closed has no more news.
    const lookAt = () => void look().catch(() => {});
    this.#followed.set(id, requests.watch(id, lookAt));
    lookAt();
  }

  #unfollow(id: TaskId): void {
    this.#followed.get(id)?.();
    this.#followed.delete(id);
  }

  async #requests(): Promise<TaskService> {
    return (await this.#parts.engine).tasks.requests();
  }
}

/** A refusal as the server is told of it. A request that it cancelled is answered by nobody. */
function settled(error: unknown): Settled | Promise<never> {
  return error instanceof RequestCancelled ? new Promise(() => {}) : { error: originalTasks.fault(error) };
}

function payloadIn(tree: TaskTree | undefined, { dialect }: Caller): JsonObject {
  const payload = tree && payloadOf(tree, dialect.related);
  if (!payload) throw new CallFailed(removed);
  return payload;
}

/** What tells one question from another; undefined if it belongs to no task. */
async function keyOf({ method, params: all }: IncomingRequest): Promise<string | undefined> {
  const { _meta, task: _, ...params } = all;
  const related = isJsonObject(_meta) ? _meta[relatedTaskKey] : undefined;
  return isJsonObject(related) ? digestOf({ method, params, related }) : undefined;
}

// --- Durable handlers of questions -------------------------------------------------------------------------

type AnswerRequest = (request: AskedRequest, signal: AbortSignal) => Promise<JsonObject>;

/** A host may be ended and started again many times before a person has made up their mind. */
const maxCrashes = 10_000;

/**
 * One for each method and server: somebody is asked once, and the answer is remembered. A host that is connected to
 * another server leaves the question alone, because it would ask in the wrong server's name.
 */
export function answering(method: string, server: string, answer: AnswerRequest): DurableTool {
  const options = { version: server, deadline: 'none', maxCrashes } as const;
  const durable = durableTool(method.replace('/', '../receiver'), options, async (asked, task) => {
    const { params } = asked as AskedRequest;
    return task.step('answer', ({ signal }) => answer({ method, params }, signal));
  });
  return {
    ...durable,
    // What a person or a model said is the result, whatever it is.
    outcome: async (returned) => ({ kind: 'result', isError: false, value: returned as JsonObject }),
    failure: (error) => ({
      kind: 'failure',
      message: messageOf(error),
      ...(error instanceof ProtocolError && { code: error.rpcCode }),
    }),
  };
}
