/**
 * Tasks that a client runs for its server: the server requests an elicitation or a model's answer as a task, gets a
 * task id, and fetches the answer later. They run on the same engine as a server's tasks, so an accepted question
 * survives a crash of this process.
 *
 * The owner of a task is the server, under the host's name for it. Tasks outlive connections.
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
  authorizedTree,
  idOfName,
  isTaskMethod,
  loadTree,
  topOf,
  visibleTree,
} from '../task-methods/task-methods.ts';
import { untilDone, waitFor } from '../task-methods/waiting.ts';

export interface IncomingRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
}

type QuestionRequest = Omit<IncomingRequest, 'id'>;

export interface Engine {
  readonly tasks: Tasks;
  /** The durable handler for each method. Its input is `{ method, params }`. */
  readonly handlers: ReadonlyMap<string, DurableTool>;
}

export interface ClientHostedTasksParts {
  /** The methods that can become tasks. */
  readonly methods: readonly string[];
  /** Resolves once the server is known. */
  readonly engine: Promise<Engine>;
  readonly drafts: Drafts;
  /** The owner of the tasks: the host's name for the server. */
  readonly owner: () => string;
  /** What the server declared in `initialize`. */
  readonly server: () => Opening;
  readonly notify: (message: { method: string; params: JsonObject }) => Promise<void>;
}

const taskDeleted = { kind: 'lost', message: 'The task was deleted before it was answered.' } as const;

/** With SEP-2229, a question that is answered within this time gets no task. */
const windowMs = toMs('1s');

/** The maximum number of unconfirmed tasks that are remembered. For more, a repeated question gets a new task. */
const maxUnconfirmed = 10_000;

/** The server has cancelled its request, and expects no answer. */
class RequestCancelled extends HoldfastError {
  constructor(message: string) {
    super('REQUEST_CANCELLED', message);
  }
}

type Settled = { readonly result: JsonObject } | { readonly error: WireFault };

export class ClientHostedTasks {
  readonly #parts: ClientHostedTasksParts;
  /** Open tasks whose status changes are sent to the server. */
  readonly #followed = new Map<TaskId, () => void>();
  /** Open requests, by their id. */
  readonly #pending = new Map<string | number, AbortController>();
  /**
   * Tasks that the server has not used yet, by question: the server may have crashed, or our answer may be lost. If the
   * server repeats the question for the same task of its own, it gets the same task, so that nobody is asked twice.
   */
  readonly #unconfirmed = new Map<string, TaskId>();
  #isClosed = false;

  constructor(parts: ClientHostedTasksParts) {
    this.#parts = parts;
  }

  /** The capabilities of a client that runs questions as tasks. */
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

