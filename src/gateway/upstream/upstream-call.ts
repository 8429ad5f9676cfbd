/**
 * One call to an upstream, during one pass of its task. It produces events one at a time. Each event is a JSON value
 * that is recorded in the journal.
 */

import type { TaskHandle } from '../../client/call-handle.ts';
import type { Answer, Question } from '../../client/questions/question-callback.ts';
import type { KnownSession } from '../../client/transports/http.ts';
import type { TaskContext } from '../../engine/handlers/context.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Owner } from '../../model/task.ts';
import { within } from '../../runtime/timeout.ts';
import { lost, outcomeOfError, type UpstreamOutcome } from './call-outcome.ts';
import type { Upstream } from './upstream.ts';

export type UpstreamEvent =
  | RemoteTaskEvent
  | { readonly type: 'question'; readonly key: string; readonly question: JsonObject }
  | { readonly type: 'end'; readonly ending: UpstreamOutcome };

/** The upstream has created a task for the call. Contains what is needed to resume it. */
export interface RemoteTaskEvent {
  readonly type: 'task';
  readonly taskId: string;
  readonly dialect: string;
  /** The connection on which the task was created. The tasks of a spawned process end with it. */
  readonly instance: string;
  readonly session?: KnownSession;
}

type Reporting = Pick<TaskContext, 'id' | 'progress' | 'setStatusMessage'>;

export class UpstreamCall {
  readonly owner: Owner;
  readonly conversation: Conversation;
  readonly #events: UpstreamEvent[] = [];
  readonly #detached = new AbortController();
  readonly #answered = Promise.withResolvers<void>();
  /** How often each question has been answered in this pass. */
  readonly #answerCounts = new Map<string, number>();
  /** The gateway's task, once it exists. It receives progress and status messages. */
  task: Reporting | undefined;
  /** The client's handle, once the upstream has answered. */
  handle: TaskHandle | undefined;
  hasStarted = false;
  /** The number of questions that wait for an answer. */
  openQuestions = 0;
  #wake: (() => void) | undefined;

  constructor(owner: Owner, conversation = new Conversation()) {
    this.owner = owner;
    this.conversation = conversation;
  }

  /** The id of the upstream's task, if there is one. */
  get taskId(): string | undefined {
    return this.handle?.taskId;
  }

  /** Resolves when the upstream has answered with a task or a result, or the call has failed. */
  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  /** Resolves when the call has ended. Never rejects: an error becomes the `end` event. */
  async start(
    upstream: Pick<Upstream, 'remoteTaskOf' | 'release'>,
    send: (signal: AbortSignal) => Promise<TaskHandle>,
    isResumed = false,
  ): Promise<void> {
    this.hasStarted = true;
    try {
      const handle = await send(this.#detached.signal);
      this.handle = handle;
      if (handle.taskId !== undefined) {
        if (!isResumed) this.#emit(upstream.remoteTaskOf(handle));
        void this.#report(handle).catch(() => {});
      }
      this.#answered.resolve();
      this.#emit({ type: 'end', ending: { kind: 'result', result: await handle.result() } });
    } catch (error) {
      this.#emit({ type: 'end', ending: outcomeOfError(error) });
    } finally {
      this.#answered.resolve();
      upstream.release(this);
    }
  }

  /** The call cannot be resumed, so its outcome stays unknown. */
  markLost(why: string): void {
    this.hasStarted = true;
    this.#emit({ type: 'end', ending: lost(why) });
  }

  /** The outcome, if the call ends within this time without another event. */
  async outcomeWithin(ms: number): Promise<UpstreamOutcome | undefined> {
    if (this.#events.length === 0) await within(ms, this.#eventAdded());
    const [event] = this.#events;
    return event?.type === 'end' ? event.ending : undefined;
  }

  /** Removes and returns the oldest event. Waits if there is none. */
  async next(): Promise<UpstreamEvent> {
    for (;;) {
      const event = this.#events.shift();
      if (event) return event;
      await this.#eventAdded();
    }
  }

  #eventAdded(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Passes a question of the upstream to the caller. */
  async ask({ key: name, ...question }: Question, signal: AbortSignal): Promise<Answer> {
    // The upstream may ask again with the same key, for example if it refused the answer.
    const count = (this.#answerCounts.get(name) ?? 0) + 1;
    const key = count === 1 ? name : `${name}~${count}`;
    // A question from before a restart is in the journal already.
    if (!this.conversation.has(key))
      this.#emit({ type: 'question', key, question: question as unknown as JsonObject });
    this.openQuestions++;
    const { promise } = this.conversation.open(key);
    const answer = await unlessAborted(promise, signal).finally(() => this.openQuestions--);
    this.#answerCounts.set(name, count);
    if (!answer) throw new Error('The question was not answered.');
    return answer as Answer;
  }

  /** The gateway's task has ended: cancels the task of the upstream. */
  async cancel(): Promise<void> {
    if (this.taskId !== undefined) await this.handle?.cancel().catch(() => {});
    this.detach();
  }

  /** Stops waiting. A task of the upstream continues; a call that it has not answered yet is cancelled. */
  detach(): void {
    this.handle?.detach();
    this.#detached.abort();
  }

  async #report(handle: TaskHandle): Promise<void> {
    for await (const update of handle.updates()) {
      if (update.type === 'progress') this.progress(update);
      if (update.type === 'status' && update.task.message !== undefined)
        this.task?.setStatusMessage(update.task.message);
    }
  }

  progress({ progress, total, message }: { progress: number; total?: number; message?: string }): void {
    this.task?.progress(progress, total, message);
    if (message !== undefined) this.task?.setStatusMessage(message);
  }

  #emit(event: UpstreamEvent): void {
    this.#events.push(event);
    this.#wake?.();
  }
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

// --- Questions and answers ---------------------------------------------------------------------------------

/**
 * The questions and answers of one call. A replayed handler fills it again from the journal, so that a question that an
 * upstream repeats after a restart is not asked twice.
 */
export class Conversation extends Map<string, PromiseWithResolvers<JsonObject | undefined>> {
  /** The pending answer to a question, created if necessary. Resolves to undefined if the caller cannot be asked. */
  open(key: string): PromiseWithResolvers<JsonObject | undefined> {
    const answer = this.get(key) ?? Promise.withResolvers();
    this.set(key, answer);
    return answer;
  }
}
