/** Questions that a server puts to its client as requests, and those that a client finds: one callback for both. */
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

/** Servers may ask for tasks that are not ours, and that has an end. */
const mostUnknown = 1_000;

interface Asking {
  readonly taskId: string | undefined;
  readonly answer: Promise<JsonObject>;
  readonly over: AbortController;
}

/** What the SDK knows of a request besides its method and its params. */
interface Context {
  readonly id: string | number;
  readonly _meta?: object | undefined;
  readonly signal: AbortSignal;
}

export class PushedQuestions {
  readonly #answer: AnswerQuestion | undefined;
  readonly #keptFor: (taskId: string) => Promise<CallAnswers | undefined>;
  /** Questions that are being answered: a second delivery of the same waits for the first. */
  readonly #asking = new Map<string, Asking>();
  readonly #client: Client;
  /** What is done when the answer to a request, or its refusal, has got there. */
  readonly #afterwards = new Map<string | number, () => void>();
  /** The method of a refused request that nobody here knows, by the task that asked, and how often that was seen since. */
  readonly #unknown = new Map<string, { readonly method: string; looks: number }>();

  constructor(
    client: Client,
    answer: AnswerQuestion | undefined,
    kinds: readonly QuestionKind[],
    keptFor: (taskId: string) => Promise<CallAnswers | undefined>,
  ) {
    this.#client = client;
    this.#answer = answer;
    this.#keptFor = keptFor;
    for (const method of new Set(kinds.map((kind) => methods[kind])))
      client.setRequestHandler(method as 'elicitation/create', ({ params = {} }, { mcpReq }) => {
        return this.#pushed({ method, params: params as unknown as JsonObject }, mcpReq) as never;
      });
  }

  /** Answers, or rejects: nobody can, or nobody wanted to. */
  async answer(question: Asked, signal: AbortSignal, by = this.#answer): Promise<JsonObject> {
    const asked = asQuestion(question);
    if (!asked) throw new UnknownQuestion(question.taskId, question.method);
    if (!by) throw new Error(`Nobody here can answer ${question.method}.`);
    return by(asked, signal);
  }

  /** How a pursuit answers what it finds. */
  answeringOf(kept: CallAnswers, by?: AnswerQuestion): Answering {
    return {
      answer: (question, signal) => this.answer(question, signal, by),
      recall: (taskId, key) => kept.answer(place(taskId, key)),
      remember: (taskId, key, answer) => kept.remember(place(taskId, key), answer),
      forget: (taskId, key) => kept.forget((at) => at === place(taskId, key)),
      isAsking: (tasks) =>
        [...this.#asking.values()].some(({ taskId }) => taskId !== undefined && tasks.has(taskId)),
      takeUnknown: (taskId) => {
        const unknown = this.#unknown.get(taskId);
        // The first look may have been answered before the refusal got there.
        if (!unknown || ++unknown.looks === 1) return undefined;
        this.#unknown.delete(taskId);
        return unknown.method;
      },
    };
  }

  /** A request of the server came in. The SDK refuses what nobody handles, and its task may wait all the same. */
  onRequest({ id, method, params }: Message & { readonly id: string | number }): undefined {
    const taskId = taskIn(params._meta);
    if (taskId === undefined || isKnown(method) || this.#afterwards.size + this.#unknown.size >= mostUnknown)
      return;
    if (!this.#isHandled(method))
      this.#afterwards.set(id, () => this.#unknown.set(taskId, { method, looks: 0 }));
  }

  #isHandled(method: string): boolean {
    if (this.#client.fallbackRequestHandler) return true;
    try {
      this.#client.assertCanSetRequestHandler(method);
      return false;
    } catch {
      return true;
    }
  }

  /** A task that goes on has taken its answers: the same question would be another one. */
  statusSeen(task: RemoteTask, kept: CallAnswers): void {
    if (task.status === 'input_required') return;
    kept.forget((at) => at.startsWith(`${task.taskId} ~`));
    if (!isOver(task)) return;
    for (const { taskId, over } of this.#asking.values()) if (taskId === task.taskId) over.abort();
  }

  responded(requestId: string | number): void {
    this.#afterwards.get(requestId)?.();
    this.#afterwards.delete(requestId);
  }

  close(): void {
    for (const { over } of this.#asking.values()) over.abort();
  }

  async #pushed({ method, params }: Message, { id, _meta, signal }: Context): Promise<JsonObject> {
    // The SDK takes metadata out of the params.
    const taskId = taskIn(_meta ?? params._meta);
    const key = await keyOf(method, params);
    // Only a task asks the same question again. Of plain calls two may ask the same, and each gets its own answer.
    const at = place(taskId ?? `request ${id}`, key);
    const kept = taskId === undefined ? undefined : await this.#keptFor(taskId);
    // If the peer asks the same again when it has the answer, that is another question.
    if (kept) this.#afterwards.set(id, () => kept.forget((other) => other === at));
    const question = { key, method, params, ...(taskId !== undefined && { taskId }) };
    const answer =
      kept?.answer(at) ?? (await this.#askOnce(at, question, kept, signal).catch(() => undefined));
    if (signal.aborted) this.#afterwards.delete(id);
    const given = answer ?? refusalOf({ method });
    if (!given) throw new Error(`Nobody here answered ${method}.`);
    return given;
  }

  #askOnce(
    at: string,
    question: Asked,
    kept: CallAnswers | undefined,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const { answer, over } = this.#asking.get(at) ?? this.#ask(at, question, kept);
    // A lost connection takes no question back: it comes again on the next, and the answer is kept for it.
    const takeBack = () => {
      if (!kept || !isClosing(signal.reason)) over.abort(signal.reason);
    };
    signal.addEventListener('abort', takeBack, { once: true });
    return answer.finally(() => signal.removeEventListener('abort', takeBack));
  }

  #ask(at: string, question: Asked, kept: CallAnswers | undefined): Asking {
    const over = new AbortController();
    const answer = this.answer(question, over.signal)
      .then((given) => {
        over.signal.throwIfAborted();
        kept?.remember(at, given);
        return given;
      })
      .finally(() => this.#asking.delete(at));
    answer.catch(() => {});
    const asking = { taskId: question.taskId, answer, over };
    this.#asking.set(at, asking);
    return asking;
  }
}

function place(taskId: string | undefined, key: string): string {
  return `${taskId} ${key}`;
}

function isClosing(reason: unknown): boolean {
  return reason instanceof Error && 'code' in reason && reason.code === 'CONNECTION_CLOSED';
}

/** The task that a message belongs to, as its metadata has it. */
export function taskIn(meta: unknown): string | undefined {
  const related = isJsonObject(meta) ? (meta[related2025] ?? meta[related1686]) : undefined;
  return isJsonObject(related) && typeof related.taskId === 'string' ? related.taskId : undefined;
}
