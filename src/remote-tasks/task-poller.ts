/**
 * Follows a task of a peer, with all its subtasks, to its outcome: polls it, answers its questions and fetches its
 * result, in any dialect. It survives lost connections and faulty peers: every wait is bounded, and everything that a
 * peer sends is checked.
 */

import { invalidParams } from '../dialects/json-rpc.ts';
import type { JsonObject } from '../model/json.ts';
import { runtime } from '../runtime/runtime.ts';
import { Semaphore } from '../runtime/semaphore.ts';
import { Detached, MalformedAnswer, RemoteError } from './errors.ts';
import { type Answering, Questions } from './questions.ts';
import type { RemoteDialect } from './remote-dialect.ts';
import {
  checkedSize,
  outcomeIn,
  outcomeOfUnknownTask,
  outcomeWithoutResult,
  type RemoteOutcome,
  sizeOf,
} from './remote-outcome.ts';
import {
  isOver,
  type Message,
  type RemoteProgress,
  type RemoteTask,
  TreeGuard,
  type TreeLimits,
} from './remote-task.ts';
import {
  CancellableWait,
  Gone,
  isTransient,
  type Pace,
  Patience,
  retryUntilAnswered,
  Wakeup,
} from './retry-loop.ts';

/** The peer that runs the tasks. */
export interface RemotePeer {
  /** Rejects with RemoteError, ConnectionLost or RequestTimedOut. With `isPatient` the request has no timeout. */
  request(
    message: Message,
    options: { readonly signal: AbortSignal; readonly isPatient?: boolean },
  ): Promise<JsonObject>;
}

/** Notifications from the peer. They only trigger a poll; their content is not used. */
export interface TaskNotifications {
  /** Calls back when a notification about the task arrives. `isPushed`: the peer sends notifications at present. */
  of(taskId: string, nudge: () => void): { stop(): void; isPushed(): boolean };
}

export type TaskUpdate =
  | { readonly type: 'status'; readonly task: RemoteTask }
  | ({ readonly type: 'progress'; readonly taskId: string } & RemoteProgress)
  | {
      readonly type: 'question';
      readonly taskId: string;
      readonly key: string;
      readonly request: Message;
    }
  | { readonly type: 'answered'; readonly taskId: string; readonly key: string }
  | { readonly type: 'child'; readonly taskId: string; readonly parentId: string }
  /** A text for the model while the task is running. */
  | { readonly type: 'interim'; readonly taskId: string; readonly text: string }
  | { readonly type: 'unreachable'; readonly why: string }
  | { readonly type: 'reachable' };

export interface TaskPollerParts {
  readonly peer: RemotePeer;
  readonly dialect: RemoteDialect;
  readonly pace: Pace;
  readonly answering: Answering;
  readonly notifications?: TaskNotifications;
  readonly onUpdate: (update: TaskUpdate) => void;
  /** Stops the poller, but does not cancel the task. */
  readonly signal: AbortSignal;
  /** How long the peer may be unreachable before the poller gives up. */
  readonly reconnectTimeoutMs: number;
  readonly limits?: TreeLimits;
  /** The limit for all results of the tree together, in characters of JSON. */
  readonly maxResultSize?: number;
  /** The task in the response that created it. */
  readonly first?: RemoteTask | undefined;
  /** Limits the concurrent requests to the peer, of this task and of others. */
  readonly requests?: Semaphore;
}

/** The minimum poll interval while the server sends notifications, in case one of them is lost. */
const safetyNetMs = 10_000;
/** The limit for concurrent requests, however large the tree is. */
export const maxConcurrentRequests = 8;
/** The limit for streams that wait for a result, and carry questions in the meantime. */
const maxStreams = 32;

/** A task with its subtasks, as last polled. */
export interface PolledTask {
  readonly task: RemoteTask;
  readonly ending?: RemoteOutcome;
  readonly children: readonly PolledTask[];
}

/** One task that is being polled. */
interface TrackedTask {
  readonly taskId: string;
  readonly wakeup: Wakeup;
  readonly patience: Patience;
  readonly children: { readonly tracked: TrackedTask; readonly end: Promise<void> }[];
  readonly isParentDone: () => boolean;
  /** A `tasks/result` request is open; its stream carries questions (2025-11-25). */
  isOutcomeAsked: boolean;
  /** The outcome that arrived on that stream. */
  early: RemoteOutcome | undefined;
}

export class TaskPoller {
  readonly #rootId: string;
  readonly #parts: TaskPollerParts;
  readonly #guard: TreeGuard;
  readonly #tasks = new Map<string, RemoteTask>();
  readonly #outcomes = new Map<string, RemoteOutcome>();
  readonly #questions: Questions;
  readonly #requests: Semaphore;
  readonly #stopped = new AbortController();
  readonly #waits: CancellableWait;
  readonly #streams = new Semaphore(maxStreams);
  #failure: { readonly error: unknown } | undefined;
  #isUnreachable = false;
  /** Until when the peer may not know the root yet, on the monotonic clock. */
  #unknownUntil = 0;
  /** The size of all results so far, in characters of JSON. */
  #size = 0;

