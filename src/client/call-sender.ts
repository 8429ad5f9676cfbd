/** Sends calls in the server's dialect, and reads the replies. */

import { immediateResponseKey } from '../dialects/2025-11-25/names.ts';
import { idempotencyKey } from '../dialects/2026-07-28/names.ts';
import { invalidParams } from '../dialects/json-rpc.ts';
import { createdNotification, relatedTaskKey, taskKey } from '../dialects/sep-1686/names.ts';
import { type Duration, toMs } from '../model/duration.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import {
  ConnectionLost,
  MalformedAnswer,
  RemoteError,
  RequestTimedOut,
  ServerUnreachable,
} from '../remote-tasks/errors.ts';
import { refusalOf } from '../remote-tasks/questions.ts';
import type { RemoteOutcome } from '../remote-tasks/remote-outcome.ts';
import {
  type Message,
  type RemoteProgress,
  type RemoteTask,
  readProgress,
  readQuestions,
  readTask,
} from '../remote-tasks/remote-task.ts';
import { type Pace, retryUntilAnswered } from '../remote-tasks/retry-loop.ts';
import type { TaskPoller } from '../remote-tasks/task-poller.ts';
import { pause } from '../runtime/runtime.ts';
import type { CallRecords } from './call-records.ts';
import type { CallRecord } from './call-registry.ts';
import type { DispatchOptions } from './dispatcher.ts';
import { headersFor, type ToolHints, toolHints } from './listing.ts';
import type { CallOptions, ConnectTasksOptions } from './options.ts';
import { type PushedQuestions, taskIn } from './questions/pushed-questions.ts';
import type { Asked } from './questions/question-callback.ts';
import type { Connection } from './transports/reconnecting.ts';

/** How many rounds of questions a server may ask before the call has a task. */
const maxRounds = 20;
/** SEP-1686: how long a server may take to create the task of a call after the connection was lost. */
const creationMs = 30_000;

interface CallsOptions extends Pick<ConnectTasksOptions, 'callTimeout' | 'strict'> {
  readonly pace: Pace;
  readonly reconnectTimeoutMs: number;
  readonly questions: PushedQuestions;
  readonly records: CallRecords;
}

interface SendOptions extends Omit<CallOptions, 'idempotencyKey'> {
  readonly signal: AbortSignal;
}

interface SendingOptions extends DispatchOptions {
  /** True if the request may be executed more than once. */
  readonly isRepeatable: boolean;
  readonly reconnectTimeoutMs?: number;
}

export class CallSender {
  readonly #connection: Connection;
  readonly #options: CallsOptions;
  /** Hints of the listed tools; undefined until needed, and after the list has changed. */
  #hints: Promise<ReadonlyMap<string, ToolHints>> | undefined;
  readonly #progress = new Map<string, (progress: RemoteProgress) => void>();
  readonly #created = new Map<string, () => void>();

