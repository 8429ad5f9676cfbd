/** Sends calls, in the words that the server understands, and reads what it answers. */
import { type Duration, toMs } from '../model/duration.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { idempotencyKey } from '../protocol/dialects/2026-07-28/names.ts';
import { createdNotification, relatedTaskKey, taskKey } from '../protocol/dialects/sep-1686/names.ts';
import type { Ending } from '../requestor/ending.ts';
import { ConnectionLost, MalformedAnswer, RemoteError, RequestTimedOut } from '../requestor/errors.ts';
import { type RemoteProgress, type RemoteRequest, readProgress } from '../requestor/remote-task.ts';
import type { Connection } from './connection.ts';
import type { HandleRecord } from './handles.ts';
import { type Reply, readReply } from './reply.ts';
import { headersFor, ToolList } from './tool-hints.ts';

/** How often a call may come back with questions before there is a task. */
const mostRounds = 20;
/** How long a server that knows SEP-1686 may take to say that the task is there, before it is looked for. */
const createdWithinMs = 5_000;

interface CallsOptions {
  readonly callTimeout?: Duration;
  readonly strict?: boolean;
}

interface SendOptions {
  readonly ttl?: Duration;
  readonly signal?: AbortSignal;
}

type AnswerOne = (
  question: RemoteRequest & { taskId?: string; key: string },
  signal: AbortSignal,
) => Promise<JsonObject | undefined>;

export class Calls {
  readonly #connection: Connection;
  readonly #tools: ToolList;
  readonly #options: CallsOptions;
  readonly #answer: AnswerOne;
  readonly #progress = new Map<string, (progress: RemoteProgress) => void>();
  readonly #created = new Map<string, () => void>();

  constructor(connection: Connection, options: CallsOptions, answer: AnswerOne) {
    this.#connection = connection;
    this.#tools = new ToolList(connection);
    this.#options = options;
    this.#answer = answer;
  }

  /** Does the server promise to carry out a call only once, however often it is sent? */
  get canBeSentAgain(): boolean {
    return this.#connection.hasExtension(idempotencyKey);
  }

  mayHaveGotThrough(error: unknown): boolean {
    return error instanceof ConnectionLost || error instanceof RequestTimedOut;
  }

