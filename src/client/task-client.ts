/** Calls with durable handles: sends, polls and resumes them, and records them in the call registry. */
import type { Client, Transport } from '@modelcontextprotocol/client';
import { drafts as allDrafts } from '../dialects/drafts/flags.ts';
import { toMs } from '../model/duration.ts';
import type { JsonObject } from '../model/json.ts';
import { Detached, MalformedAnswer, TaskLost } from '../remote-tasks/errors.ts';
import { originalTasks, remoteDialect } from '../remote-tasks/remote-dialect.ts';
import { checkedSize, type RemoteOutcome, sizeOf } from '../remote-tasks/remote-outcome.ts';
import { type RemoteTask, readTask } from '../remote-tasks/remote-task.ts';
import { Pace } from '../remote-tasks/retry-loop.ts';
import { Gone, maxConcurrentRequests, TaskPoller } from '../remote-tasks/task-poller.ts';
import { runtime } from '../runtime/runtime.ts';
import { Semaphore } from '../runtime/semaphore.ts';
import { CallHandle, controllerFor, type LiveCall, type TaskHandle } from './call-handle.ts';
import { CallRecords, toolOf } from './call-records.ts';
import { type CallRecord, type CallRegistry, newRecord } from './call-registry.ts';
import { CallSender, checkResult, type GetPromptResult, type ReadResourceResult } from './call-sender.ts';
import { listedTasks } from './listing.ts';
import type { CallOptions, ConnectTasksOptions, TaskHost } from './options.ts';
import { PushedQuestions } from './questions/pushed-questions.ts';
import { type AnswerQuestion, capabilitiesFor } from './questions/question-callback.ts';
import { TaskSubscription } from './task-subscription.ts';
import { type Agreement, Connection, type OpenTransport } from './transports/reconnecting.ts';
import type { ArgumentsMember, CallArguments, HandleResult, ResultOfCall, ToolName } from './typed-tools.ts';

export type { CallEvent, CallOptions, ConnectTasksOptions, TaskHost, TaskHostContext } from './options.ts';

/** A client of one server. Calls are typed if the type of the tools is given: `connectTasks<typeof tools>(…)`. */
export class TaskClient<Tools = unknown> implements AsyncDisposable {
  readonly #options: ConnectTasksOptions;
  readonly #connection: Connection;
  readonly #registry: CallRegistry;
  readonly #records: CallRecords;
  readonly #sender: CallSender;
  readonly #subscription: TaskSubscription;
  readonly #questions: PushedQuestions;
  readonly #pace: Pace;
  readonly #requests = new Semaphore(maxConcurrentRequests);
  /** Live calls by the id of their handle. */
  readonly #live = new Map<string, LiveCall>();
  readonly #closed = new AbortController();
  readonly #reconnectTimeoutMs: number;
  readonly #maxResultSize: number;
  readonly #taskHost: TaskHost | undefined;
  /** The name of the server in the call registry; undefined before the first connection. */
  #server: string | undefined;

