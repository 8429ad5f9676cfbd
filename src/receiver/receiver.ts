/**
 * Tasks that a client holds: a server asks for an elicitation or a model's answer as a task, goes away with a handle,
 * and comes back for what the person or the model said. The same engine as a server's, with the same promise: a
 * question that was accepted is answered, whatever happens to this process.
 *
 * Tasks belong to the server, by the name under which the host knows it; connections come and go.
 */
import type { Requests, TaskTree } from '../engine/requests.ts';
import type { Tasks } from '../engine/tasks.ts';
import type { DurableTool } from '../engine/tool.ts';
import type { Caller } from '../hosting/caller.ts';
import { answerTo, isTaskMethod, known, topOf, view, visible } from '../hosting/task-methods.ts';
import { idOfName } from '../hosting/task-names.ts';
import { untilDone } from '../hosting/waiting.ts';
import { toMs } from '../model/duration.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { TaskId } from '../model/task.ts';
import { dialectOf, type Opening, wishedTask } from '../protocol/detection.ts';
import type { WireFault } from '../protocol/dialect.ts';
import { payloadOf } from '../protocol/dialects/2025-11-25/dialect.ts';
import type { Drafts } from '../protocol/dialects/drafts/flags.ts';
import { createdMessage, nameIn, originalTasks, wishOf } from '../protocol/dialects/sep-1686/dialect.ts';
import { CallFailed, NotOffered } from '../protocol/errors.ts';

export interface IncomingRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
}

export interface ReceiverParts {
  readonly tasks: Tasks;
  /** What answers each method, as a durable handler of `{ method, params }`. */
  readonly handlers: ReadonlyMap<string, DurableTool>;
  readonly drafts: Drafts;
  /** Under which the host knows the server. */
  readonly owner: () => string;
  /** What the server said of itself. */
  readonly server: () => Opening;
  readonly notify: (message: { method: string; params: JsonObject }) => Promise<void>;
}

/** With SEP-2229 a question that is answered within this time needs no task. */
const windowMs = toMs('1s');

export class Receiver {
  readonly #parts: ReceiverParts;
  /** Tasks of which the server is told, until they are over. */
  readonly #followed = new Map<TaskId, () => void>();
  /** Requests of SEP-1686 that are being answered, by their id. */
  readonly #pending = new Map<string | number, AbortController>();

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  /** What a client declares that makes tasks of what it is asked. */
  get capabilities(): JsonObject {
    const { handlers } = this.#parts;
    return {
      tasks: {
        list: {},
        cancel: {},
        requests: {
          ...(handlers.has('elicitation/create') && { elicitation: { create: {} } }),
          ...(handlers.has('sampling/createMessage') && { sampling: { createMessage: {} } }),
        },
      },
    };
  }

  /** The answer to a request of the server; undefined if it has nothing to do with tasks. */
  request(request: IncomingRequest): Promise<JsonObject> | undefined {
    const { method, params } = request;
    if (isTaskMethod(method)) return this.#taskMethod(request);
    const handler = this.#parts.handlers.get(method);
    if (!handler) return undefined;
    const caller = this.#callerOf(request);
    if (caller.dialect.requestorNamesTasks) return this.#named(handler, request, caller);
    const wish = caller.dialect.methods.length > 0 ? wishedTask(params) : undefined;
    if (wish && !caller.sender.takesTasksUnasked) return this.#made(handler, request, caller, wish);
    return caller.sender.takesTasksUnasked ? this.#perhaps(handler, request, caller, wish) : undefined;
  }

