/**
 * Pursues a task of a peer to its end, and every subtask that turns up on the way: looks at it, answers what it asks,
 * and fetches what came of it, in whichever dialect. It holds out against lost connections and faulty peers: every
 * wait is bounded, and nothing that a peer says is taken on trust.
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
  endingIn,
  endingOfUnknown,
  endingWithout,
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
  type Pace,
  Patience,
  retryUntilAnswered,
  saysNothing,
  Wakeup,
} from './retry-loop.ts';

/** Whoever holds the tasks. */
export interface RemotePeer {
  /** Rejects with RemoteError, ConnectionLost or RequestTimedOut. Without a time-out it waits as long as it takes. */
  request(
    message: Message,
    options: { readonly signal: AbortSignal; readonly isPatient?: boolean },
  ): Promise<JsonObject>;
}

/** News that come unasked. They only say when to look; what is told by them is never relied on. */
export interface News {
  /** Calls back when there is news of a task. */
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
  /** What a model may be told meanwhile. */
  | { readonly type: 'interim'; readonly taskId: string; readonly text: string }
  | { readonly type: 'unreachable'; readonly why: string }
  | { readonly type: 'reachable' };

export interface TaskPollerParts {
  readonly peer: RemotePeer;
  readonly dialect: RemoteDialect;
  readonly pace: Pace;
  readonly answering: Answering;
  readonly news?: News;
  readonly onUpdate: (update: TaskUpdate) => void;
  /** Ends the pursuit, and nothing else. */
  readonly signal: AbortSignal;
  readonly reconnectTimeoutMs: number;
  readonly limits?: TreeLimits;
  /** Of all tasks of the tree together, in characters of JSON. */
  readonly maxResultSize?: number;
  /** What the peer said of the task when it made it. */
  readonly first?: RemoteTask | undefined;
  /** Limits the concurrent requests to the peer, of this task and of others. */
  readonly requests?: Semaphore;
}

/** Between looks while the server pushes. */
const safetyNetMs = 10_000;
/** Requests at the same time, however large a tree is. */
export const mostAtOnce = 8;
/** Streams that wait for an outcome, and bring questions meanwhile. */
const mostStreams = 32;

/** A task as far as it was pursued. */
export interface PolledTask {
  readonly task: RemoteTask;
  readonly ending?: RemoteOutcome;
  readonly children: readonly PolledTask[];
}

/** One task on its way. */
interface Path {
  readonly taskId: string;
  readonly bell: Wakeup;
  readonly patience: Patience;
  readonly children: { readonly path: Path; readonly end: Promise<void> }[];
  readonly isParentDone: () => boolean;
  /** Its outcome is being waited for, on a stream that brings questions (2025-11-25). */
  isOutcomeAsked: boolean;
  /** The outcome that came on that stream. */
  early: RemoteOutcome | undefined;
}

export class TaskPoller {
  readonly #rootId: string;
  readonly #parts: TaskPollerParts;
  readonly #guard: TreeGuard;
  readonly #tasks = new Map<string, RemoteTask>();
  readonly #endings = new Map<string, RemoteOutcome>();
  readonly #questions: Questions;
  readonly #requests: Semaphore;
  readonly #stopped = new AbortController();
  readonly #halt: CancellableWait;
  readonly #streams = new Semaphore(mostStreams);
  #failure: { readonly error: unknown } | undefined;
  #isUnreachable = false;
  #unknownUntil = 0;
  #size = 0;

  constructor(rootId: string, parts: TaskPollerParts) {
    this.#rootId = rootId;
    this.#parts = parts;
    this.#guard = new TreeGuard(rootId, parts.limits);
    this.#requests = parts.requests ?? new Semaphore(mostAtOnce);
    this.#halt = new CancellableWait(AbortSignal.any([parts.signal, this.#stopped.signal]));
    this.#questions = new Questions(parts, this.#halt.signal, (message) => this.#send(message));
  }