  constructor(client: Client, transport: Transport | OpenTransport, options: ConnectTasksOptions) {
    this.#options = options;
    this.#pace = new Pace(options.pace);
    this.#reconnectTimeoutMs = toMs(options.reconnectTimeout ?? '10m');
    this.#maxResultSize = options.maxResultSize ?? 32 * 1024 * 1024;
    this.#registry = options.registry;
    this.#records = new CallRecords(options.registry, options.onEvent);
    const { answer, answers = answer ? ['form', 'url'] : [], drafts = [] } = options;
    this.#taskHost = options.createTaskHost?.({
      opening: () => ({
        protocolVersion: client.getNegotiatedProtocolVersion(),
        capabilities: client.getServerCapabilities(),
      }),
      notify: (message) => this.#connection.dispatcher.notify(message),
    });
    this.#connection = new Connection(client, transport, {
      drafts: new Set(drafts === 'all' ? allDrafts : drafts),
      isOriginal: options.dialect === 'sep-1686',
      capabilities: { ...capabilitiesFor(answers), ...this.#taskHost?.capabilities },
      timeoutMs: toMs(options.requestTimeout ?? '30s'),
      onNotification: (method, params) => {
        this.#subscription.onNotification(method, params);
        this.#sender.onNotification(method, params);
        this.#taskHost?.onNotification(method, params);
      },
      onRequest: (request) => this.#taskHost?.request(request) ?? this.#questions.onRequest(request),
      onResponded: (id) => this.#questions.responded(id),
    });
    this.#subscription = new TaskSubscription(this.#connection.dispatcher, () => this.#connection.isModern);
    this.#questions = new PushedQuestions(client, answer, answers, (taskId) =>
      this.#records.answersFor(taskId, this.#server!, (id) => this.#parentOf(id)),
    );
    this.#sender = new CallSender(this.#connection, {
      ...options,
      pace: this.#pace,
      reconnectTimeoutMs: this.#reconnectTimeoutMs,
      questions: this.#questions,
      records: this.#records,
    });
  }

  async connect(): Promise<Agreement> {
    const agreement = await this.#connection.connect();
    this.#server ??= this.#options.server ?? this.client.getServerVersion()?.name ?? 'unknown';
    this.#records.prune(this.#server);
    return agreement;
  }

  get client(): Client {
    return this.#connection.client;
  }

  /** Calls a tool. Returns a handle as soon as the server has answered, with a result or a task. */
  async call<Name extends ToolName<Tools>>(
    tool: Name,
    ...[input = {}, options]: CallArguments<Tools, Name>
  ): Promise<TaskHandle<HandleResult<Tools, Name>>> {
    const handle = await this.start('tools/call', { name: tool, arguments: input as JsonObject }, options);
    return handle as TaskHandle<HandleResult<Tools, Name>>;
  }

  /**
   * Sends any request that may become a task. Returns a handle as soon as the server has answered, with SEP-1686 at
   * once.
   */
  async start(method: string, params: JsonObject, options: CallOptions = {}): Promise<TaskHandle> {
    const { target } = this.#options;
    const { idempotencyKey } = options;
    const record: CallRecord = {
      ...newRecord({ server: this.#server!, method, params }),
      ...(target && { target }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    };
    this.#registry.save(record);
    this.#records.log(record, 'called');
    return this.#start(record, options);
  }

  /** Like `callTool` of the SDK: waits for the result, however long it takes. */
  async callTool<Name extends ToolName<Tools>>(
    { name, arguments: input = {} }: { readonly name: Name } & ArgumentsMember<Tools, Name>,
    options?: CallOptions,
  ): Promise<ResultOfCall<Tools, Name>> {
    const handle = await this.start('tools/call', { name, arguments: input as JsonObject }, options);
    return (await handle.result()) as ResultOfCall<Tools, Name>;
  }

  async readResource({ uri }: { uri: string }, options?: CallOptions): Promise<ReadResourceResult> {
    return (await (await this.start('resources/read', { uri }, options)).result()) as ReadResourceResult;
  }

  async getPrompt(
    { name, arguments: input = {} }: { name: string; arguments?: JsonObject },
    options?: CallOptions,
  ): Promise<GetPromptResult> {
    const handle = await this.start('prompts/get', { name, arguments: input }, options);
    return (await handle.result()) as GetPromptResult;
  }

  /** Sends a request that never becomes a task, and returns the answer unchanged. */
  request(
    method: string,
    params: JsonObject,
    { signal = this.#closed.signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<JsonObject> {
    return this.#connection.request({ method, params }, { signal });
  }

  /** Resumes a call, also in another process than the one that sent it. Rejects if the id is unknown. */
  async resume(id: string, options: Pick<CallOptions, 'answer'> = {}): Promise<TaskHandle> {
    // A detached handle has no result. Resuming its call waits until it has ended, and creates a new handle.
    for (let live = this.#live.get(id); live; live = this.#live.get(id)) {
      if (!live.handle.detached.signal.aborted) return live.handle;
      await live.settled;
    }
    const record = this.#registry.get(id);
    if (!record) throw new TaskLost(id, 'this client has no such handle.');
    this.#records.log(record, 'resumed');
    if (record.ending) return this.#handleOf(record).end(record.ending);
    return this.#resumeOpen(record, options);
  }

  /** Resumes all calls of this server whose outcome has not been delivered. */
  async resumeAll(): Promise<TaskHandle[]> {
    const open = this.#registry.list({ server: this.#server!, onlyOpen: true });
    return Promise.all(open.map(({ id }) => this.resume(id)));
  }

  /** All tasks that the server lists. */
  list(): AsyncGenerator<RemoteTask> {
    return listedTasks(this.#connection);
  }

  /** Closes the connection. Tasks continue, and handles can be resumed. */
  async close(): Promise<void> {
    this.#closed.abort();
    for (const { handle } of this.#live.values()) handle.detach();
    this.#questions.close();
    this.#subscription.close();
    await this.#taskHost?.close();
    await this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // --- From a call to a handle ----------------------------------------------------------------------------

  async #start(record: CallRecord, options: CallOptions): Promise<TaskHandle> {
    const detached = controllerFor(options.signal);
    if (this.#connection.dialect === originalTasks) return this.#startOriginal(record, options, detached);
    try {
      return await this.#send(this.#handleOf(record, detached), record, options);
    } catch (error) {
      // A rejected call has no task and needs no record. A call that may have arrived can be resumed.
      if (!detached.signal.aborted && !this.#sender.mayHaveArrived(error)) this.#registry.delete(record.id);
      this.#sender.forget(record);
      detached.abort();
      throw error;
    }
  }

  /** Sends a call, and records the reply: a result ends the handle, and a task is polled. */
  async #send(handle: CallHandle, record: CallRecord, options: CallOptions): Promise<TaskHandle> {
    const { detached } = handle;
    const { dialect } = this.#connection;
    const reply = await this.#sender.send(record, { ...options, signal: detached.signal });
    if (reply.kind === 'result') {
      checkedSize(sizeOf(reply.result), this.#maxResultSize);
      this.#sender.forget(record);
      detached.abort(answered);
      this.#live.delete(record.id);
      return this.#end(handle, record, reply);
    }
    const { task, interim = this.#options.interimText?.(toolOf(record) ?? record.method) } = reply;
    if (!dialect)
      throw new MalformedAnswer(`it answered ${record.method} with a task, but does not declare tasks`);
    const known = { ...record, dialect: dialect.name, taskId: task.taskId };
    // Answers from before the task are in the registry already.
    this.#registry.save({ ...known, answers: this.#registry.get(record.id)?.answers ?? {} });
    this.#records.log(known, 'task');
    return this.#poll(handle, known, { first: task, interim, answer: options.answer });
  }

  /** SEP-1686: the plain answer and the task race. The first success is the outcome. */
  #startOriginal(record: CallRecord, options: CallOptions, detached: AbortController): TaskHandle {
    const known = { ...record, dialect: originalTasks.name, taskId: record.id };
    this.#registry.save(known);
    const { race, cancel } = this.#sender.sendOriginal(known, detached.signal, options);
    return this.#poll(this.#handleOf(known, detached, cancel), known, { race, answer: options.answer });
  }

  /** Resumes a call without a known outcome. Returns its handle at once. */
  #resumeOpen(record: CallRecord, { answer }: Pick<CallOptions, 'answer'>): TaskHandle {
    const handle = this.#handleOf(record);
    if (record.taskId !== undefined) return this.#poll(handle, record, { answer });
    if (!this.#sender.canResend) {
      const why = 'the host stopped before the server answered, and the call cannot be sent again safely.';
      return this.#end(handle, record, { kind: 'lost', why });
    }
    const settled = this.#send(handle, record, { ...(answer && { answer }) }).catch((error: unknown) => {
      this.#live.delete(record.id);
      this.#failed(handle, record, handle.detached.signal.aborted ? new Detached() : error);
    });
    this.#live.set(record.id, { handle, settled });
    return handle;
  }

  // --- Polling --------------------------------------------------------------------------------------------

  #poll(handle: CallHandle, record: CallRecord, options: PollOptions): TaskHandle {
    const { first, interim, answer, race = (poll) => poll() } = options;
    const taskId = record.taskId!;
    const dialect = remoteDialect(record.dialect ?? '');
    if (!dialect) {
      const why = `its dialect "${record.dialect}" is unknown.`;
      this.#failed(handle, record, new TaskLost(taskId, why));
      return handle;
    }
    const tasks = new Set([taskId]);
    const answers = this.#records.answersOf(record.id);
    const poller = new TaskPoller(taskId, {
      peer: this.#connection,
      dialect,
      pace: this.#pace,
      requests: this.#requests,
      answering: this.#questions.answeringFor(answers, answer),
      notifications: this.#subscription,
      onUpdate: (update) => {
        handle.emit(update);
        this.#records.log(record, update.type, update.type === 'status' ? update.task.status : undefined);
        if (update.type === 'status') this.#questions.statusSeen(update.task, answers);
        if (update.type === 'child') this.#records.addTask(update.taskId, record);
        if (update.type === 'child') tasks.add(update.taskId);
      },
      signal: handle.detached.signal,
      reconnectTimeoutMs: this.#reconnectTimeoutMs,
      maxResultSize: this.#maxResultSize,
      first,
      ...(this.#options.limits && { limits: this.#options.limits }),
    });
    handle.setPoller(taskId, poller);
    this.#records.addTask(taskId, record);
    this.#sender.onProgress(record, (progress) => handle.emit({ type: 'progress', taskId, ...progress }));
    if (interim !== undefined)
      runtime.setImmediate(() => handle.emit({ type: 'interim', taskId, text: interim }));
    const settled = race((runOptions) => poller.run(runOptions))
      .catch(endingOf)
      .then((ending) => {
        if (ending.kind === 'result') checkResult(record.method, ending.result);
        this.#end(handle, record, ending);
      })
      .catch((error: unknown) => this.#failed(handle, record, error))
      .finally(() => {
        handle.detach();
        this.#live.delete(record.id);
        this.#sender.forget(record);
        this.#records.removeTasks(tasks);
      });
    this.#live.set(record.id, { handle, settled });
    return handle;
  }

  #end(handle: CallHandle, record: CallRecord, ending: RemoteOutcome): TaskHandle {
    this.#records.end(record, ending);
    if (this.#options.deleteAfterRead && ending.kind === 'result')
      void this.#requestOnTask('delete', record).catch(() => {});
    return handle.end(ending);
  }

  #failed(handle: CallHandle, record: CallRecord, error: unknown): void {
    this.#records.log(record, 'failed', error instanceof Error ? error.message : undefined);
    handle.fail(error);
  }

  #handleOf(
    record: CallRecord,
    detached = new AbortController(),
    cancel = () => this.#requestOnTask('cancel', record),
  ): CallHandle {
    return new CallHandle(record.id, record.taskId, detached, {
      cancel,
      delete: async () => {
        detached.abort();
        await this.#requestOnTask('delete', record);
        this.#registry.delete(record.id);
      },
      deliver: () => this.#records.deliver(record.id),
    });
  }

  /** Asks the server to cancel or delete the task of a call, if the dialect supports that. */
  async #requestOnTask(act: 'cancel' | 'delete', record: CallRecord): Promise<void> {
    // The task may be newer than this record.
    const { taskId, dialect } = this.#registry.get(record.id) ?? record;
    const message = taskId !== undefined && remoteDialect(dialect ?? '')?.[act]?.(taskId);
    if (message) await this.#connection.request(message, { signal: this.#closed.signal });
  }

  /** Reads the task from the server, and returns the id of its parent. */
  async #parentOf(taskId: string): Promise<string | undefined> {
    const message = this.#connection.dialect?.get(taskId);
    if (!message) return undefined;
    return readTask(await this.#connection.request(message, { signal: this.#closed.signal })).parentId;
  }
}

/** A shared abort reason, for speed: by default each abort creates an exception. */
const answered = new Error('The call was answered.');

/** Options of `#poll`. */
interface PollOptions {
  /** The task as the server returned it from the call. */
  readonly first?: RemoteTask;
  /** A text for the model while the call continues. */
  readonly interim?: string | undefined;
  readonly answer?: AnswerQuestion | undefined;
  /** Runs the poller. With SEP-1686 the plain answer may come first. */
  readonly race?: (poll: TaskPoller['run']) => Promise<RemoteOutcome>;
}

/** The outcome of a task that the server no longer has. Throws other errors. */
function endingOf(error: unknown): RemoteOutcome {
  if (error instanceof Gone) return error.outcome;
  throw error;
}
