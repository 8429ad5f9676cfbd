/** Calls whose handles survive their host: made, pursued, remembered, and taken up again. */
import type { Client, Transport } from '@modelcontextprotocol/client';
import { drafts as allDrafts } from '../dialects/drafts/flags.ts';
import { toMs } from '../model/duration.ts';
import type { JsonObject } from '../model/json.ts';
import { Detached, MalformedAnswer, TaskLost } from '../remote-tasks/errors.ts';
import { originalTasks, remoteDialect } from '../remote-tasks/remote-dialect.ts';
import { checkedSize, type RemoteOutcome, sizeOf } from '../remote-tasks/remote-outcome.ts';
import { type RemoteTask, readTask } from '../remote-tasks/remote-task.ts';
import { Pace } from '../remote-tasks/retry-loop.ts';
import { Gone, mostAtOnce, TaskPoller } from '../remote-tasks/task-poller.ts';
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

/** Typed by the tools of its server, if they are given: `connectTasks<typeof tools>(…)`. */
export class TaskClient<Tools = unknown> implements AsyncDisposable {
  readonly #options: ConnectTasksOptions;
  readonly #connection: Connection;
  readonly #handles: CallRegistry;
  readonly #ledger: CallRecords;
  readonly #calls: CallSender;
  readonly #listening: TaskSubscription;
  readonly #questions: PushedQuestions;
  readonly #pace: Pace;
  readonly #requests = new Semaphore(mostAtOnce);
  /** By the ids of their handles. */
  readonly #live = new Map<string, LiveCall>();
  readonly #closed = new AbortController();
  readonly #reconnectTimeoutMs: number;
  readonly #maxResultSize: number;
  readonly #hosting: TaskHost | undefined;
  #server: string | undefined;

