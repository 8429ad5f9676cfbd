/** The questions of remote tasks. The user is asked each question once, however often it is polled. */
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { MalformedAnswer, RemoteError, UnknownQuestion } from './errors.ts';
import type { PollResult } from './remote-dialect.ts';
import type { Message } from './remote-task.ts';
import type { TaskPollerParts } from './task-poller.ts';

export interface Question extends Message {
  readonly taskId: string;
  readonly key: string;
  /** Why the peer refused the last answer, if it did. */
  readonly problem?: string;
}

/** Asks the user, and stores the answers. */
export interface Answering {
  /** Rejects if nobody can or wants to answer. */
  answer(question: Question, signal: AbortSignal): Promise<JsonObject>;
  /** The stored answer, given to this process or an earlier one. */
  recall(taskId: string, key: string): JsonObject | undefined;
  /** Stores an answer. It must be durable when this returns, because nobody is asked again. */
  remember(taskId: string, key: string, answer: JsonObject): void;
  forget(taskId: string, key: string): void;
  /** True while the user is answering a question of these tasks that arrived as a request. */
  isAsking?(tasks: { has(taskId: string): boolean }): boolean;
  /** The method of an unknown kind of question, if the task sent one since the last call. */
  takeUnknown?(taskId: string): string | undefined;
}

/** How often a question is asked at most, if the peer refuses each answer. Then a cancelled answer is sent. */
const maxAttempts = 3;

type Open = readonly [key: string, request: Message];
type Answered = readonly [key: string, answer: JsonObject];

/** Questions that were open at the same time are answered together: not every peer accepts answers one by one. */
interface Batch {
  readonly keys: readonly string[];
  /** Aborted when none of the questions needs an answer any more. */
  readonly over: AbortController;
}

/** The questions of one task. */
class TaskQuestions {
  readonly taskId: string;
  /** The keys of the answers that the peer has accepted. */
  readonly taken = new Set<string>();
  /** By key: how often the peer has refused an answer, and why the last time. */
  readonly problems = new Map<string, { readonly times: number; readonly text: string }>();
  readonly batches = new Set<Batch>();
  /** Nobody could answer, and the task was cancelled. */
  isAbandoned = false;

  constructor(taskId: string) {
    this.taskId = taskId;
  }

  /** False if the question is being asked, or an answer was accepted. */
  isNew(key: string): boolean {
    return !this.taken.has(key) && ![...this.batches].some(({ keys }) => keys.includes(key));
  }
}

export class Questions {
  readonly #parts: TaskPollerParts;
  readonly #signal: AbortSignal;
  readonly #send: (message: Message) => Promise<JsonObject>;
  readonly #tasks = new Map<string, TaskQuestions>();
  #failure: { readonly error: unknown } | undefined;

  constructor(parts: TaskPollerParts, signal: AbortSignal, send: (message: Message) => Promise<JsonObject>) {
    this.#parts = parts;
    this.#signal = signal;
    this.#send = send;
  }

