/** Sends calls, in the words that the server understands, and reads what it answers. */

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

/** How often a call may come back with questions before there is a task. */
const mostRounds = 20;
/** SEP-1686: how long a server may take to create the task of a call whose connection was lost. */
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
  readonly isRepeatable: boolean;
  readonly reconnectTimeoutMs?: number;
}

export class CallSender {
  readonly #connection: Connection;
  readonly #options: CallsOptions;
  /** Of the tools that the server listed; undefined until they are needed, and when the list has changed. */
  #hints: Promise<ReadonlyMap<string, ToolHints>> | undefined;
  readonly #progress = new Map<string, (progress: RemoteProgress) => void>();
  readonly #created = new Map<string, () => void>();

  constructor(connection: Connection, options: CallsOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** Does the server promise to carry out a call only once, however often it is sent? */
  get canResend(): boolean {
    return this.#connection.declares('extensions', idempotencyKey);
  }

  mayHaveArrived(error: unknown): boolean {
    return [ConnectionLost, RequestTimedOut, ServerUnreachable].some((kind) => error instanceof kind);
  }

  /** Calls, and answers what is asked first. */
  async send(record: CallRecord, options: SendOptions): Promise<Exclude<Reply, { kind: 'questions' }>> {
    const { method, params } = record;
    const { signal, ttl, cancelOnAbort = false, reconnectTimeout, onProgress } = options;
    if (onProgress) this.onProgress(record, onProgress);
    const hints = await this.#hintsFor(record);
    const asked = this.#wish(method, hints?.taskSupport, ttl);
    const base = { ...params, ...asked, _meta: { ...metaOf(params), ...this.#metaFor(record) } };
    const headers = hints && headersFor(hints, isJsonObject(params.arguments) ? params.arguments : {});
    const timeoutMs = toMs(this.#options.callTimeout ?? '10m');
    const how = {
      signal,
      timeoutMs,
      cancelOnAbort,
      isRepeatable: this.canResend,
      ...(headers && { headers }),
      ...(reconnectTimeout !== undefined && { reconnectTimeoutMs: toMs(reconnectTimeout) }),
    };
    const answered = new Set<string>();
    let more: JsonObject = {};
    for (let round = 0; round < mostRounds; round++) {
      const answer = await this.#insist({ method, params: { ...base, ...more } }, how);
      const reply = readReply(method, answer, this.#connection.isModern);
      if (reply.kind !== 'questions') return this.#asAgreed(reply, asked.task !== undefined, method);
      const { questions, requestState } = reply;
      const responses: [string, JsonObject][] = [];
      for (const [key, request] of Object.entries(questions)) {
        // An earlier process may have been given the answer; one that is asked for twice was not to the server's liking.
        const before = answered.has(key)
          ? undefined
          : this.#options.records.answersOf(record.id).answer(` ${key}`);
        answered.add(key);
        responses.push([key, before ?? (await this.#answer(record, { key, ...request }, options))]);
      }
      more = {
        inputResponses: Object.fromEntries(responses),
        ...(requestState !== undefined && { requestState }),
      };
    }
    throw new MalformedAnswer(`it asked more than ${mostRounds} times before there was a task`);
  }

  /** Answers a question that comes before there is a task. */
  async #answer(record: CallRecord, question: Asked, options: SendOptions): Promise<JsonObject> {
    const { signal, answer: by } = options;
    const { questions, records: ledger } = this.#options;
    const given = await questions.answer(question, signal, by).catch((error: unknown) => {
      const refusal = signal.aborted ? undefined : refusalOf(question);
      if (!refusal) throw error;
      return refusal;
    });
    signal.throwIfAborted();
    ledger.answersOf(record.id).remember(` ${question.key}`, given);
    return given;
  }

  /** Sends again what certainly was not carried out, or does no harm if it is carried out twice. */
  #insist(message: Message, how: SendingOptions): Promise<JsonObject> {
    const { isRepeatable, reconnectTimeoutMs = this.#options.reconnectTimeoutMs, ...options } = how;
    return retryUntilAnswered(() => this.#connection.request(message, options), {
      pace: this.#options.pace,
      reconnectTimeoutMs,
      pause: (ms) => pause(ms, options.signal),
      isPassing: (error) => error instanceof ConnectionLost && (error.isUnsent || isRepeatable),
    });
  }

  async #hintsFor({ method, params }: CallRecord): Promise<ToolHints | undefined> {
    const needsList = this.#connection.isModern || this.#connection.takesTasks;
    if (method !== 'tools/call' || !needsList) return undefined;
    const { signal } = new AbortController();
    this.#hints ??= toolHints((page) =>
      this.#insist({ method: 'tools/list', params: page }, { signal, isRepeatable: true }),
    );
    const hints = this.#hints;
    hints.catch(() => {
      if (this.#hints === hints) this.#hints = undefined;
    });
    return (await hints).get(String(params.name));
  }

  /** What a call says of the task that it wants. */
  #wish(method: string, support?: string, ttl?: Duration): { readonly task?: JsonObject } {
    const wish = ttl === undefined ? {} : { ttl: toMs(ttl) };
    if (this.#connection.isModern) return {};
    if (this.#connection.agreesOn('sep-2229')) return ttl === undefined ? {} : { task: wish };
    const mayAsk = method === 'tools/call' && this.#connection.takesTasks;
    return mayAsk && support !== undefined && support !== 'forbidden' ? { task: wish } : {};
  }

  #asAgreed<R extends Reply>(reply: R, wasAsked: boolean, method: string): R {
    const { isModern } = this.#connection;
    if (!this.#options.strict || isModern || this.#connection.agreesOn('sep-2229')) return reply;
    if (wasAsked !== (reply.kind === 'task'))
      throw new MalformedAnswer(
        `it answered ${method} ${wasAsked ? 'without the task that was asked for' : 'with a task that nobody asked for'}`,
      );
    return reply;
  }

  // --- SEP-1686 -------------------------------------------------------------------------------------------

  /** A request that is answered as if there were no task, and has one all the same, perhaps. */
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
      /** The first success of the plain answer and of the task; a failure only if both fail. */
      race: async (pursue: TaskPoller['run']): Promise<RemoteOutcome> => {
        const settled = plain.then(
          () => 'answered' as const,
          (error: unknown) => ({ error }),
        );
        const first = await Promise.race([created.promise, settled]);
        if (first === 'answered') return plain;
        if (first === 'created')
          return Promise.any([plain, pursue()]).catch((all: AggregateError) => {
            const [ofPlain, ofTask] = all.errors;
            throw this.mayHaveArrived(ofPlain) ? ofTask : ofPlain;
          });
        // Refused because the name is taken means: an earlier attempt got through.
        const isTaken = first.error instanceof RemoteError && first.error.rpcCode === invalidParams;
        if (!isTaken && !this.mayHaveArrived(first.error)) throw first.error;
        return pursue({ unknownForMs: isTaken ? 0 : creationMs }).catch((error: unknown) => {
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

  // --- What comes unasked ---------------------------------------------------------------------------------

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

// --- What a server answers: the result, a task, or questions first ------------------------------------------

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
  // No resultType means complete; one that nobody knows means nothing.
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

/** The only result whose sole key is `task`. */
function isTask({ _meta, ...reply }: JsonObject): boolean {
  return Object.keys(reply).length === 1 && isJsonObject(reply.task);
}

const listsIn: Readonly<Record<string, string>> = {
  'tools/call': 'content',
  'resources/read': 'contents',
  'prompts/get': 'messages',
};

export type { CallToolResult, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/client';

/** The least that a result of its kind has. */
export function checkResult(method: string, result: JsonObject): void {
  const key = listsIn[method];
  if (key !== undefined && !Array.isArray(result[key]))
    throw new MalformedAnswer(`the result of ${method} has no "${key}"`);
}