  /** Answers a request of the server; undefined if it does not concern tasks. */
  request(request: IncomingRequest): Promise<Settled> | undefined {
    // Later revisions do not have client-hosted tasks.
    if (String(this.#parts.server().protocolVersion) > revision) return undefined;
    const answer = this.#handlerOf(request);
    if (!answer) return undefined;
    const cancelled = new AbortController();
    this.#pending.set(request.id, cancelled);
    return answer(cancelled.signal)
      .finally(() => this.#pending.delete(request.id))
      .then((result) => ({ result }), settled);
  }

  #handlerOf(request: IncomingRequest): ((signal: AbortSignal) => Promise<JsonObject>) | undefined {
    const { method, params } = request;
    if (isTaskMethod(method)) return (signal) => this.#taskMethod(method, params, signal);
    if (!this.#parts.methods.includes(method)) return undefined;
    const caller = this.#callerOf(request);
    if (caller.dialect.callerNamesTasks) return (signal) => this.#named(request, caller, signal);
    const requested = caller.dialect.methods.length > 0 ? requestedTask(params) : undefined;
    if (!requested && !caller.sender.takesTasksUnasked) return undefined;
    return (signal) => this.#asTask(request, caller, requested?.ttl, signal);
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

  // --- Creating tasks -------------------------------------------------------------------------------------

  /** With SEP-2229 the task stays unpublished for a short time, and is discarded if it is answered within it. */
  async #asTask(
    request: IncomingRequest,
    caller: Caller,
    ttlMs: unknown,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const requests = await this.#requests();
    const key = await keyOf(request);
    // True if the server accepts a task that it did not request.
    const isUnasked = caller.sender.takesTasksUnasked ?? false;
    // If the server has not received the task id, it repeats the question.
    const unconfirmed = key === undefined ? undefined : this.#unconfirmed.get(key);
    let tree = unconfirmed && (await loadTree(requests, caller, unconfirmed));
    if (!tree) {
      const { method } = request;
      const { task: _, ...params } = request.params;
      const root = await this.#create(method, params, {
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
        tree = isAlive ? await loadTree(requests, caller, root.id) : undefined;
        if (!tree) return this.#answered(requests, root.id);
      }
    }
    const { id } = tree.root;
    if (signal.aborted) return this.#abort(id);
    // The server gets the task id with this answer, and has not confirmed it yet.
    if (key !== undefined && this.#unconfirmed.size < maxUnconfirmed) this.#unconfirmed.set(key, id);
    this.#follow(requests, tree, caller);
    return caller.dialect.created(tree, requests.now);
  }

  /** Returns the outcome instead of a task, and deletes the task. */
  async #answered(requests: TaskService, id: TaskId): Promise<JsonObject> {
    const task = await requests.task(id);
    await requests.discard(id);
    if (task?.phase !== 'done') throw new CallFailed(taskDeleted);
    if (task.outcome.kind !== 'result') throw new CallFailed(task.outcome);
    return task.outcome.value as JsonObject;
  }

  async #create(method: string, params: JsonObject, options: CreateOptions): Promise<Task> {
    const { tasks, handlers } = await this.#parts.engine;
    return tasks.create(handlers.get(method)!, { method, params }, options);
  }

  /** Closing the client does not cancel tasks: they continue after a restart. */
  async #abort(id: TaskId): Promise<never> {
    const reason = 'The server cancelled its request.';
    if (!this.#isClosed) await (await this.#requests()).cancel(id, reason);
    throw new RequestCancelled(reason);
  }

  /** SEP-1686: notifies the server that its task was created, and still sends the plain answer. */
  async #named(request: IncomingRequest, caller: Caller, signal: AbortSignal): Promise<JsonObject> {
    const { id, method, params } = request;
    const meta = isJsonObject(params._meta) ? params._meta : {};
    const { taskId, keepAlive } = requestedTaskOf(meta, params);
    const requests = await this.#requests();
    const root = await this.#create(method, params, {
      id: await idOfName(requests, caller, taskId),
      owner: caller.owner,
      origin: { dialect: caller.dialect.revision, method, named: { taskId, session: '', requestId: id } },
      ...(keepAlive !== undefined && { keepAliveMs: keepAlive }),
    });
    const tree = { root, descendants: [] };
    await this.#parts.notify(createdMessage(tree));
    await untilDone(requests, root, { signal });
    if (signal.aborted) return this.#abort(root.id);
    return payloadIn(await loadTree(requests, caller, root.id), caller);
  }

  async #cancelNamed(name: string, requestId: unknown): Promise<void> {
    const requests = await this.#requests();
    const caller = { ...this.#callerOf({ method: '', params: {} }), dialect: originalTasks };
    const tree = await visibleTree(requests, caller, await idOfName(requests, caller, name));
    if (tree?.root.origin.named?.requestId === requestId)
      await requests.cancel(tree!.root.id, 'The server cancelled its request.');
  }

  // --- Task methods ---------------------------------------------------------------------------------------

  async #taskMethod(method: TaskMethodName, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    // The server knows the task id, so repeating the question means a new task.
    for (const [key, id] of this.#unconfirmed) if (id === params.taskId) this.#unconfirmed.delete(key);
    const requests = await this.#requests();
    const caller = this.#callerOf({ method, params });
    const { dialect } = caller;
    if (method === 'tasks/result' && !dialect.callerNamesTasks && dialect.methods.includes(method)) {
      const tree = await authorizedTree(requests, caller, params, method);
      await untilDone(requests, tree.root, { signal });
      if (signal.aborted) throw new RequestCancelled('The server no longer waits.');
      return payloadIn(await authorizedTree(requests, caller, params, method), caller);
    }
    const { result, tree } = await answerTo(method, requests, caller, params);
    // The task may have been created by an earlier process. Send its status changes from now on.
    if (tree && tree.root.phase !== 'done') this.#follow(requests, tree, caller);
    return result;
  }

  #callerOf({ method, params }: QuestionRequest): Caller {
    const { drafts, owner, server } = this.#parts;
    const opening = server();
    const dialect = dialectOf(opening, drafts, { method, meta: params._meta });
    return { owner: owner(), dialect, sender: dialect.sender(opening.capabilities), session: '' };
  }

  /** Sends every status change of a task to the server. */
  #follow(requests: TaskService, tree: TaskTree, caller: Caller): void {
    const { id } = topOf(tree);
    if (this.#isClosed || this.#followed.has(id)) return;
    // The initial status, which the server knows from the answer that contained the task id.
    let sentStatus = 'working';
    const sendIfChanged = async () => {
      const now = await loadTree(requests, caller, id);
      const notification = now && caller.dialect.notification(now, requests.now);
      if (!now || now.root.phase === 'done') this.#unfollow(id);
      if (!notification || notification.params.status === sentStatus) return;
      sentStatus = notification.params.status as string;
      await this.#parts.notify(notification);
    };
    // A closed store throws.
    const onChange = () => void sendIfChanged().catch(() => {});
    this.#followed.set(id, requests.watch(id, onChange));
    onChange();
  }

  #unfollow(id: TaskId): void {
    this.#followed.get(id)?.();
    this.#followed.delete(id);
  }

  /** The task service of the engine. Waits until the server is known. */
  async #requests(): Promise<TaskService> {
    return (await this.#parts.engine).tasks.requests();
  }
}