  /** Starts to ask the open questions. Does not wait for the answers, because people take their time. */
  update(taskId: string, polled: PollResult, onAnswered: () => void): void {
    const { questions } = polled;
    if (this.#failure) throw this.#failure.error;
    const unknown = this.#unknownIn(taskId, polled);
    // The task is not cancelled: a newer client may know the kind and resume the call.
    if (unknown !== undefined) throw new UnknownQuestion(taskId, unknown);
    if (!this.#parts.dialect.answer) return;
    const task = this.#tasks.get(taskId) ?? new TaskQuestions(taskId);
    // Another caller answered, or the task continued without an answer: stop asking.
    for (const { keys, over } of task.batches)
      if (keys.every((key) => !Object.hasOwn(questions, key))) over.abort();
    const open = Object.entries(questions).filter(([key]) => task.isNew(key));
    if (open.length === 0 || task.isAbandoned) return;
    this.#tasks.set(taskId, task);
    const batch = { keys: open.map(([key]) => key), over: new AbortController() };
    task.batches.add(batch);
    const { signal } = batch.over;
    this.#ask(task, open, AbortSignal.any([this.#signal, signal]))
      .catch((error: unknown) => {
        if (!signal.aborted && !this.#signal.aborted) this.#failure ??= { error };
      })
      .finally(() => {
        task.batches.delete(batch);
        onAnswered();
      });
  }

  /** True while the user is answering a question of these tasks. */
  areOpen(tasks: { has(taskId: string): boolean }): boolean {
    const isThinking = [...this.#tasks.values()].some(({ batches }) => batches.size > 0);
    return isThinking || (this.#parts.answering.isAsking?.(tasks) ?? false);
  }

  /** The task has ended: stop asking its questions. */
  end(taskId: string): void {
    for (const { over } of this.#tasks.get(taskId)?.batches ?? []) over.abort();
    this.#tasks.delete(taskId);
  }

  #unknownIn(taskId: string, polled: PollResult): string | undefined {
    const shown = Object.values(polled.questions).find(({ method }) => !isKnown(method));
    if (shown) return shown.method;
    // The request was refused already. It only matters if the task still waits for an answer.
    const refused = this.#parts.answering.takeUnknown?.(taskId);
    return 'status' in polled && polled.status === 'input_required' ? refused : undefined;
  }

  async #ask(task: TaskQuestions, open: readonly Open[], signal: AbortSignal): Promise<void> {
    const answers: Answered[] = [];
    for (const one of open) {
      const answer = await this.#answerTo(task, one, signal);
      // The protocol has no answer that means "nobody can answer", so cancel the task instead of leaving it waiting.
      if (!answer) return this.#abandon(task);
      answers.push([one[0], answer]);
    }
    await this.#deliver(task, answers);
  }

  /** If the peer refuses several answers together, sends them one by one: a bad answer must not block the others. */
  async #deliver(task: TaskQuestions, answers: readonly Answered[]): Promise<void> {
    const { taskId } = task;
    const { dialect, onUpdate } = this.#parts;
    try {
      await this.#send(dialect.answer!(taskId, Object.fromEntries(answers)));
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      if (answers.length === 1) return this.#refused(task, answers[0]![0], error);
      for (const answer of answers) await this.#deliver(task, [answer]);
      return;
    }
    for (const [key] of answers) {
      task.taken.add(key);
      onUpdate({ type: 'answered', taskId, key });
    }
  }

  #refused({ taskId, problems }: TaskQuestions, key: string, { message: text }: RemoteError): void {
    this.#parts.answering.forget(taskId, key);
    const times = (problems.get(key)?.times ?? 0) + 1;
    if (times > maxAttempts)
      throw new MalformedAnswer(
        `task ${taskId} refused ${maxAttempts} answers to its question "${key}" and also a cancelled answer: ${text}`,
      );
    problems.set(key, { times, text });
  }

  /** A stored or new answer. Undefined if nobody can answer and the question has no answer that refuses it. */
  async #answerTo(
    task: TaskQuestions,
    [key, request]: Open,
    signal: AbortSignal,
  ): Promise<JsonObject | undefined> {
    const { taskId, problems } = task;
    const { answering, onUpdate } = this.#parts;
    const before = answering.recall(taskId, key);
    if (before) return before;
    const problem = problems.get(key);
    if (problem && problem.times >= maxAttempts) return refusalOf(request);
    onUpdate({ type: 'question', taskId, key, request });
    const question = { taskId, key, ...request, ...(problem && { problem: problem.text }) };
    const answer = await answering.answer(question, signal).catch(() => undefined);
    signal.throwIfAborted();
    const given = isJsonObject(answer) ? answer : refusalOf(request);
    if (given) answering.remember(taskId, key, given);
    return given;
  }

  async #abandon(task: TaskQuestions): Promise<void> {
    task.isAbandoned = true;
    const cancel = this.#parts.dialect.cancel?.(task.taskId);
    if (cancel) await this.#send(cancel);
  }
}

const kinds = ['elicitation/create', 'sampling/createMessage', 'roots/list'];

export function isKnown(method: string): boolean {
  return kinds.includes(method);
}

/** The answer that refuses a question. Only elicitation has one. */
export function refusalOf({ method }: Pick<Message, 'method'>): JsonObject | undefined {
  return method === 'elicitation/create' ? { action: 'cancel' } : undefined;
}
