/**
 * One call on its way through an upstream, for as long as the pass of its task lives in this process. It tells what
 * happens as events, one at a time; each is a value that the journal keeps.
 */

import type { TaskHandle } from '../../client/call-handle.ts';
import type { Answer, Question } from '../../client/questions/question-callback.ts';
import type { KnownSession } from '../../client/transports/http.ts';
import type { TaskContext } from '../../engine/handlers/context.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Owner } from '../../model/task.ts';
import { within } from '../../runtime/timeout.ts';
import { endingOfError, lost, type UpstreamOutcome } from './call-outcome.ts';
import type { Upstream } from './upstream.ts';

export type UpstreamEvent =
  | RemoteTaskEvent
  | { readonly type: 'question'; readonly key: string; readonly question: JsonObject }
  | { readonly type: 'end'; readonly ending: UpstreamOutcome };

/** The upstream has made a task of the call: what it takes to find it again. */
export interface RemoteTaskEvent {
  readonly type: 'task';
  readonly taskId: string;
  readonly dialect: string;
  /** Of the connection on which it was made; a process that was spawned takes its tasks with it. */
  readonly instance: string;
  readonly session?: KnownSession;
}

type Reporting = Pick<TaskContext, 'id' | 'progress' | 'setStatusMessage'>;

export class UpstreamCall {
  readonly owner: Owner;
  readonly conversation: Conversation;
  readonly #events: UpstreamEvent[] = [];
  readonly #over = new AbortController();
  readonly #answered = Promise.withResolvers<void>();
  /** How often each question has been answered here. */
  readonly #given = new Map<string, number>();
  /** The task here, once there is one: it is told how far the call is. */
  task: Reporting | undefined;
  /** The call as our client holds it, once the upstream has answered. */
  handle: TaskHandle | undefined;
  isBegun = false;
  /** Its questions that wait for an answer. */
  asking = 0;
  #wake: (() => void) | undefined;

  constructor(owner: Owner, conversation = new Conversation()) {
    this.owner = owner;
    this.conversation = conversation;
  }

  /** The upstream's name for it, once there is one. */
  get taskId(): string | undefined {
    return this.handle?.taskId;
  }

  /** Resolves when the upstream has said whether the call is a task. */
  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  /** Resolves when the call has ended. Nothing that goes wrong is thrown: it is told as the end. */
  async start(
    upstream: Pick<Upstream, 'remoteOf' | 'left'>,
    begin: (signal: AbortSignal) => Promise<TaskHandle>,
    isResumed = false,
  ): Promise<void> {
    this.isBegun = true;
    try {
      const handle = await begin(this.#over.signal);
      this.handle = handle;
      if (handle.taskId !== undefined) {
        if (!isResumed) this.#tell(upstream.remoteOf(handle));
        void this.#report(handle).catch(() => {});
      }
      this.#answered.resolve();
      this.#tell({ type: 'end', ending: { kind: 'result', result: await handle.result() } });
    } catch (error) {
      this.#tell({ type: 'end', ending: endingOfError(error) });
    } finally {
      this.#answered.resolve();
      upstream.left(this);
    }
  }

  /** It cannot be found again: nobody will ever know. */
  lose(why: string): void {
    this.isBegun = true;
    this.#tell({ type: 'end', ending: lost(why) });
  }

  /** The end, if nothing else comes before it and it comes soon. */
  async endWithin(ms: number): Promise<UpstreamOutcome | undefined> {
    if (this.#events.length === 0) await within(ms, this.#news());
    const [event] = this.#events;
    return event?.type === 'end' ? event.ending : undefined;
  }

  async next(): Promise<UpstreamEvent> {
    for (;;) {
      const event = this.#events.shift();
      if (event) return event;
      await this.#news();
    }
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** A question of the upstream, to be answered by whoever made the call. */
  async ask({ key: name, ...question }: Question, signal: AbortSignal): Promise<Answer> {
    const times = (this.#given.get(name) ?? 0) + 1;
    const key = times === 1 ? name : `${name}~${times}`;
    // What was asked before a restart is asked already.
    if (!this.conversation.has(key))
      this.#tell({ type: 'question', key, question: question as unknown as JsonObject });
    this.asking++;
    const { promise } = this.conversation.open(key);
    const answer = await unlessAborted(promise, signal).finally(() => this.asking--);
    this.#given.set(name, times);
    if (!answer) throw new Error('Nobody answered.');
    return answer as Answer;
  }

  /** The task has ended here; the upstream is told. */
  async cancel(): Promise<void> {
    if (this.taskId !== undefined) await this.handle?.cancel().catch(() => {});
    this.detach();
  }

  /** Nobody waits here any more. */
  detach(): void {
    this.handle?.detach();
    this.#over.abort();
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

  #tell(event: UpstreamEvent): void {
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
 * What was asked in one call, and answered, as far as the handler of its task has come. A replayed handler fills it
 * again from the journal, so that a question which an upstream repeats after a restart is not put to anyone twice.
 */
export class Conversation extends Map<string, PromiseWithResolvers<JsonObject | undefined>> {
  /** The answer to a question; undefined if nobody can or will answer. */
  open(key: string): PromiseWithResolvers<JsonObject | undefined> {
    const answer = this.get(key) ?? Promise.withResolvers();
    this.set(key, answer);
    return answer;
  }
}