  /** Calls, and answers what is asked first. */
  async send(
    record: HandleRecord,
    { signal, ttl }: SendOptions & { readonly signal: AbortSignal },
  ): Promise<Exclude<Reply, { kind: 'questions' }>> {
    const { method, params } = record;
    const hints = await this.#hintsFor(record);
    const asked = await this.#wish(method, hints?.taskSupport, ttl);
    const base = { ...params, ...asked, _meta: { ...metaOf(params), ...this.#metaFor(record) } };
    let more: JsonObject = {};
    for (let round = 0; round < mostRounds; round++) {
      const headers = hints && headersFor(hints, isJsonObject(params.arguments) ? params.arguments : {});
      const answer = await this.#insist({ method, params: { ...base, ...more } }, signal, headers);
      const reply = readReply(method, answer, this.#connection.isModern);
      if (reply.kind !== 'questions') return this.#asAgreed(reply, asked.task !== undefined, method);
      more = await this.#answered(reply, signal);
    }
    throw new MalformedAnswer(`it asked more than ${mostRounds} times before there was a task`);
  }

  /** Only what a server promised to carry out once is sent again after a lost connection. */
  async #insist(
    message: { method: string; params: JsonObject },
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> | undefined,
  ): Promise<JsonObject> {
    const timeoutMs = toMs(this.#options.callTimeout ?? '10m');
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#connection.request(message, { signal, timeoutMs, ...(headers && { headers }) });
      } catch (error) {
        if (!(error instanceof ConnectionLost) || !this.canBeSentAgain || attempt > 8) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.min(100 * 2 ** attempt, 5_000)));
      }
    }
  }

  async #answered(
    { questions, requestState }: Extract<Reply, { kind: 'questions' }>,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const inputResponses: Record<string, JsonObject> = {};
    for (const [key, request] of Object.entries(questions)) {
      const answer = await this.#answer({ key, ...request }, signal);
      if (answer) inputResponses[key] = answer;
    }
    return { inputResponses, ...(requestState !== undefined && { requestState }) };
  }

  async #hintsFor({ method, params }: HandleRecord) {
    if (method !== 'tools/call') return undefined;
    const needsList = this.#connection.isModern || this.#connection.takesTasks;
    return needsList ? this.#tools.hints(String(params.name)) : undefined;
  }

  /** What a call says of the task that it wants. */
  async #wish(
    method: string,
    support: string | undefined,
    ttl: Duration | undefined,
  ): Promise<{ readonly task?: JsonObject }> {
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
  sendOriginal(record: HandleRecord, signal: AbortSignal, options: SendOptions) {
    const taskId = record.taskId!;
    const keepAlive = options.ttl === undefined ? {} : { keepAlive: toMs(options.ttl) };
    const id = this.#connection.dispatcher.newRequestId();
    const created = Promise.withResolvers<'created'>();
    this.#created.set(taskId, () => created.resolve('created'));
    const { method, params } = record;
    const _meta = { ...metaOf(params), ...this.#metaFor(record), [taskKey]: { taskId, ...keepAlive } };
    const timeoutMs = toMs(this.#options.callTimeout ?? '10m');
    const plain: Promise<Ending> = this.#connection
      .request({ method, params: { ...params, _meta } }, { signal, id, timeoutMs })
      .then((result) => ({ kind: 'result', result }));
    plain.catch(() => {});
    return {
      /** The first success of the plain answer and of the task; a failure only if both fail. */
      race: async (pursue: () => Promise<Ending>): Promise<Ending> => {
        const settled = plain.then(
          () => 'answered' as const,
          (error: unknown) => ({ error }),
        );
        const late = new Promise<'late'>((resolve) => {
          const timer = setTimeout(() => resolve('late'), createdWithinMs);
          void settled.finally(() => clearTimeout(timer));
        });
        const first = await Promise.race([created.promise, settled, late]);
        if (first === 'answered') return plain;
        // A server that says nothing of a task may have none, or its word was lost; the answer decides.
        if (first === 'late') return Promise.any([plain, created.promise.then(pursue)]).catch(firstError);
        if (first === 'created') return Promise.any([plain, pursue()]).catch(firstError);
        // Refused because the name is taken means: an earlier attempt got through.
        const isTaken = first.error instanceof RemoteError && first.error.code === -32602;
        if (!isTaken && !this.mayHaveGotThrough(first.error)) throw first.error;
        return pursue().catch((error: unknown) => {
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

  heard(method: string, params: JsonObject): void {
    if (method === createdNotification) {
      const related = isJsonObject(params._meta) ? params._meta[relatedTaskKey] : undefined;
      if (isJsonObject(related)) this.#created.get(String(related.taskId))?.();
    } else if (method === 'notifications/progress') {
      const progress = readProgress(params);
      if (progress) this.#progress.get(String(params.progressToken))?.(progress);
    } else if (method === 'notifications/tools/list_changed') this.#tools.forget();
  }

  onProgress({ id }: HandleRecord, listener: (progress: RemoteProgress) => void): void {
    this.#progress.set(id, listener);
  }

  forget({ id, taskId }: HandleRecord): void {
    this.#progress.delete(id);
    if (taskId !== undefined) this.#created.delete(taskId);
  }

  #metaFor({ id, idempotencyKey: key }: HandleRecord): JsonObject {
    return { progressToken: id, [idempotencyKey]: key };
  }
}

function metaOf({ _meta }: JsonObject): JsonObject {
  return isJsonObject(_meta) ? _meta : {};
}

function firstError(error: unknown): never {
  throw error instanceof AggregateError ? error.errors[0] : error;
}