  heard(method: string, params: JsonObject): void {
    if (method !== 'notifications/cancelled') return;
    const { requestId, _meta } = params;
    this.#pending.get(requestId as string)?.abort();
    const name = nameIn(_meta);
    if (name === undefined || !this.#parts.drafts.has('sep-1686')) return;
    void this.#cancelNamed(name, requestId).catch(() => {});
  }

  /** A refusal as the server is told of it. */
  fault(error: unknown): WireFault {
    return originalTasks.fault(error);
  }

  close(): void {
    for (const stop of this.#followed.values()) stop();
    this.#followed.clear();
  }

  // --- Making tasks ---------------------------------------------------------------------------------------

  async #made(
    handler: DurableTool,
    { method, params }: IncomingRequest,
    caller: Caller,
    { ttl }: { readonly ttl?: unknown },
  ): Promise<JsonObject> {
    const { task: _, ...asked } = params;
    const root = await this.#parts.tasks.create(
      handler,
      { method, params: asked },
      {
        owner: caller.owner,
        origin: { dialect: caller.dialect.revision, method },
        ...(typeof ttl === 'number' && { ttlMs: ttl }),
      },
    );
    const tree = { root, descendants: [] };
    this.#follow(tree, caller);
    return caller.dialect.created(tree, (await this.#requests()).now);
  }

  /** SEP-2229: a task, unless the answer is there at once. */
  async #perhaps(
    handler: DurableTool,
    request: IncomingRequest,
    caller: Caller,
    wish: { readonly ttl?: unknown } = {},
  ): Promise<JsonObject> {
    const made = await this.#made(handler, request, caller, wish);
    const { taskId } = made.task as { taskId: string };
    const requests = await this.#requests();
    await untilDone(requests, { id: taskId, rootId: taskId }, { signal: AbortSignal.timeout(windowMs) });
    const task = await requests.task(taskId);
    if (task?.phase !== 'done') return made;
    const { outcome } = task;
    await requests.remove(taskId);
    if (outcome.kind !== 'result') throw new CallFailed(outcome);
    return outcome.value as JsonObject;
  }

  /** SEP-1686: the server is told that its task is there, and gets the ordinary answer all the same. */
  async #named(
    handler: DurableTool,
    { id, method, params }: IncomingRequest,
    caller: Caller,
  ): Promise<JsonObject> {
    const meta = isJsonObject(params._meta) ? params._meta : {};
    const { taskId, keepAlive } = wishOf(meta, params);
    const requests = await this.#requests();
    const root = await this.#parts.tasks.create(
      handler,
      { method, params },
      {
        id: await idOfName(requests, caller, taskId),
        owner: caller.owner,
        origin: { dialect: caller.dialect.revision, method, named: { taskId, session: '', requestId: id } },
        ...(keepAlive !== undefined && { keepAliveMs: keepAlive }),
      },
    );
    const tree = { root, descendants: [] };
    const cancelled = new AbortController();
    this.#pending.set(id, cancelled);
    try {
      await this.#parts.notify(createdMessage(tree));
      await untilDone(requests, root, { signal: cancelled.signal });
    } finally {
      this.#pending.delete(id);
    }
    if (cancelled.signal.aborted) await requests.cancel(root.id, 'The server cancelled its request.');
    const done = await view(requests, caller, root.id);
    const payload = done && payloadOf(done, caller.dialect.related);
    if (!payload)
      throw new CallFailed({ kind: 'lost', message: 'The task was removed before it was answered.' });
    return payload;
  }

  async #cancelNamed(name: string, requestId: unknown): Promise<void> {
    const requests = await this.#requests();
    const caller = { ...this.#callerOf({ method: '', params: {} }), dialect: originalTasks };
    const tree = await visible(requests, caller, await idOfName(requests, caller, name));
    if (tree?.root.origin.named?.requestId === requestId)
      await requests.cancel(tree!.root.id, 'The server cancelled its request.');
  }

  // --- About tasks ----------------------------------------------------------------------------------------

  async #taskMethod({ method, params }: IncomingRequest): Promise<JsonObject> {
    if (!isTaskMethod(method)) throw new NotOffered('Method not found');
    const requests = await this.#requests();
    const caller = this.#callerOf({ method, params });
    const { dialect } = caller;
    if (method === 'tasks/result' && !dialect.requestorNamesTasks && dialect.methods.includes(method)) {
      const tree = await known(requests, caller, params, method);
      await untilDone(requests, tree.root, { signal: new AbortController().signal });
      const payload = payloadOf(await known(requests, caller, params, method), dialect.related);
      if (!payload) throw new CallFailed({ kind: 'lost', message: 'The task is not over.' });
      return payload;
    }
    return (await answerTo(method, requests, caller, params)).result;
  }

  #callerOf({ method, params }: { readonly method: string; readonly params: JsonObject }): Caller {
    const { drafts, owner, server } = this.#parts;
    const opening = server();
    const dialect = dialectOf(opening, drafts, { method, meta: params._meta });
    return { owner: owner(), dialect, sender: dialect.sender(opening.capabilities), session: '' };
  }

  /** Tells the server how a task stands whenever that changes. */
  #follow(tree: TaskTree, caller: Caller): void {
    const { id } = topOf(tree);
    let told = 'working';
    const look = async () => {
      const requests = await this.#requests();
      const now = await view(requests, caller, id);
      const news = now && caller.dialect.news(now, requests.now);
      if (news && news.params.status !== told) {
        told = news.params.status as string;
        await this.#parts.notify(news);
      }
      if (!now || now.root.phase === 'done') this.#unfollow(id);
    };
    void this.#requests().then((requests) => {
      this.#followed.set(
        id,
        requests.watch(id, () => void look().catch(() => {})),
      );
      return look();
    });
  }

  #unfollow(id: TaskId): void {
    this.#followed.get(id)?.();
    this.#followed.delete(id);
  }

  #requests(): Promise<Requests> {
    return this.#parts.tasks.requests();
  }
}