  /**
   * Resolves when the root is over and so is everything below it. Rejects with Gone if the peer does not know it, also
   * after `unknownForMs`: until then the peer may still be creating it.
   */
  async run({ unknownForMs = 0 } = {}): Promise<RemoteOutcome> {
    this.#unknownUntil = runtime.monotonic() + unknownForMs;
    try {
      return await this.#follow(this.#pathTo(this.#rootId, () => false));
    } catch (error) {
      if (this.#failure) throw this.#failure.error;
      throw this.#halt.signal.aborted ? new Detached() : error;
    } finally {
      this.#stopped.abort();
    }
  }

  /** The tree as it is known, its results in the order of their creation. */
  tree(taskId = this.#rootId): PolledTask | undefined {
    const task = this.#tasks.get(taskId);
    if (!task) return undefined;
    const ending = this.#endings.get(taskId);
    const children = this.#guard.childIds(taskId).map((id) => this.tree(id));
    return { task, ...(ending && { ending }), children: children.filter((child) => child !== undefined) };
  }

  // --- One task -------------------------------------------------------------------------------------------

  async #follow(path: Path): Promise<RemoteOutcome> {
    const { taskId, bell } = path;
    const { pace, news } = this.#parts;
    const heard = news?.of(taskId, () => bell.ring());
    try {
      for (;;) {
        const lookedAt = runtime.monotonic();
        const ending = await this.#look(path);
        if (ending) return this.#ended(taskId, ending);
        const hintMs = this.#tasks.get(taskId)?.pollMs;
        const isPushed = heard?.isPushed() ?? false;
        const wait = pace.next({ hintMs, ...(isPushed && { atLeastMs: safetyNetMs }) });
        await this.#halt.pause(wait, bell, () =>
          Math.max(0, lookedAt + pace.shortestMs - runtime.monotonic()),
        );
      }
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      this.#ended(taskId, error.ending);
      throw error;
    } finally {
      heard?.stop();
      this.#questions.end(taskId);
    }
  }

  /** Looks once. What it shows is taken up; if that is the end, it is given. */
  async #look(path: Path): Promise<RemoteOutcome | undefined> {
    const { taskId, bell, children, patience } = path;
    const { dialect } = this.#parts;
    const wasOrphaned = path.isParentDone();
    bell.hush();
    const look = dialect.poll?.(taskId) ?? dialect.get(taskId);
    const seen = dialect.read(await this.#seen(path, look));
    if ('taskId' in seen) {
      for (const id of this.#take(taskId, seen)) this.#followChild(path, id);
      if (isOver(seen)) return this.#finish(path, endingIn(seen) ?? (await this.#fetched(seen, path)));
      if (wasOrphaned)
        throw new MalformedAnswer(
          `the parent of task ${taskId} ended before it, which is still ${seen.status}`,
        );
      if (seen.status === 'input_required' && dialect.resultWaits) this.#askOutcome(path);
    }
    if (path.early && children.length === 0) return path.early;
    this.#questions.see(taskId, seen, () => bell.ring());
    const { status = 'input_required', ttlMs } = 'taskId' in seen ? seen : {};
    patience.waited(status, ttlMs, () => this.#questions.areOpen(this.#tasks));
    return undefined;
  }

  async #seen(path: Path, message: Message): Promise<JsonObject> {
    const { taskId, patience, bell } = path;
    try {
      const since = runtime.monotonic();
      return await this.#send(message, { onFailure: ({ message: why }) => patience.failed(since, why) });
    } catch (error) {
      if (!(error instanceof RemoteError) || error.rpcCode !== invalidParams) throw error;
      if (!this.#known(taskId) && runtime.monotonic() < this.#unknownUntil) {
        await this.#halt.pause(this.#parts.pace.next({}), bell);
        return this.#seen(path, message);
      }
      const { createdAt } = this.#known(taskId) ?? {};
      throw new Gone(endingOfUnknown({ createdAt, ttlMs: patience.ttlMs }, error.message, runtime.now()));
    }
  }

  #pathTo(taskId: string, isParentDone: () => boolean): Path {
    const { reconnectTimeoutMs } = this.#parts;
    const ttlMs = this.#known(taskId)?.ttlMs;
    const patience = new Patience(taskId, reconnectTimeoutMs, ttlMs);
    const bell = new Wakeup();
    return { taskId, bell, patience, children: [], isParentDone, isOutcomeAsked: false, early: undefined };
  }

