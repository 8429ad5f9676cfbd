/** Calls whose handles survive their host: made, pursued, remembered, and taken up again. */
import type { Client, Transport } from '@modelcontextprotocol/client';
import { digestOf } from '../model/digest.ts';
import { type Duration, toMs } from '../model/duration.ts';
import { newId } from '../model/id.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { drafts as allDrafts, type Draft } from '../protocol/dialects/drafts/flags.ts';
import type { Ending } from '../requestor/ending.ts';
import { MalformedAnswer, TaskLost } from '../requestor/errors.ts';
import { Pace, type PaceOptions } from '../requestor/pace.ts';
import { Gone, Pursuit, type TaskUpdate } from '../requestor/pursuit.ts';
import { type RemoteDialect, remoteDialect } from '../requestor/remote-dialect.ts';
import { type RemoteTask, readTask } from '../requestor/remote-task.ts';
import type { TreeLimits } from '../requestor/tree-guard.ts';
import { type AnswerQuestion, capabilitiesFor, type QuestionKind } from './asking.ts';
import { Calls } from './calls.ts';
import { Connection, type Opens } from './connection.ts';
import type { Notified, Requested } from './dispatcher.ts';
import { Handle, type TaskHandle } from './handle.ts';
import type { HandleRecord, Handles } from './handles.ts';
import { Listening } from './listening.ts';
import { PushedQuestions } from './pushed-questions.ts';
import { checkedResult } from './reply.ts';

export interface ConnectTasksOptions {
  /** Answers what tasks ask. Without it nothing can be asked, and servers are told so. */
  readonly answer?: AnswerQuestion;
  /** What it can answer. Default `['form', 'url']`. */
  readonly answers?: readonly QuestionKind[];
  /** Where handles are kept. */
  readonly handles: Handles;
  /** The name under which the server's handles are kept. By default the one that it gives itself. */
  readonly server?: string;
  /** Drafts of tasks to be used where the server has them too: some, or `'all'`. By default none. */
  readonly drafts?: readonly Draft[] | 'all';
  /** Speak this draft, whatever else the server has. */
  readonly dialect?: 'sep-1686';
  readonly pace?: PaceOptions;
  /** How long one request may take. Default `'30s'`. */
  readonly requestTimeout?: Duration;
  /** How long a call may take that is answered without a task. Default `'10m'`. */
  readonly callTimeout?: Duration;
  /** How long a server that cannot be reached is waited for. Default `'10m'`. */
  readonly unreachableFor?: Duration;
  readonly limits?: TreeLimits;
  /** In characters of JSON. Default 32 Mi. */
  readonly largestResult?: number;
  /** Removes a task from its server once its result is here, where the server can do that. */
  readonly deleteAfterRead?: boolean;
  /** What a model may be told of a call that goes on, where the server says nothing. */
  readonly interim?: (tool: string) => string;
  /** Refuses tasks that were not asked for, and results where a task was, as 2025-11-25 has it. */
  readonly strict?: boolean;
  /** Makes tasks of what servers ask, where they want that. */
  readonly hosts?: (about: Hosted) => Hosting;
  /** Hears of everything that happens to calls, to be logged. */
  readonly onEvent?: (event: CallEvent) => void;
}

/** What there is to know for whoever makes tasks of a server's questions. */
export interface Hosted {
  /** The name under which the server is known here. */
  server(): string;
  opening(): { readonly protocolVersion?: unknown; readonly capabilities?: unknown };
  notify(message: { method: string; params: JsonObject }): Promise<void>;
}

export interface Hosting {
  readonly capabilities: JsonObject;
  readonly request: Requested;
  readonly heard: Notified;
  close(): Promise<void>;
}

export interface CallEvent {
  readonly at: number;
  readonly handle: string;
  readonly method: string;
  readonly tool?: string;
  readonly taskId?: string;
  readonly event:
    | 'called'
    | 'resumed'
    | 'task'
    | 'done'
    | 'failed'
    | 'cancelled'
    | 'lost'
    | TaskUpdate['type'];
  readonly detail?: string;
}

export interface CallOptions {
  /** How long the task should be known, from now. A wish. */
  readonly ttl?: Duration;
  /** Stops waiting; the task goes on. */
  readonly signal?: AbortSignal;
  /** Calls with the same key are carried out once, by servers that know such keys. Made up if it is not given. */
  readonly idempotencyKey?: string;
}

