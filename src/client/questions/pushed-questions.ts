/** Answers questions with one callback, whether the server pushes them as requests or a poll finds them. */
import type { Client } from '@modelcontextprotocol/client';
import { relatedTaskKey as related2025 } from '../../dialects/2025-11-25/names.ts';
import { relatedTaskKey as related1686 } from '../../dialects/sep-1686/names.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { UnknownQuestion } from '../../remote-tasks/errors.ts';
import { type Answering, isKnown, refusalOf } from '../../remote-tasks/questions.ts';
import { isOver, type Message, type RemoteTask } from '../../remote-tasks/remote-task.ts';
import type { CallAnswers } from '../call-records.ts';
import {
  type AnswerQuestion,
  type Asked,
  asQuestion,
  keyOf,
  type QuestionKind,
} from './question-callback.ts';

const methods: Readonly<Record<QuestionKind, string>> = {
  form: 'elicitation/create',
  url: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
};

/** The maximum number of refused requests that are remembered: a server may name any number of unknown tasks. */
const maxUnknown = 1_000;

interface OpenQuestion {
  readonly taskId: string | undefined;
  readonly answer: Promise<JsonObject>;
  readonly abort: AbortController;
}

/** The SDK's context of a request. */
interface Context {
  readonly id: string | number;
  readonly _meta?: object | undefined;
  readonly signal: AbortSignal;
}

export class PushedQuestions {
  readonly #answer: AnswerQuestion | undefined;
  readonly #answersFor: (taskId: string) => Promise<CallAnswers | undefined>;
  /** Questions that are being answered. A second delivery of the same question waits for the first. */
  readonly #open = new Map<string, OpenQuestion>();
  readonly #client: Client;
  /** Callbacks for when the response to a request has been delivered. */
  readonly #onResponded = new Map<string | number, () => void>();
  /** Refused requests with an unknown method, by task, and the number of polls since. */
  readonly #unknown = new Map<string, { readonly method: string; polls: number }>();

  constructor(
    client: Client,
    answer: AnswerQuestion | undefined,
    kinds: readonly QuestionKind[],
    answersFor: (taskId: string) => Promise<CallAnswers | undefined>,
  ) {
    this.#client = client;
    this.#answer = answer;
    this.#answersFor = answersFor;
    for (const method of new Set(kinds.map((kind) => methods[kind])))
      client.setRequestHandler(method as 'elicitation/create', ({ params = {} }, { mcpReq }) => {
        return this.#pushed({ method, params: params as unknown as JsonObject }, mcpReq) as never;
      });
  }

  /** Returns the answer. Rejects if the question is unknown or the callback fails. */
  async answer(question: Asked, signal: AbortSignal, callback = this.#answer): Promise<JsonObject> {
    const converted = asQuestion(question);
    if (!converted) throw new UnknownQuestion(question.taskId, question.method);
    if (!callback) throw new Error(`This client cannot answer ${question.method}.`);
    return callback(converted, signal);
  }