/** The error as the answer for the server. For a cancelled request, a promise that never settles: it gets no answer. */
function settled(error: unknown): Settled | Promise<never> {
  return error instanceof RequestCancelled ? new Promise(() => {}) : { error: originalTasks.fault(error) };
}

function payloadIn(tree: TaskTree | undefined, { dialect }: Caller): JsonObject {
  const payload = tree && payloadOf(tree, dialect.related);
  if (!payload) throw new CallFailed(taskDeleted);
  return payload;
}

/**
 * Identifies a question, so that a repeated one is recognized; undefined if it does not belong to a task of the
 * server.
 */
async function keyOf({ method, params: all }: IncomingRequest): Promise<string | undefined> {
  const { _meta, task: _, ...params } = all;
  const related = isJsonObject(_meta) ? _meta[relatedTaskKey] : undefined;
  return isJsonObject(related) ? digestOf({ method, params, related }) : undefined;
}

// --- Durable handlers of questions -------------------------------------------------------------------------

type AnswerRequest = (request: QuestionRequest, signal: AbortSignal) => Promise<JsonObject>;

/** A restart of the host can count as a crash of the task, and there may be many before the user answers. */
const maxCrashes = 10_000;

/**
 * The handler for one method and server. It asks once, and the journal keeps the answer. The version contains the
 * server, so a host that is connected to another server does not run it and ask in the wrong server's name.
 */
export function questionHandler(method: string, server: string, answer: AnswerRequest): DurableTool {
  const options = { version: server, deadline: 'none', maxCrashes } as const;
  const durable = durableTool(method.replace('/', '.'), options, async (input, task) => {
    const { params } = input as QuestionRequest;
    return task.step('answer', ({ signal }) => answer({ method, params }, signal));
  });
  return {
    ...durable,
    // Any answer of the user or the model is a result.
    outcome: async (returned) => ({ kind: 'result', isError: false, value: returned as JsonObject }),
    failure: (error) => ({
      kind: 'failure',
      message: messageOf(error),
      ...(error instanceof ProtocolError && { code: error.rpcCode }),
    }),
  };
}