  /** The last that the peer said of a task, and be it when it made it. */
  #known(taskId: string): RemoteTask | undefined {
    const { first } = this.#parts;
    return this.#tasks.get(taskId) ?? (first?.taskId === taskId ? first : undefined);
  }

  #followChild(parent: Path, id: string): void {
    const path = this.#pathTo(id, () => this.#endings.has(parent.taskId));
    const end = this.#follow(path).then(
      () => {},
      (error: unknown) => {
        if (error instanceof Gone) return;
        // Whatever is wrong with a part of the tree is wrong with all of it, and said at once.
        if (!this.#halt.signal.aborted) this.#failure ??= { error };
        this.#stopped.abort();
      },
    );
    parent.children.push({ path, end });
  }

  /** It is over, and waits only for what is below it. */
  async #finish({ taskId, children }: Path, ending: RemoteOutcome): Promise<RemoteOutcome> {
    this.#endings.set(taskId, ending);
    for (const { path } of children) path.bell.ring();
    await Promise.all(children.map(({ end }) => end));
    if (this.#failure) throw this.#failure.error;
    this.#halt.signal.throwIfAborted();
    return ending;
  }

  #ended(taskId: string, ending: RemoteOutcome): RemoteOutcome {
    this.#endings.set(taskId, ending);
    const { maxResultSize } = this.#parts;
    if (ending.kind !== 'result' || maxResultSize === undefined) return ending;
    this.#size += sizeOf(ending.result);
    checkedSize(this.#size, maxResultSize);
    return ending;
  }

  /** Remembers and tells what is new of a task, and gives the subtasks that are. */
  #take(taskId: string, task: RemoteTask): readonly string[] {
    const { onUpdate } = this.#parts;
    if (task.taskId !== taskId)
      throw new MalformedAnswer(`it was asked about task ${taskId}, and spoke of ${task.taskId}`);
    const before = this.#tasks.get(taskId);
    const { status } = this.#known(taskId) ?? task;
    if (isOver({ status }) && status !== task.status)
      throw new MalformedAnswer(`task ${taskId} was ${status}, and is ${task.status} now`);
    this.#tasks.set(taskId, task);
    const { progress } = task;
    if (progress && JSON.stringify(progress) !== JSON.stringify(before?.progress))
      onUpdate({ type: 'progress', taskId, ...progress });
    if (before?.status !== task.status || before.message !== task.message) onUpdate({ type: 'status', task });
    const added = this.#guard.admit(task);
    for (const id of added) onUpdate({ type: 'child', taskId: id, parentId: taskId });
    return added;
  }

  async #fetched(task: RemoteTask, { early }: Path): Promise<RemoteOutcome> {
    const { dialect } = this.#parts;
    const message = dialect.result?.(task.taskId);
    if (!message || (task.status !== 'completed' && !dialect.resultWaits)) return endingWithout(task);
    if (early) return early;
    try {
      return { kind: 'result', result: await this.#send(message, { isRepeatable: false }) };
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      const { rpcCode: code, message, data } = error;
      return { kind: 'failed', error: { code, message, ...(data !== undefined && { data }) } };
    }
  }

  /** Asks for an outcome before it is there. */
  #askOutcome(path: Path): void {
    if (path.isOutcomeAsked) return;
    path.isOutcomeAsked = true;
    const { peer, dialect } = this.#parts;
    const { signal } = this.#halt;
    const ask = () => peer.request(dialect.result!(path.taskId), { signal, isPatient: true });
    this.#streams.run(ask, this.#halt).then(
      (result) => {
        path.early = { kind: 'result', result };
        path.bell.ring();
      },
      // Whatever it is, the next look says how the task stands; then it is asked for again.
      () => {
        path.isOutcomeAsked = false;
      },
    );
  }

  // --- Requests -------------------------------------------------------------------------------------------

  /** Takes every error of the peer at its word if the message may not arrive twice. */
  async #send(
    message: Message,
    { isRepeatable = true, onFailure }: { isRepeatable?: boolean; onFailure?: (error: Error) => void } = {},
  ): Promise<JsonObject> {
    const { peer, onUpdate } = this.#parts;
    const { signal } = this.#halt;
    const request = async () => {
      signal.throwIfAborted();
      return this.#requests.run(() => peer.request(message, { signal }), this.#halt);
    };
    const answer = await retryUntilAnswered(request, {
      ...this.#parts,
      pause: (ms) => this.#halt.pause(ms),
      isPassing: (error) => !signal.aborted && saysNothing(error, isRepeatable),
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