export class TaskClient implements AsyncDisposable {
  readonly #options: ConnectTasksOptions;
  readonly #connection: Connection;
  readonly #calls: Calls;
  readonly #listening: Listening;
  readonly #questions: PushedQuestions;
  readonly #pace: Pace;
  readonly #live = new Map<string, { readonly handle: Handle; readonly over: AbortController }>();
  readonly #hosting: Hosting | undefined;
  #server: string | undefined;

  constructor(client: Client, transport: Transport | Opens, options: ConnectTasksOptions) {
    this.#options = options;
    this.#pace = new Pace(options.pace);
    const { answer, answers = answer ? ['form', 'url'] : [], drafts = [] } = options;
    this.#hosting = options.hosts?.({
      server: () => this.#server ?? 'unknown',
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
      onRequest: (request) => this.#hosting?.request(request),
      timeoutMs: toMs(options.requestTimeout ?? '30s'),
      onNotification: (method, params) => {
        this.#listening.heard(method, params);
        this.#calls.heard(method, params);
        this.#hosting?.heard(method, params);
      },
    });
    this.#listening = new Listening(this.#connection.dispatcher, () => this.#connection.isModern);
    this.#questions = new PushedQuestions(client, answer, answers, (taskId) => this.#recordOf(taskId));
    this.#calls = new Calls(this.#connection, options, (question, signal) =>
      this.#questions.answer(question, signal),
    );
  }

  async connect(): Promise<void> {
    await this.#connection.connect();
    this.#server = this.#options.server ?? this.#connection.client.getServerVersion()?.name ?? 'unknown';
  }

  get client(): Client {
    return this.#connection.client;
  }

  /** Calls a tool. The handle is there as soon as the server has answered, whatever it answered. */
  call(tool: string, input: JsonObject = {}, options: CallOptions = {}): Promise<TaskHandle> {
    return this.start('tools/call', { name: tool, arguments: input }, options);
  }

  /** Any other request that may become a task. */
  async start(method: string, params: JsonObject, options: CallOptions = {}): Promise<TaskHandle> {
    const record: HandleRecord = {
      id: newId(),
      server: this.#server!,
      method,
      params,
      argumentsDigest: await digestOf(params),
      idempotencyKey: options.idempotencyKey ?? newId(),
      createdAt: Date.now(),
      answers: {},
      isDelivered: false,
    };
    this.#options.handles.save(record);
    this.#log(record, 'called');
    return this.#begin(record, options);
  }

  /** As the SDK's own: the result, however long it takes. */
  async callTool(
    { name, arguments: input = {} }: { name: string; arguments?: JsonObject },
    options?: CallOptions,
  ): Promise<JsonObject> {
    return (await this.call(name, input, options)).result();
  }

  async readResource({ uri }: { uri: string }, options?: CallOptions): Promise<JsonObject> {
    return (await this.start('resources/read', { uri }, options)).result();
  }

  async getPrompt(
    { name, arguments: input = {} }: { name: string; arguments?: JsonObject },
    options?: CallOptions,
  ): Promise<JsonObject> {
    return (await this.start('prompts/get', { name, arguments: input }, options)).result();
  }

  /** Takes a handle up again, in whichever process it was made. */
  async resume(id: string): Promise<TaskHandle> {
    const live = this.#live.get(id);
    if (live) return live.handle;
    const record = this.#options.handles.get(id);
    if (!record) throw new TaskLost(id, 'there is no such handle here.');
    this.#log(record, 'resumed');
    if (record.ending) {
      const handle = this.#handleOf(record);
      handle.end(record.ending);
      return handle;
    }
    if (record.taskId !== undefined && record.dialect !== undefined)
      return this.#pursue(record, remoteDialect(record.dialect)!);
    return this.#beginAgain(record);
  }

  /** Takes up every handle of this server whose outcome nobody has been given. */
  async resumeAll(): Promise<TaskHandle[]> {
    const open = this.#options.handles.list({ server: this.#server!, onlyOpen: true });
    return Promise.all(open.map(({ id }) => this.resume(id)));
  }

  /** The tasks that the server lists, over all pages. */
  async *list(): AsyncGenerator<RemoteTask> {
    const { dialect } = this.#connection;
    if (!dialect?.list || (dialect.name !== 'sep-1686' && !this.#connection.has('list')))
      throw new MalformedListing();
    const { signal } = new AbortController();
    const seen = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page = await this.#connection.request(dialect.list(cursor), { signal });
      if (!Array.isArray(page.tasks)) throw new MalformedAnswer('its list of tasks is no list');
      for (const task of page.tasks) yield readTask(task);
      if (page.nextCursor === undefined) return;
      if (typeof page.nextCursor !== 'string' || seen.has(page.nextCursor))
        throw new MalformedAnswer('its list of tasks has no end');
      cursor = page.nextCursor;
      seen.add(cursor);
    }
  }

  /** Stops waiting for everything; tasks go on, and handles stay. */
  async close(): Promise<void> {
    for (const { over } of this.#live.values()) over.abort();
    this.#listening.close();
    await this.#hosting?.close();
    await this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // --- From a call to a handle ----------------------------------------------------------------------------

  async #begin(record: HandleRecord, options: CallOptions): Promise<TaskHandle> {
    const { dialect } = this.#connection;
    const signal = options.signal ?? new AbortController().signal;
    if (dialect?.name === 'sep-1686') return this.#beginOriginal(record, dialect, options);
    try {
      const reply = await this.#calls.send(record, { ...options, signal });
      if (reply.kind === 'result') return this.#answered(record, reply.result);
      const { task, interim = this.#options.interim?.(toolOf(record) ?? record.method) } = reply;
      const known = { ...record, dialect: dialect!.name, taskId: task.taskId };
      this.#options.handles.save(known);
      this.#log(known, 'task');
      return this.#pursue(known, dialect!, interim);
    } catch (error) {
      // What the server refused has no task, and no handle either; what may have got through can be taken up again.
      if (!this.#calls.mayHaveGotThrough(error)) this.#options.handles.delete(record.id);
      throw error;
    }
  }

  #answered(record: HandleRecord, result: JsonObject): TaskHandle {
    const handle = this.#handleOf(record);
    this.#end(handle, record, { kind: 'result', result });
    return handle;
  }

  /** SEP-1686: the plain answer and the task that is said to be there race; the first that succeeds is the outcome. */
  async #beginOriginal(
    record: HandleRecord,
    dialect: RemoteDialect,
    options: CallOptions,
  ): Promise<TaskHandle> {
    const known = { ...record, dialect: dialect.name, taskId: record.id };
    this.#options.handles.save(known);
    const over = new AbortController();
    const pending = this.#calls.sendOriginal(known, over.signal, options);
    const handle = this.#pursue(known, dialect, undefined, pending, over);
    options.signal?.addEventListener('abort', () => over.abort(), { once: true });
    return handle;
  }

  /** The last process ended before the server's answer was written down. */
  async #beginAgain(record: HandleRecord): Promise<TaskHandle> {
    if (this.#calls.canBeSentAgain) return this.#begin(record, {});
    const handle = this.#handleOf(record);
    const why =
      'the host ended before the server answered, and the server cannot be asked whether it was called.';
    this.#end(handle, record, { kind: 'lost', why });
    return handle;
  }

  // --- Pursuing -------------------------------------------------------------------------------------------

  #pursue(
    record: HandleRecord,
    dialect: RemoteDialect,
    interim?: string,
    pending?: ReturnType<Calls['sendOriginal']>,
    over = new AbortController(),
  ): TaskHandle {
    const taskId = record.taskId!;
    const pursuit = new Pursuit(taskId, {
      peer: this.#connection,
      dialect,
      pace: this.#pace,
      answering: this.#questions.answeringOf(
        () => this.#options.handles.get(record.id),
        (changed) => this.#options.handles.save(changed),
      ),
      news: this.#listening,
      onUpdate: (update) => {
        handle.tell(update);
        this.#log(record, update.type, update.type === 'status' ? update.task.status : undefined);
        if (update.type === 'status') this.#questions.statusSeen(update.task);
      },
      signal: over.signal,
      unreachableForMs: toMs(this.#options.unreachableFor ?? '10m'),
      ...(this.#options.limits && { limits: this.#options.limits }),
    });
    const handle = this.#handleOf(record, {
      pursuit,
      over,
      cancel: pending?.cancel,
    });
    this.#live.set(record.id, { handle, over });
    if (interim !== undefined) setImmediate(() => handle.tell({ type: 'interim', taskId, text: interim }));
    const running = pending ? pending.race(() => pursuit.run()) : pursuit.run();
    this.#calls.onProgress(record, (progress) => handle.tell({ type: 'progress', taskId, ...progress }));
    running
      .catch((error: unknown) => endingOf(error, pursuit))
      .then((ending) => this.#end(handle, record, this.#checked(record, ending)))
      .catch((error: unknown) => {
        this.#log(record, 'failed', error instanceof Error ? error.message : undefined);
        handle.fail(error);
      })
      .finally(() => {
        over.abort();
        this.#live.delete(record.id);
        this.#calls.forget(record);
      });
    return handle;
  }

  #checked(record: HandleRecord, ending: Ending): Ending {
    if (ending.kind !== 'result') return ending;
    const { largestResult = 32 * 1024 * 1024 } = this.#options;
    const size = JSON.stringify(ending.result).length;
    if (size > largestResult)
      throw new MalformedAnswer(
        `a result of ${size} characters is longer than the ${largestResult} that are taken`,
      );
    return { kind: 'result', result: checkedResult(record.method, ending.result) };
  }

  #end(handle: Handle, record: HandleRecord, ending: Ending): void {
    const { handles, deleteAfterRead } = this.#options;
    const known = handles.get(record.id);
    if (known) handles.save({ ...known, ending });
    this.#log(record, ending.kind === 'result' ? 'done' : ending.kind === 'expired' ? 'lost' : ending.kind);
    if (deleteAfterRead && ending.kind === 'result') void this.#deleteThere(record).catch(() => {});
    handle.end(ending);
  }

  #handleOf(
    record: HandleRecord,
    work?: { pursuit: Pursuit; over: AbortController; cancel?: (() => Promise<void>) | undefined },
  ): Handle {
    const { handles } = this.#options;
    const handle = new Handle(record.id, {
      cancel: () => (work?.cancel ? work.cancel() : this.#cancelThere(record)),
      delete: async () => {
        work?.over.abort();
        await this.#deleteThere(record);
        handles.delete(record.id);
      },
      detach: () => work?.over.abort(),
      tree: () => work?.pursuit.tree(),
      deliver: () => {
        const known = handles.get(record.id);
        if (known && !known.isDelivered) handles.save({ ...known, isDelivered: true });
      },
    });
    handle.taskId = record.taskId;
    return handle;
  }

  async #cancelThere({ taskId, dialect }: HandleRecord): Promise<void> {
    const message = taskId !== undefined && remoteDialect(dialect ?? '')?.cancel?.(taskId);
    if (message) await this.#connection.request(message, { signal: AbortSignal.timeout(60_000) });
  }

  async #deleteThere({ taskId, dialect }: HandleRecord): Promise<void> {
    const message = taskId !== undefined && remoteDialect(dialect ?? '')?.delete?.(taskId);
    if (message) await this.#connection.request(message, { signal: AbortSignal.timeout(60_000) });
  }

  /** The handle of a task that asks. */
  #recordOf(
    taskId: string,
  ): { get(): HandleRecord | undefined; save(record: HandleRecord): void } | undefined {
    const { handles } = this.#options;
    for (const [id, { handle }] of this.#live)
      if (handle.taskId === taskId || handle.tree()?.children.length)
        return { get: () => handles.get(id), save: (record) => handles.save(record) };
    return undefined;
  }

  #log(record: HandleRecord, event: CallEvent['event'], detail?: string): void {
    const tool = toolOf(record);
    this.#options.onEvent?.({
      at: Date.now(),
      handle: record.id,
      method: record.method,
      ...(tool !== undefined && { tool }),
      ...(record.taskId !== undefined && { taskId: record.taskId }),
      event,
      ...(detail !== undefined && { detail }),
    });
  }
}

class MalformedListing extends MalformedAnswer {
  constructor() {
    super('it offers no list of tasks');
  }
}

function toolOf({ params }: HandleRecord): string | undefined {
  return isJsonObject(params) && typeof params.name === 'string' ? params.name : undefined;
}

/** A task that its server does not know any more has ended too, though nobody can say how. */
function endingOf(error: unknown, pursuit: Pursuit): Ending {
  if (!(error instanceof Gone)) throw error;
  const task = pursuit.lastSeen(error.taskId);
  const { createdAt, ttlMs } = task ?? {};
  if (createdAt !== undefined && typeof ttlMs === 'number' && Date.now() >= createdAt + ttlMs)
    return { kind: 'expired', ttlMs };
  return { kind: 'lost', why: error.message };
}