  constructor(client: Client, transport: Transport | OpenTransport, options: ConnectTasksOptions) {
    this.#options = options;
    this.#pace = new Pace(options.pace);
    this.#reconnectTimeoutMs = toMs(options.reconnectTimeout ?? '10m');
    this.#maxResultSize = options.maxResultSize ?? 32 * 1024 * 1024;
    this.#handles = options.registry;
    this.#ledger = new CallRecords(options.registry, options.onEvent);
    const { answer, answers = answer ? ['form', 'url'] : [], drafts = [] } = options;
    this.#hosting = options.createTaskHost?.({
      opening: () => ({
        protocolVersion: client.getNegotiatedProtocolVersion(),
        capabilities: client.getServerCapabilities(),
      }),
      notify: (message) => this.#connection.dispatcher.notify(message),
    });
    this.#connection = new Connection(client, transport, {
      drafts: new Set(drafts === 'all' ? allDrafts : drafts),
      isOriginal: options.dialect === 'sep-1686',
      capabilities: { ...capabilitiesFor(answers), ...this.#hosting?.capabilities },
      timeoutMs: toMs(options.requestTimeout ?? '30s'),
      onNotification: (method, params) => {
        this.#listening.onNotification(method, params);
        this.#calls.onNotification(method, params);
        this.#hosting?.onNotification(method, params);
      },
      onRequest: (request) => this.#hosting?.request(request) ?? this.#questions.onRequest(request),
      onResponded: (id) => this.#questions.responded(id),
    });
    this.#listening = new TaskSubscription(this.#connection.dispatcher, () => this.#connection.isModern);
    this.#questions = new PushedQuestions(client, answer, answers, (taskId) =>
      this.#ledger.answersFor(taskId, this.#server!, (id) => this.#parentOf(id)),
    );
    this.#calls = new CallSender(this.#connection, {
      ...options,
      pace: this.#pace,
      reconnectTimeoutMs: this.#reconnectTimeoutMs,
      questions: this.#questions,
      records: this.#ledger,
    });
  }

  async connect(): Promise<Agreement> {
    const agreement = await this.#connection.connect();
    this.#server ??= this.#options.server ?? this.client.getServerVersion()?.name ?? 'unknown';
    this.#ledger.prune(this.#server);
    return agreement;
  }

  get client(): Client {
    return this.#connection.client;
  }

  /** Calls a tool. The handle is there as soon as the server has answered, whatever it answered. */
  async call<Name extends ToolName<Tools>>(
    tool: Name,
    ...[input = {}, options]: CallArguments<Tools, Name>
  ): Promise<TaskHandle<HandleResult<Tools, Name>>> {
    const handle = await this.start('tools/call', { name: tool, arguments: input as JsonObject }, options);
    return handle as TaskHandle<HandleResult<Tools, Name>>;
  }

  /** Any other request that may become a task. */
  async start(method: string, params: JsonObject, options: CallOptions = {}): Promise<TaskHandle> {
    const { target } = this.#options;
    const { idempotencyKey } = options;
    const record: CallRecord = {
      ...newRecord({ server: this.#server!, method, params }),
      ...(target && { target }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    };
    this.#handles.save(record);
    this.#ledger.log(record, 'called');
    return this.#begin(record, options);
  }

  /** As the SDK's own: the result, however long it takes. */
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

  /** Any request that never becomes a task, answered as the server answers it. */
  request(
    method: string,
    params: JsonObject,
    { signal = this.#closed.signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<JsonObject> {
    return this.#connection.request({ method, params }, { signal });
  }

  /** Takes a handle up again, in whichever process it was made. */
  async resume(id: string, options: Pick<CallOptions, 'answer'> = {}): Promise<TaskHandle> {
    // A detached handle gives no result. Who resumes its call waits until it has ended, and then gets a new one.
    for (let live = this.#live.get(id); live; live = this.#live.get(id)) {
      if (!live.handle.detached.signal.aborted) return live.handle;
      await live.settled;
    }
    const record = this.#handles.get(id);
    if (!record) throw new TaskLost(id, 'there is no such handle here.');
    this.#ledger.log(record, 'resumed');
    if (record.ending) return this.#handleOf(record).end(record.ending);
    return this.#takeUp(record, options);
  }

  /** Takes up every handle of this server whose outcome nobody has been given. */
  async resumeAll(): Promise<TaskHandle[]> {
    const open = this.#handles.list({ server: this.#server!, onlyOpen: true });
    return Promise.all(open.map(({ id }) => this.resume(id)));
  }

  /** The tasks that the server lists, over all pages. */
  list(): AsyncGenerator<RemoteTask> {
    return listedTasks(this.#connection);
  }

  /** Stops waiting for everything; tasks go on, and handles stay. */
  async close(): Promise<void> {
    this.#closed.abort();
    for (const { handle } of this.#live.values()) handle.detach();
    this.#questions.close();
    this.#listening.close();
    await this.#hosting?.close();
    await this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // --- From a call to a handle ----------------------------------------------------------------------------

  async #begin(record: CallRecord, options: CallOptions): Promise<TaskHandle> {
    const over = controllerFor(options.signal);
    if (this.#connection.dialect === originalTasks) return this.#beginOriginal(record, options, over);
    try {
      return await this.#send(this.#handleOf(record, over), record, options);
    } catch (error) {
      // What the server refused has no task, and no handle either; what may have got through can be taken up again.
      if (!over.signal.aborted && !this.#calls.mayHaveArrived(error)) this.#handles.delete(record.id);
      this.#calls.forget(record);
      over.abort();
      throw error;
    }
  }

  /** Sends a call, and writes down what came of it. Its handle has ended then, or its task is pursued. */
  async #send(handle: CallHandle, record: CallRecord, options: CallOptions): Promise<TaskHandle> {
    const { detached: over } = handle;
    const { dialect } = this.#connection;
    const reply = await this.#calls.send(record, { ...options, signal: over.signal });
    if (reply.kind === 'result') {
      checkedSize(sizeOf(reply.result), this.#maxResultSize);
      this.#calls.forget(record);
      over.abort(answered);
      this.#live.delete(record.id);
      return this.#end(handle, record, reply);
    }
    const { task, interim = this.#options.interimText?.(toolOf(record) ?? record.method) } = reply;
    if (!dialect) throw new MalformedAnswer(`it answered ${record.method} with a task, and declares none`);
    const known = { ...record, dialect: dialect.name, taskId: task.taskId };
    // Answers that were given on the way are in the registry already.
    this.#handles.save({ ...known, answers: this.#handles.get(record.id)?.answers ?? {} });
    this.#ledger.log(known, 'task');
    return this.#pursue(handle, known, { first: task, interim, answer: options.answer });
  }

  /** SEP-1686: the plain answer and the task that is said to be there race; the first that succeeds is the outcome. */
  #beginOriginal(record: CallRecord, options: CallOptions, over: AbortController): TaskHandle {
    const known = { ...record, dialect: originalTasks.name, taskId: record.id };
    this.#handles.save(known);
    const { race, cancel } = this.#calls.sendOriginal(known, over.signal, options);
    return this.#pursue(this.#handleOf(known, over, cancel), known, { race, answer: options.answer });
  }

  /** A call of which no outcome is known. Its handle is there at once, whatever has to be asked first. */
  #takeUp(record: CallRecord, { answer }: Pick<CallOptions, 'answer'>): TaskHandle {
    const handle = this.#handleOf(record);
    if (record.taskId !== undefined) return this.#pursue(handle, record, { answer });
    if (!this.#calls.canResend) {
      const why =
        'the host ended before the server answered, and the server cannot be asked whether it was called.';
      return this.#end(handle, record, { kind: 'lost', why });
    }
    const left = this.#send(handle, record, { ...(answer && { answer }) }).catch((error: unknown) => {
      this.#live.delete(record.id);
      this.#failed(handle, record, handle.detached.signal.aborted ? new Detached() : error);
    });
    this.#live.set(record.id, { handle, settled: left });
    return handle;
  }

  // --- Pursuing -------------------------------------------------------------------------------------------

  #pursue(handle: CallHandle, record: CallRecord, beginning: Beginning): TaskHandle {
    const { first, interim, answer, race = (pursue) => pursue() } = beginning;
    const taskId = record.taskId!;
    const dialect = remoteDialect(record.dialect ?? '');
    if (!dialect) {
      const why = `nobody here knows its dialect, "${record.dialect}".`;
      this.#failed(handle, record, new TaskLost(taskId, why));
      return handle;
    }
    const tasks = new Set([taskId]);
    const kept = this.#ledger.answersOf(record.id);
    const pursuit = new TaskPoller(taskId, {
      peer: this.#connection,
      dialect,
      pace: this.#pace,
      requests: this.#requests,
      answering: this.#questions.answeringOf(kept, answer),
      news: this.#listening,
      onUpdate: (update) => {
        handle.emit(update);
        this.#ledger.log(record, update.type, update.type === 'status' ? update.task.status : undefined);
        if (update.type === 'status') this.#questions.statusSeen(update.task, kept);
        if (update.type === 'child') this.#ledger.addTask(update.taskId, record);
        if (update.type === 'child') tasks.add(update.taskId);
      },
      signal: handle.detached.signal,
      reconnectTimeoutMs: this.#reconnectTimeoutMs,
      maxResultSize: this.#maxResultSize,
      first,
      ...(this.#options.limits && { limits: this.#options.limits }),
    });
    handle.setPoller(taskId, pursuit);
    this.#ledger.addTask(taskId, record);
    this.#calls.onProgress(record, (progress) => handle.emit({ type: 'progress', taskId, ...progress }));
    if (interim !== undefined)
      runtime.setImmediate(() => handle.emit({ type: 'interim', taskId, text: interim }));
    const left = race((options) => pursuit.run(options))
      .catch(endingOf)
      .then((ending) => {
        if (ending.kind === 'result') checkResult(record.method, ending.result);
        this.#end(handle, record, ending);
      })
      .catch((error: unknown) => this.#failed(handle, record, error))
      .finally(() => {
        handle.detach();
        this.#live.delete(record.id);
        this.#calls.forget(record);
        this.#ledger.removeTasks(tasks);
      });
    this.#live.set(record.id, { handle, settled: left });
    return handle;
  }

  #end(handle: CallHandle, record: CallRecord, ending: RemoteOutcome): TaskHandle {
    this.#ledger.end(record, ending);
    if (this.#options.deleteAfterRead && ending.kind === 'result')
      void this.#ask('delete', record).catch(() => {});
    return handle.end(ending);
  }

  #failed(handle: CallHandle, record: CallRecord, error: unknown): void {
    this.#ledger.log(record, 'failed', error instanceof Error ? error.message : undefined);
    handle.fail(error);
  }

  #handleOf(
    record: CallRecord,
    over = new AbortController(),
    cancel = () => this.#ask('cancel', record),
  ): CallHandle {
    return new CallHandle(record.id, record.taskId, over, {
      cancel,
      delete: async () => {
        over.abort();
        await this.#ask('delete', record);
        this.#handles.delete(record.id);
      },
      deliver: () => this.#ledger.deliver(record.id),
    });
  }

  /** Asks the server to end or remove the task of a call, where its dialect has a word for that. */
  async #ask(act: 'cancel' | 'delete', record: CallRecord): Promise<void> {
    // The registry knows of a task that came after the handle.
    const { taskId, dialect } = this.#handles.get(record.id) ?? record;
    const message = taskId !== undefined && remoteDialect(dialect ?? '')?.[act]?.(taskId);
    if (message) await this.#connection.request(message, { signal: this.#closed.signal });
  }

  async #parentOf(taskId: string): Promise<string | undefined> {
    const message = this.#connection.dialect?.get(taskId);
    if (!message) return undefined;
    return readTask(await this.#connection.request(message, { signal: this.#closed.signal })).parentId;
  }
}

/** A reason that costs nothing to make: by default each abort makes an exception of its own. */
const answered = new Error('The call was answered.');

/** How a task came to be pursued. */
interface Beginning {
  readonly first?: RemoteTask;
  readonly interim?: string | undefined;
  readonly answer?: AnswerQuestion | undefined;
  readonly race?: (pursue: TaskPoller['run']) => Promise<RemoteOutcome>;
}

function endingOf(error: unknown): RemoteOutcome {
  if (error instanceof Gone) return error.ending;
  throw error;
}
