/** The questions of the tasks that are pursued: each is put to the user once, however often it is seen. */
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { MalformedAnswer, RemoteError, UnknownQuestion } from './errors.ts';
import type { Seen } from './remote-dialect.ts';
import type { Message } from './remote-task.ts';
import type { TaskPollerParts } from './task-poller.ts';

export interface Question extends Message {
  readonly taskId: string;
  readonly key: string;
  /** What was wrong with the last answer, if the peer refused one. */
  readonly problem?: string;
}

/** How questions are answered, and what was answered already. */
export interface Answering {
  /** Rejects if nobody can or wants to answer. */
  answer(question: Question, signal: AbortSignal): Promise<JsonObject>;
  /** An answer that was given before, by this process or an earlier one. */
  recall(taskId: string, key: string): JsonObject | undefined;
  /** To be durable when it returns: from here on the question is not put to anybody again. */
  remember(taskId: string, key: string, answer: JsonObject): void;
  forget(taskId: string, key: string): void;
  /** Is anybody thinking about a question of these tasks that came as a request? */
  isAsking?(tasks: { has(taskId: string): boolean }): boolean;
  /** The method of a request of that task that nobody here knows, if one came since this was asked last. */
  takeUnknown?(taskId: string): string | undefined;
}

/** How often a question is put again because the peer refused the answer. */
const attempts = 3;

type Open = readonly [key: string, request: Message];
type Answered = readonly [key: string, answer: JsonObject];

/** What was open at the same time, and is answered together: not every peer takes answers one by one. */
interface Batch {
  readonly keys: readonly string[];
  readonly over: AbortController;
}

/** What is known of the questions of one task. */
class Asked {
  readonly taskId: string;
  readonly taken = new Set<string>();
  readonly problems = new Map<string, { readonly times: number; readonly text: string }>();
  readonly batches = new Set<Batch>();
  isAbandoned = false;

  constructor(taskId: string) {
    this.taskId = taskId;
  }

  isNew(key: string): boolean {
    return !this.taken.has(key) && ![...this.batches].some(({ keys }) => keys.includes(key));
  }
}

export class Questions {
  readonly #parts: TaskPollerParts;
  readonly #signal: AbortSignal;
  readonly #send: (message: Message) => Promise<JsonObject>;
  readonly #asked = new Map<string, Asked>();
  #failure: { readonly error: unknown } | undefined;

  constructor(parts: TaskPollerParts, signal: AbortSignal, send: (message: Message) => Promise<JsonObject>) {
    this.#parts = parts;
    this.#signal = signal;
    this.#send = send;
  }