  /** How a poller answers the questions of one call. */
  answeringFor(answers: CallAnswers, callback?: AnswerQuestion): Answering {
    return {
      answer: (question, signal) => this.answer(question, signal, callback),
      recall: (taskId, key) => answers.answer(answerKey(taskId, key)),
      remember: (taskId, key, answer) => answers.remember(answerKey(taskId, key), answer),
      forget: (taskId, key) => answers.forget((at) => at === answerKey(taskId, key)),
      isAsking: (tasks) =>
        [...this.#open.values()].some(({ taskId }) => taskId !== undefined && tasks.has(taskId)),
      takeUnknown: (taskId) => {
        const unknown = this.#unknown.get(taskId);
        // The first poll may be older than the delivery of the refusal.
        if (!unknown || ++unknown.polls === 1) return undefined;
        this.#unknown.delete(taskId);
        return unknown.method;
      },
    };
  }

  /**
   * Remembers a request of a task with an unknown method. The SDK refuses it, but the task may still wait for an
   * answer. Always returns undefined, which leaves the request to the SDK.
   */
  onRequest({ id, method, params }: Message & { readonly id: string | number }): undefined {
    const taskId = taskIn(params._meta);
    if (taskId === undefined || isKnown(method) || this.#onResponded.size + this.#unknown.size >= maxUnknown)
      return;
    if (!this.#isHandled(method))
      this.#onResponded.set(id, () => this.#unknown.set(taskId, { method, polls: 0 }));
  }

  /** True if the host has set a handler for the method. Then `assertCanSetRequestHandler` throws. */
  #isHandled(method: string): boolean {
    if (this.#client.fallbackRequestHandler) return true;
    try {
      this.#client.assertCanSetRequestHandler(method);
      return false;
    } catch {
      return true;
    }
  }

  /**
   * A task that continues has accepted its answers. The same question would be a new one. Keys of pushed questions
   * begin with `~`.
   */
  statusSeen(task: RemoteTask, answers: CallAnswers): void {
    if (task.status === 'input_required') return;
    answers.forget((at) => at.startsWith(`${task.taskId} ~`));
    if (!isOver(task)) return;
    for (const { taskId, abort } of this.#open.values()) if (taskId === task.taskId) abort.abort();
  }

  responded(requestId: string | number): void {
    this.#onResponded.get(requestId)?.();
    this.#onResponded.delete(requestId);
  }

  close(): void {
    for (const { abort } of this.#open.values()) abort.abort();
  }

  async #pushed({ method, params }: Message, { id, _meta, signal }: Context): Promise<JsonObject> {
    // The SDK removes metadata from the params.
    const taskId = taskIn(_meta ?? params._meta);
    const key = await keyOf(method, params);
    // Only a task repeats a question. Two plain calls may ask the same question, and each gets its own answer.
    const at = answerKey(taskId ?? `request ${id}`, key);
    const answers = taskId === undefined ? undefined : await this.#answersFor(taskId);
    // If the peer asks again after the delivery of the answer, that is a new question.
    if (answers) this.#onResponded.set(id, () => answers.forget((other) => other === at));
    const question = { key, method, params, ...(taskId !== undefined && { taskId }) };
    const answer =
      answers?.answer(at) ?? (await this.#askOnce(at, question, answers, signal).catch(() => undefined));
    if (signal.aborted) this.#onResponded.delete(id);
    const response = answer ?? refusalOf({ method });
    if (!response) throw new Error(`No answer to ${method}.`);
    return response;
  }

  #askOnce(
    at: string,
    question: Asked,
    answers: CallAnswers | undefined,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const { answer, abort } = this.#open.get(at) ?? this.#ask(at, question, answers);
    // A lost connection does not withdraw a question: it comes again on the next one, and the answer is kept for it.
    const withdraw = () => {
      if (!answers || !isClosing(signal.reason)) abort.abort(signal.reason);
    };
    signal.addEventListener('abort', withdraw, { once: true });
    return answer.finally(() => signal.removeEventListener('abort', withdraw));
  }

  #ask(at: string, question: Asked, answers: CallAnswers | undefined): OpenQuestion {
    const abort = new AbortController();
    const answer = this.answer(question, abort.signal)
      .then((given) => {
        abort.signal.throwIfAborted();
        answers?.remember(at, given);
        return given;
      })
      .finally(() => this.#open.delete(at));
    answer.catch(() => {});
    const asking = { taskId: question.taskId, answer, abort };
    this.#open.set(at, asking);
    return asking;
  }
}

function answerKey(taskId: string | undefined, key: string): string {
  return `${taskId} ${key}`;
}

/** True if a request was aborted because the connection was closed. */
function isClosing(reason: unknown): boolean {
  return reason instanceof Error && 'code' in reason && reason.code === 'CONNECTION_CLOSED';
}

/** The id of the task that the metadata of a message names. */
export function taskIn(meta: unknown): string | undefined {
  const related = isJsonObject(meta) ? (meta[related2025] ?? meta[related1686]) : undefined;
  return isJsonObject(related) && typeof related.taskId === 'string' ? related.taskId : undefined;
}