  constructor(rootId: string, parts: TaskPollerParts) {
    this.#rootId = rootId;
    this.#parts = parts;
    this.#guard = new TreeGuard(rootId, parts.limits);
    this.#requests = parts.requests ?? new Semaphore(maxConcurrentRequests);
    this.#waits = new CancellableWait(AbortSignal.any([parts.signal, this.#stopped.signal]));
    this.#questions = new Questions(parts, this.#waits.signal, (message) => this.#send(message));
  }

  /**
   * Resolves when the root and all its descendants have ended. Rejects with Gone if the peer does not know the task.
   * Until `unknownForMs` have passed it keeps polling an unknown task, because the peer may still be creating it.
   */
  async run({ unknownForMs = 0 } = {}): Promise<RemoteOutcome> {
    this.#unknownUntil = runtime.monotonic() + unknownForMs;
    try {
      return await this.#follow(this.#track(this.#rootId, () => false));
    } catch (error) {
      if (this.#failure) throw this.#failure.error;
      throw this.#waits.signal.aborted ? new Detached() : error;
    } finally {
      this.#stopped.abort();
    }
  }

  /** The tree as last polled, with subtasks in the order of their creation. */
  tree(taskId = this.#rootId): PolledTask | undefined {
    const task = this.#tasks.get(taskId);
    if (!task) return undefined;
    const outcome = this.#outcomes.get(taskId);
    const children = this.#guard.childIds(taskId).map((id) => this.tree(id));
    return {
      task,
      ...(outcome && { ending: outcome }),
      children: children.filter((child) => child !== undefined),
    };
  }

  // --- One task -------------------------------------------------------------------------------------------

  async #follow(tracked: TrackedTask): Promise<RemoteOutcome> {
    const { taskId, wakeup } = tracked;
    const { pace, notifications } = this.#parts;
    const subscription = notifications?.of(taskId, () => wakeup.ring());
    try {
      for (;;) {
        const polledAt = runtime.monotonic();
        const outcome = await this.#poll(tracked);
        if (outcome) return this.#ended(taskId, outcome);
        const hintMs = this.#tasks.get(taskId)?.pollMs;
        const isPushed = subscription?.isPushed() ?? false;
        const wait = pace.next({ hintMs, ...(isPushed && { atLeastMs: safetyNetMs }) });
        await this.#waits.pause(wait, wakeup, () => Math.max(0, polledAt + pace.minMs - runtime.monotonic()));
      }
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      this.#ended(taskId, error.outcome);
      throw error;
    } finally {
      subscription?.stop();
      this.#questions.end(taskId);
    }
  }

  /** Polls once and processes the response. Returns the outcome if the task has ended. */
  async #poll(tracked: TrackedTask): Promise<RemoteOutcome | undefined> {
    const { taskId, wakeup, children, patience } = tracked;
    const { dialect } = this.#parts;
    const wasOrphaned = tracked.isParentDone();
    wakeup.reset();
    const message = dialect.poll?.(taskId) ?? dialect.get(taskId);
    const polled = dialect.read(await this.#sendPoll(tracked, message));
    if ('taskId' in polled) {
      for (const id of this.#record(taskId, polled)) this.#followChild(tracked, id);
      if (isOver(polled))
        return this.#finish(tracked, outcomeIn(polled) ?? (await this.#fetchResult(polled, tracked)));
      if (wasOrphaned)
        throw new MalformedAnswer(
          `the parent of task ${taskId} has ended, but the task is still ${polled.status}`,
        );
      if (polled.status === 'input_required' && dialect.resultWaits) this.#askOutcome(tracked);
    }
    if (tracked.early && children.length === 0) return tracked.early;
    this.#questions.update(taskId, polled, () => wakeup.ring());
    const { status = 'input_required', ttlMs } = 'taskId' in polled ? polled : {};
    patience.waited(status, ttlMs, () => this.#questions.areOpen(this.#tasks));
    return undefined;
  }

  async #sendPoll(tracked: TrackedTask, message: Message): Promise<JsonObject> {
    const { taskId, patience, wakeup } = tracked;
    try {
      const since = runtime.monotonic();
      return await this.#send(message, { onFailure: ({ message: why }) => patience.failed(since, why) });
    } catch (error) {
      if (!(error instanceof RemoteError) || error.rpcCode !== invalidParams) throw error;
      if (!this.#known(taskId) && runtime.monotonic() < this.#unknownUntil) {
        await this.#waits.pause(this.#parts.pace.next({}), wakeup);
        return this.#sendPoll(tracked, message);
      }
      const { createdAt } = this.#known(taskId) ?? {};
      throw new Gone(
        outcomeOfUnknownTask({ createdAt, ttlMs: patience.ttlMs }, error.message, runtime.now()),
      );
    }
  }

  #track(taskId: string, isParentDone: () => boolean): TrackedTask {
    const { reconnectTimeoutMs } = this.#parts;
    const ttlMs = this.#known(taskId)?.ttlMs;
    const patience = new Patience(taskId, reconnectTimeoutMs, ttlMs);
    const wakeup = new Wakeup();
    return { taskId, wakeup, patience, children: [], isParentDone, isOutcomeAsked: false, early: undefined };
  }

