/** The questions of the tasks that are pursued: each is put to the user once, however often it is seen. */
import type { JsonObject } from '../model/json.ts';
import { RemoteError } from './errors.ts';
import type { PursuitParts } from './pursuit.ts';
import type { Message } from './remote-dialect.ts';
import type { RemoteRequest } from './remote-task.ts';

export interface Question extends RemoteRequest {
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
}

/** How often a question is put again because the peer refused the answer. */
const attempts = 3;

export class Questions {
  readonly #parts: PursuitParts;
  readonly #signal: AbortSignal;
  readonly #send: (message: Message) => Promise<JsonObject>;
  /** Keys of which the answer has been taken. */
  readonly #taken = new Set<string>();
  readonly #problems = new Map<string, { readonly times: number; readonly text: string }>();
  /** What is being asked of each task: all that was open together. */
  readonly #asking = new Map<string, { readonly keys: readonly string[]; readonly over: AbortController }>();
  #failure: { readonly error: unknown } | undefined;

  constructor(parts: PursuitParts, signal: AbortSignal, send: (message: Message) => Promise<JsonObject>) {
    this.#parts = parts;
    this.#signal = signal;
    this.#send = send;
  }

  /** Sees to it that what is open is being answered. People take their time: nothing waits for them here. */
  see(taskId: string, questions: Readonly<Record<string, RemoteRequest>>, onAnswered: () => void): void {
    if (this.#failure) throw this.#failure.error;
    if (!this.#parts.dialect.answer) return;
    const asking = this.#asking.get(taskId);
    if (asking) {
      // Somebody else answered, or the task went on without: nobody need think about it any longer.
      if (asking.keys.every((key) => !Object.hasOwn(questions, key))) asking.over.abort();
      return;
    }
    const open = Object.entries(questions).filter(([key]) => !this.#taken.has(`${taskId} ${key}`));
    if (open.length === 0) return;
    const over = new AbortController();
    this.#asking.set(taskId, { keys: open.map(([key]) => key), over });
    this.#ask(taskId, open, AbortSignal.any([this.#signal, over.signal]))
      .catch((error: unknown) => {
        if (!over.signal.aborted && !this.#signal.aborted) this.#failure = { error };
      })
      .finally(() => {
        this.#asking.delete(taskId);
        onAnswered();
      });
  }

  async #ask(
    taskId: string,
    open: readonly (readonly [string, RemoteRequest])[],
    signal: AbortSignal,
  ): Promise<void> {
    const { dialect, answering, onUpdate } = this.#parts;
    const responses: Record<string, JsonObject> = {};
    for (const [key, request] of open) {
      const answer = await this.#answerTo(taskId, key, request, signal);
      // There is no word for "nobody can": what the task makes of its end is its own affair, but it must not wait.
      if (!answer) return this.#abandon(taskId);
      responses[key] = answer;
    }
    try {
      await this.#send(dialect.answer!(taskId, responses));
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      for (const [key] of open) {
        answering.forget(taskId, key);
        const times = (this.#problems.get(`${taskId} ${key}`)?.times ?? 0) + 1;
        this.#problems.set(`${taskId} ${key}`, { times, text: error.message });
      }
      return;
    }
    for (const [key] of open) {
      this.#taken.add(`${taskId} ${key}`);
      onUpdate({ type: 'answered', taskId, key });
    }
  }

  async #answerTo(
    taskId: string,
    key: string,
    request: RemoteRequest,
    signal: AbortSignal,
  ): Promise<JsonObject | undefined> {
    const { answering, onUpdate } = this.#parts;
    const before = answering.recall(taskId, key);
    if (before) return before;
    const problem = this.#problems.get(`${taskId} ${key}`);
    if (problem && problem.times >= attempts) return refusalOf(request);
    onUpdate({ type: 'question', taskId, key, request });
    let answer: JsonObject | undefined;
    try {
      const question = { taskId, key, ...request, ...(problem && { problem: problem.text }) };
      answer = await answering.answer(question, signal);
    } catch {
      signal.throwIfAborted();
      answer = refusalOf(request);
    }
    signal.throwIfAborted();
    if (answer) answering.remember(taskId, key, answer);
    return answer;
  }

  async #abandon(taskId: string): Promise<void> {
    const cancel = this.#parts.dialect.cancel?.(taskId);
    if (cancel) await this.#send(cancel);
  }
}

/** Only forms and links can be refused; there is no word for it in the answer to a request for a model. */
function refusalOf({ method }: RemoteRequest): JsonObject | undefined {
  return method === 'elicitation/create' ? { action: 'cancel' } : undefined;
}