  /** Sees to it that what is open is being answered. People take their time: nothing waits for them here. */
  see(taskId: string, seen: Seen, onAnswered: () => void): void {
    const { questions } = seen;
    if (this.#failure) throw this.#failure.error;
    const unknown = this.#unknownIn(taskId, seen);
    // Not cancelled: whoever comes back for the task may know the kind.
    if (unknown !== undefined) throw new UnknownQuestion(taskId, unknown);
    if (!this.#parts.dialect.answer) return;
    const asked = this.#asked.get(taskId) ?? new Asked(taskId);
    // Somebody else answered, or the task went on without: nobody need think about it any longer.
    for (const { keys, over } of asked.batches)
      if (keys.every((key) => !Object.hasOwn(questions, key))) over.abort();
    const open = Object.entries(questions).filter(([key]) => asked.isNew(key));
    if (open.length === 0 || asked.isAbandoned) return;
    this.#asked.set(taskId, asked);
    const batch = { keys: open.map(([key]) => key), over: new AbortController() };
    asked.batches.add(batch);
    const { signal } = batch.over;
    this.#ask(asked, open, AbortSignal.any([this.#signal, signal]))
      .catch((error: unknown) => {
        if (!signal.aborted && !this.#signal.aborted) this.#failure ??= { error };
      })
      .finally(() => {
        asked.batches.delete(batch);
        onAnswered();
      });
  }

  /** Does anybody have a question of these tasks before them? */
  areOpen(tasks: { has(taskId: string): boolean }): boolean {
    const isThinking = [...this.#asked.values()].some(({ batches }) => batches.size > 0);
    return isThinking || (this.#parts.answering.isAsking?.(tasks) ?? false);
  }

  /** The task is over, and all that it asked. */
  end(taskId: string): void {
    for (const { over } of this.#asked.get(taskId)?.batches ?? []) over.abort();
    this.#asked.delete(taskId);
  }

  #unknownIn(taskId: string, seen: Seen): string | undefined {
    const shown = Object.values(seen.questions).find(({ method }) => !isKnown(method));
    if (shown) return shown.method;
    // A request was refused already. A task that minds goes on waiting; others continue without an answer.
    const refused = this.#parts.answering.takeUnknown?.(taskId);
    return 'status' in seen && seen.status === 'input_required' ? refused : undefined;
  }

  async #ask(asked: Asked, open: readonly Open[], signal: AbortSignal): Promise<void> {
    const answers: Answered[] = [];
    for (const one of open) {
      const answer = await this.#answerTo(asked, one, signal);
      // There is no word for "nobody can": what the task makes of its end is its own affair, but it must not wait.
      if (!answer) return this.#abandon(asked);
      answers.push([one[0], answer]);
    }
    await this.#deliver(asked, answers);
  }

  /** One bad answer must not spoil the others: what is refused together is sent one by one. */
  async #deliver(asked: Asked, answers: readonly Answered[]): Promise<void> {
    const { taskId } = asked;
    const { dialect, onUpdate } = this.#parts;
    try {
      await this.#send(dialect.answer!(taskId, Object.fromEntries(answers)));
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      if (answers.length === 1) return this.#refused(asked, answers[0]![0], error);
      for (const answer of answers) await this.#deliver(asked, [answer]);
      return;
    }
    for (const [key] of answers) {
      asked.taken.add(key);
      onUpdate({ type: 'answered', taskId, key });
    }
  }

  #refused({ taskId, problems }: Asked, key: string, { message: text }: RemoteError): void {
    this.#parts.answering.forget(taskId, key);
    const times = (problems.get(key)?.times ?? 0) + 1;
    if (times > attempts)
      throw new MalformedAnswer(
        `task ${taskId} refused ${attempts} answers to its question "${key}", and that there is none, too: ${text}`,
      );
    problems.set(key, { times, text });
  }

  async #answerTo(asked: Asked, [key, request]: Open, signal: AbortSignal): Promise<JsonObject | undefined> {
    const { taskId, problems } = asked;
    const { answering, onUpdate } = this.#parts;
    const before = answering.recall(taskId, key);
    if (before) return before;
    const problem = problems.get(key);
    if (problem && problem.times >= attempts) return refusalOf(request);
    onUpdate({ type: 'question', taskId, key, request });
    const question = { taskId, key, ...request, ...(problem && { problem: problem.text }) };
    const answer = await answering.answer(question, signal).catch(() => undefined);
    signal.throwIfAborted();
    const given = isJsonObject(answer) ? answer : refusalOf(request);
    if (given) answering.remember(taskId, key, given);
    return given;
  }

  async #abandon(asked: Asked): Promise<void> {
    asked.isAbandoned = true;
    const cancel = this.#parts.dialect.cancel?.(asked.taskId);
    if (cancel) await this.#send(cancel);
  }
}

const kinds = ['elicitation/create', 'sampling/createMessage', 'roots/list'];

export function isKnown(method: string): boolean {
  return kinds.includes(method);
}

/** Only forms and links can be refused; there is no word for it in the answer to a request for a model. */
export function refusalOf({ method }: Pick<Message, 'method'>): JsonObject | undefined {
  return method === 'elicitation/create' ? { action: 'cancel' } : undefined;
}