  /** The last known state of a task: as polled, or else as in the response that created it. */
  #known(taskId: string): RemoteTask | undefined {
    const { first } = this.#parts;
    return this.#tasks.get(taskId) ?? (first?.taskId === taskId ? first : undefined);
  }

  #followChild(parent: TrackedTask, id: string): void {
    const tracked = this.#track(id, () => this.#outcomes.has(parent.taskId));
    const end = this.#follow(tracked).then(
      () => {},
      (error: unknown) => {
        if (error instanceof Gone) return;
        // An error in one subtask fails the whole tree at once.
        if (!this.#waits.signal.aborted) this.#failure ??= { error };
        this.#stopped.abort();
      },
    );
    parent.children.push({ tracked, end });
  }

  /** The task has ended. Waits for its subtasks. */
  async #finish({ taskId, children }: TrackedTask, outcome: RemoteOutcome): Promise<RemoteOutcome> {
    this.#outcomes.set(taskId, outcome);
    for (const { tracked } of children) tracked.wakeup.ring();
    await Promise.all(children.map(({ end }) => end));
    if (this.#failure) throw this.#failure.error;
    this.#waits.signal.throwIfAborted();
    return outcome;
  }

  #ended(taskId: string, outcome: RemoteOutcome): RemoteOutcome {
    this.#outcomes.set(taskId, outcome);
    const { maxResultSize } = this.#parts;
    if (outcome.kind !== 'result' || maxResultSize === undefined) return outcome;
    this.#size += sizeOf(outcome.result);
    checkedSize(this.#size, maxResultSize);
    return outcome;
  }

  /** Stores the polled task and reports its changes. Returns the ids of new subtasks. */
  #record(taskId: string, task: RemoteTask): readonly string[] {
    const { onUpdate } = this.#parts;
    if (task.taskId !== taskId)
      throw new MalformedAnswer(`a request for task ${taskId} was answered with task ${task.taskId}`);
    const before = this.#tasks.get(taskId);
    const { status } = this.#known(taskId) ?? task;
    if (isOver({ status }) && status !== task.status)
      throw new MalformedAnswer(`task ${taskId} was ${status} and is now ${task.status}`);
    this.#tasks.set(taskId, task);
    const { progress } = task;
    if (progress && JSON.stringify(progress) !== JSON.stringify(before?.progress))
      onUpdate({ type: 'progress', taskId, ...progress });
    if (before?.status !== task.status || before.message !== task.message) onUpdate({ type: 'status', task });
    const added = this.#guard.admit(task);
    for (const id of added) onUpdate({ type: 'child', taskId: id, parentId: taskId });
    return added;
  }

  async #fetchResult(task: RemoteTask, { early }: TrackedTask): Promise<RemoteOutcome> {
    const { dialect } = this.#parts;
    const message = dialect.result?.(task.taskId);
    if (!message || (task.status !== 'completed' && !dialect.resultWaits)) return outcomeWithoutResult(task);
    if (early) return early;
    try {
      return { kind: 'result', result: await this.#send(message, { isRepeatable: false }) };
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      const { rpcCode: code, message, data } = error;
      return { kind: 'failed', error: { code, message, ...(data !== undefined && { data }) } };
    }
  }

  /** Sends `tasks/result` before the task has ended, because its stream carries the questions. */
  #askOutcome(tracked: TrackedTask): void {
    if (tracked.isOutcomeAsked) return;
    tracked.isOutcomeAsked = true;
    const { peer, dialect } = this.#parts;
    const { signal } = this.#waits;
    const ask = () => peer.request(dialect.result!(tracked.taskId), { signal, isPatient: true });
    this.#streams.run(ask, this.#waits).then(
      (result) => {
        tracked.early = { kind: 'result', result };
        tracked.wakeup.ring();
      },
      // The next poll returns the status, and sends this request again if necessary.
      () => {
        tracked.isOutcomeAsked = false;
      },
    );
  }

  // --- Requests -------------------------------------------------------------------------------------------

  /** If the message must not be sent twice (`isRepeatable: false`), an error of the peer is not retried. */
  async #send(
    message: Message,
    { isRepeatable = true, onFailure }: { isRepeatable?: boolean; onFailure?: (error: Error) => void } = {},
  ): Promise<JsonObject> {
    const { peer, onUpdate } = this.#parts;
    const { signal } = this.#waits;
    const request = async () => {
      signal.throwIfAborted();
      return this.#requests.run(() => peer.request(message, { signal }), this.#waits);
    };
    const answer = await retryUntilAnswered(request, {
      ...this.#parts,
      pause: (ms) => this.#waits.pause(ms),
      isTransient: (error) => !signal.aborted && isTransient(error, isRepeatable),
      onFailure: (error) => {
        if (!this.#isUnreachable) onUpdate({ type: 'unreachable', why: error.message });
        this.#isUnreachable = true;
        onFailure?.(error);
      },
    });
    if (this.#isUnreachable) onUpdate({ type: 'reachable' });
    this.#isUnreachable = false;
    return answer;
  }
}

export { Gone };