  constructor(connection: Connection, options: CallsOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** True if the server promises to execute a call only once, however often it is sent. */
  get canResend(): boolean {
    return this.#connection.declares('extensions', idempotencyKey);
  }

  /** True if the server may have received a request that failed with this error. */
  mayHaveArrived(error: unknown): boolean {
    return [ConnectionLost, RequestTimedOut, ServerUnreachable].some((kind) => error instanceof kind);
  }

  /** Sends a call, and answers questions until it has a result or a task. */
  async send(record: CallRecord, options: SendOptions): Promise<Exclude<Reply, { kind: 'questions' }>> {
    const { method, params } = record;
    const { signal, ttl, cancelOnAbort = false, reconnectTimeout, onProgress } = options;
    if (onProgress) this.onProgress(record, onProgress);
    const hints = await this.#hintsFor(record);
    const taskParams = this.#taskParams(method, hints?.taskSupport, ttl);
    const base = { ...params, ...taskParams, _meta: { ...metaOf(params), ...this.#metaFor(record) } };
    const headers = hints && headersFor(hints, isJsonObject(params.arguments) ? params.arguments : {});
    const timeoutMs = toMs(this.#options.callTimeout ?? '10m');
    const sending = {
      signal,
      timeoutMs,
      cancelOnAbort,
      isRepeatable: this.canResend,
      ...(headers && { headers }),
      ...(reconnectTimeout !== undefined && { reconnectTimeoutMs: toMs(reconnectTimeout) }),
    };
    const answered = new Set<string>();
    let more: JsonObject = {};
    for (let round = 0; round < maxRounds; round++) {
      const answer = await this.#retry({ method, params: { ...base, ...more } }, sending);
      const reply = readReply(method, answer, this.#connection.isModern);
      if (reply.kind !== 'questions') return this.#checked(reply, taskParams.task !== undefined, method);
      const { questions, requestState } = reply;
      const responses: [string, JsonObject][] = [];
      for (const [key, request] of Object.entries(questions)) {
        // An earlier process may have got the answer. A repeated question means that the server rejected it.
        const earlier = answered.has(key)
          ? undefined
          : this.#options.records.answersOf(record.id).answer(` ${key}`);
        answered.add(key);
        responses.push([key, earlier ?? (await this.#answer(record, { key, ...request }, options))]);
      }
      more = {
        inputResponses: Object.fromEntries(responses),
        ...(requestState !== undefined && { requestState }),
      };
    }
    throw new MalformedAnswer(`it asked more than ${maxRounds} times before the call had a task`);
  }

  /** Answers a question of a call that has no task yet. */
  async #answer(record: CallRecord, question: Asked, options: SendOptions): Promise<JsonObject> {
    const { signal, answer: callback } = options;
    const { questions, records } = this.#options;
    const answer = await questions.answer(question, signal, callback).catch((error: unknown) => {
      const refusal = signal.aborted ? undefined : refusalOf(question);
      if (!refusal) throw error;
      return refusal;
    });
    signal.throwIfAborted();
    // Keys are a task id and a key. There is no task id yet.
    records.answersOf(record.id).remember(` ${question.key}`, answer);
    return answer;
  }

  /** Retries if the request was certainly not executed, or may be executed twice. */
  #retry(message: Message, sending: SendingOptions): Promise<JsonObject> {
    const { isRepeatable, reconnectTimeoutMs = this.#options.reconnectTimeoutMs, ...options } = sending;
    return retryUntilAnswered(() => this.#connection.request(message, options), {
      pace: this.#options.pace,
      reconnectTimeoutMs,
      pause: (ms) => pause(ms, options.signal),
      isTransient: (error) => error instanceof ConnectionLost && (error.isUnsent || isRepeatable),
    });
  }

  async #hintsFor({ method, params }: CallRecord): Promise<ToolHints | undefined> {
    const needsList = this.#connection.isModern || this.#connection.takesTasks;
    if (method !== 'tools/call' || !needsList) return undefined;
    // Not the signal of this call, because other calls wait for the same list.
    const { signal } = new AbortController();
    this.#hints ??= toolHints((page) =>
      this.#retry({ method: 'tools/list', params: page }, { signal, isRepeatable: true }),
    );
    const hints = this.#hints;
    hints.catch(() => {
      if (this.#hints === hints) this.#hints = undefined;
    });
    return (await hints).get(String(params.name));
  }

  /**
   * The parameters that request a task; empty if the call must not or need not request one. `support` is the
   * `taskSupport` of the tool.
   */
  #taskParams(method: string, support?: string, ttl?: Duration): { readonly task?: JsonObject } {
    const task = ttl === undefined ? {} : { ttl: toMs(ttl) };
    if (this.#connection.isModern) return {};
    if (this.#connection.agreesOn('sep-2229')) return ttl === undefined ? {} : { task };
    const mayRequest = method === 'tools/call' && this.#connection.takesTasks;
    return mayRequest && support !== undefined && support !== 'forbidden' ? { task } : {};
  }

  /** With `strict`, throws if the reply is a task that was not requested, or is not the requested task. */
  #checked<R extends Reply>(reply: R, wasRequested: boolean, method: string): R {
    const { isModern } = this.#connection;
    if (!this.#options.strict || isModern || this.#connection.agreesOn('sep-2229')) return reply;
    if (wasRequested !== (reply.kind === 'task'))
      throw new MalformedAnswer(
        `it answered ${method} ${wasRequested ? 'without the requested task' : 'with a task that was not requested'}`,
      );
    return reply;
  }

  // --- SEP-1686 -------------------------------------------------------------------------------------------

  /** Sends a request that gets a plain answer, and perhaps also a task. */
  sendOriginal(record: CallRecord, signal: AbortSignal, options: CallOptions) {
    const taskId = record.taskId!;
    const keepAlive = options.ttl === undefined ? {} : { keepAlive: toMs(options.ttl) };
    const id = this.#connection.dispatcher.newRequestId();
    const created = Promise.withResolvers<'created'>();
    this.#created.set(taskId, () => created.resolve('created'));
    const { method, params } = record;
    const _meta = { ...metaOf(params), ...this.#metaFor(record), [taskKey]: { taskId, ...keepAlive } };
    const timeoutMs = toMs(this.#options.callTimeout ?? '10m');
    const plain: Promise<RemoteOutcome> = this.#connection
      .request({ method, params: { ...params, _meta } }, { signal, id, timeoutMs })
      .then((result) => ({ kind: 'result', result }));
    plain.catch(() => {});
    return {
      /** Resolves with the first success of the plain answer and the task. Rejects only if both fail. */
      race: async (poll: TaskPoller['run']): Promise<RemoteOutcome> => {
        const settled = plain.then(
          () => 'answered' as const,
          (error: unknown) => ({ error }),
        );
        const first = await Promise.race([created.promise, settled]);
        if (first === 'answered') return plain;
        if (first === 'created')
          return Promise.any([plain, poll()]).catch((all: AggregateError) => {
            const [ofPlain, ofTask] = all.errors;
            throw this.mayHaveArrived(ofPlain) ? ofTask : ofPlain;
          });
        // The task id is taken, so an earlier attempt has arrived.
        const isTaken = first.error instanceof RemoteError && first.error.rpcCode === invalidParams;
        if (!isTaken && !this.mayHaveArrived(first.error)) throw first.error;
        return poll({ unknownForMs: isTaken ? 0 : creationMs }).catch((error: unknown) => {
          throw isTaken ? first.error : error;
        });
      },
      cancel: async () => {
        await this.#connection.dispatcher.notify({
          method: 'notifications/cancelled',
          params: { requestId: id, _meta: { [relatedTaskKey]: { taskId } } },
        });
      },
    };
  }

  // --- Notifications --------------------------------------------------------------------------------------

  onNotification(method: string, params: JsonObject): void {
    if (method === createdNotification) {
      this.#created.get(taskIn(params._meta) ?? '')?.();
    } else if (method === 'notifications/progress') {
      const progress = readProgress(params);
      if (progress) this.#progress.get(String(params.progressToken))?.(progress);
    } else if (method === 'notifications/tools/list_changed') this.#hints = undefined;
  }

  onProgress({ id }: CallRecord, listener: (progress: RemoteProgress) => void): void {
    this.#progress.set(id, listener);
  }

  forget({ id, taskId }: CallRecord): void {
    this.#progress.delete(id);
    if (taskId !== undefined) this.#created.delete(taskId);
  }

  #metaFor({ id, idempotencyKey: key }: CallRecord): JsonObject {
    return { progressToken: id, [idempotencyKey]: key };
  }
}

function metaOf({ _meta }: JsonObject): JsonObject {
  return isJsonObject(_meta) ? _meta : {};
}

// --- Replies: a result, a task, or questions first ----------------------------------------------------------

export type Reply =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'task'; readonly task: RemoteTask; readonly interim?: string }
  | {
      readonly kind: 'questions';
      readonly questions: Readonly<Record<string, Message>>;
      readonly requestState?: string;
    };

function readReply(method: string, reply: JsonObject, isModern: boolean): Reply {
  const { resultType } = reply;
  if (resultType === 'task') {
    if (method !== 'tools/call') throw new MalformedAnswer(`it answered ${method} with a task`);
    return { kind: 'task', task: readTask(isJsonObject(reply.task) ? reply.task : reply) };
  }
  if (resultType === 'input_required') {
    const { requestState } = reply;
    return {
      kind: 'questions',
      questions: readQuestions(reply.inputRequests),
      ...(typeof requestState === 'string' && { requestState }),
    };
  }
  // A missing resultType means complete. An unknown one is an error.
  if (resultType !== undefined && resultType !== 'complete')
    throw new MalformedAnswer(`it answered ${method} with the resultType ${JSON.stringify(resultType)}`);
  if (!isModern && isTask(reply)) {
    const interim = isJsonObject(reply._meta) ? reply._meta[immediateResponseKey] : undefined;
    return {
      kind: 'task',
      task: readTask(reply.task),
      ...(typeof interim === 'string' && { interim }),
    };
  }
  checkResult(method, reply);
  return { kind: 'result', result: reply };
}

/** True if the result is a created task of 2025-11-25: no other result has `task` as its only key. */
function isTask({ _meta, ...reply }: JsonObject): boolean {
  return Object.keys(reply).length === 1 && isJsonObject(reply.task);
}

/** The array that every result of the method contains. */
const listsIn: Readonly<Record<string, string>> = {
  'tools/call': 'content',
  'resources/read': 'contents',
  'prompts/get': 'messages',
};

export type { CallToolResult, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/client';

/** Checks for the one field that every result of this kind must have. */
export function checkResult(method: string, result: JsonObject): void {
  const key = listsIn[method];
  if (key !== undefined && !Array.isArray(result[key]))
    throw new MalformedAnswer(`the result of ${method} has no "${key}"`);
}
