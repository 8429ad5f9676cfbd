/**
 * Pursues a task of a peer to its end, and every subtask that turns up on the way: looks at it, answers what it asks,
 * and fetches what came of it, in whichever dialect. It holds out against lost connections and faulty peers: every
 * wait is bounded, and nothing that a peer says is taken on trust.
 */
import type { JsonObject } from '../model/json.ts';
import { type Answering, Questions } from './asked.ts';
import { type Ending, endingIn, endingWithout } from './ending.ts';
import {
  ConnectionLost,
  Detached,
  MalformedAnswer,
  RemoteError,
  RequestTimedOut,
  ServerUnreachable,
} from './errors.ts';
import type { Pace } from './pace.ts';
import type { Message, RemoteDialect } from './remote-dialect.ts';
import { isOver, type RemoteProgress, type RemoteRequest, type RemoteTask } from './remote-task.ts';
import { TreeGuard, type TreeLimits } from './tree-guard.ts';

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
      readonly request: RemoteRequest;
    }
  | { readonly type: 'answered'; readonly taskId: string; readonly key: string }
  | { readonly type: 'child'; readonly taskId: string; readonly parentId: string }
  /** What a model may be told meanwhile. */
  | { readonly type: 'interim'; readonly taskId: string; readonly text: string }
  | { readonly type: 'unreachable'; readonly why: string }
  | { readonly type: 'reachable' };

export interface PursuitParts {
  readonly peer: RemotePeer;
  readonly dialect: RemoteDialect;
  readonly pace: Pace;
  readonly answering: Answering;
  readonly news?: News;
  readonly onUpdate: (update: TaskUpdate) => void;
  /** Ends the pursuit, and nothing else. */
  readonly signal: AbortSignal;
  readonly unreachableForMs: number;
  readonly limits?: TreeLimits;
  readonly now?: () => number;
}

/** Between looks while the server pushes. */
const safetyNetMs = 10_000;
/** However many news come. */
const shortestMs = 50;

/** A task as far as it was pursued. */
export interface Pursued {
  readonly task: RemoteTask;
  readonly ending?: Ending;
  readonly children: readonly Pursued[];
}

export class Pursuit {
  readonly #rootId: string;
  readonly #parts: PursuitParts;
  readonly #guard: TreeGuard;
  readonly #tasks = new Map<string, RemoteTask>();
  readonly #endings = new Map<string, Ending>();
  readonly #questions: Questions;
  readonly #now: () => number;
  readonly #stopped = new AbortController();
  readonly #signal: AbortSignal;
  #isUnreachable = false;

  constructor(rootId: string, parts: PursuitParts) {
    this.#rootId = rootId;
    this.#parts = parts;
    this.#guard = new TreeGuard(rootId, parts.limits);
    this.#now = parts.now ?? Date.now;
    this.#signal = AbortSignal.any([parts.signal, this.#stopped.signal]);
    this.#questions = new Questions(parts, this.#signal, (message) => this.#insist(message));
  }

  /** Resolves when the root is over and so is everything below it. */
  async run(): Promise<Ending> {
    try {
      return await this.#follow(this.#rootId);
    } finally {
      this.#stopped.abort();
    }
  }

  /** The tree as it is known, its results in the order of their creation. */
  tree(taskId = this.#rootId): Pursued | undefined {
    const task = this.#tasks.get(taskId);
    if (!task) return undefined;
    const ending = this.#endings.get(taskId);
    const children = this.#guard.childIds(taskId).map((id) => this.tree(id));
    return { task, ...(ending && { ending }), children: children.filter((child) => child !== undefined) };
  }

  // --- One task -------------------------------------------------------------------------------------------

  async #follow(taskId: string, isOrphaned = () => false): Promise<Ending> {
    const { dialect, news } = this.#parts;
    const children: Promise<Ending>[] = [];
    let isDone = false;
    let nudge = () => {};
    const heard = news?.of(taskId, () => nudge());
    const outcome = new Outcome(this.#parts, taskId, this.#signal, () => nudge());
    try {
      for (;;) {
        const wasOrphaned = isOrphaned();
        const lookedAt = this.#now();
        const seen = dialect.read(await this.#insist(dialect.poll(taskId), taskId));
        if ('taskId' in seen) {
          for (const id of this.#take(taskId, seen)) {
            const child = this.#follow(id, () => isDone);
            child.catch(() => {});
            children.push(child);
          }
          if (isOver(seen)) {
            const ending = endingIn(seen) ?? (await this.#fetched(seen, outcome));
            isDone = true;
            await Promise.all(children);
            this.#endings.set(taskId, ending);
            return ending;
          }
          if (wasOrphaned)
            throw new MalformedAnswer(
              `the parent of task ${taskId} ended before it, which is still ${seen.status}`,
            );
          if (seen.status === 'input_required' && dialect.resultWaits) outcome.ask();
        }
        const early = outcome.early;
        if (early && children.length === 0) {
          this.#endings.set(taskId, early);
          return early;
        }
        const hintMs = 'taskId' in seen ? seen.pollMs : this.#tasks.get(taskId)?.pollMs;
        const isPushed = heard?.isPushed() ?? false;
        const wait = this.#parts.pace.next({ hintMs, ...(isPushed && { atLeastMs: safetyNetMs }) });
        const { promise, resolve } = Promise.withResolvers<void>();
        nudge = resolve;
        this.#questions.see(taskId, seen.questions, () => nudge());
        await this.#pause(isOrphaned() ? 0 : wait, promise, lookedAt);
      }
    } catch (error) {
      throw this.#signal.aborted && !this.#stopped.signal.aborted ? new Detached() : error;
    } finally {
      heard?.stop();
    }
  }

  /** Remembers and tells what is new of a task, and gives the subtasks that are. */
  #take(taskId: string, task: RemoteTask): readonly string[] {
    const { onUpdate } = this.#parts;
    if (task.taskId !== taskId)
      throw new MalformedAnswer(`it was asked about task ${taskId}, and spoke of ${task.taskId}`);
    const before = this.#tasks.get(taskId);
    if (before && isOver(before) && before.status !== task.status)
      throw new MalformedAnswer(`task ${taskId} was ${before.status}, and is ${task.status} now`);
    this.#tasks.set(taskId, task);
    const { progress } = task;
    if (progress && JSON.stringify(progress) !== JSON.stringify(before?.progress))
      onUpdate({ type: 'progress', taskId, ...progress });
    if (before?.status !== task.status || before.message !== task.message) onUpdate({ type: 'status', task });
    const added = this.#guard.admit(task);
    for (const id of added) onUpdate({ type: 'child', taskId: id, parentId: taskId });
    return added;
  }

  async #fetched(task: RemoteTask, outcome: Outcome): Promise<Ending> {
    const { dialect } = this.#parts;
    const message = dialect.result?.(task.taskId);
    if (!message || (task.status !== 'completed' && !dialect.resultWaits)) return endingWithout(task);
    if (outcome.early) return outcome.early;
    try {
      return { kind: 'result', result: await this.#insist(message) };
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      const { code, message, data } = error;
      return { kind: 'failed', error: { code, message, ...(data !== undefined && { data }) } };
    }
  }

  // --- Holding out ----------------------------------------------------------------------------------------

  /** Asks until there is an answer. What the peer refuses is refused; what did not get through is sent again. */
  async #insist(message: Message, lookedFor?: string): Promise<JsonObject> {
    const { peer, pace, onUpdate, unreachableForMs } = this.#parts;
    const since = this.#now();
    for (let failures = 1; ; failures++) {
      this.#signal.throwIfAborted();
      try {
        const answer = await peer.request(message, { signal: this.#signal });
        if (this.#isUnreachable) onUpdate({ type: 'reachable' });
        this.#isUnreachable = false;
        return answer;
      } catch (error) {
        if (this.#signal.aborted) throw error;
        if (error instanceof RemoteError) {
          if (lookedFor !== undefined && error.code === -32602) throw new Gone(lookedFor, error);
          if (lookedFor === undefined || error.code !== -32603) throw error;
        } else if (!(error instanceof ConnectionLost) && !(error instanceof RequestTimedOut)) throw error;
        const { message: why } = error;
        if (!this.#isUnreachable) onUpdate({ type: 'unreachable', why });
        this.#isUnreachable = true;
        const passed = this.#now() - since;
        this.#giveUpIfExpired(lookedFor);
        if (passed > unreachableForMs) throw new ServerUnreachable(passed, why);
        const retryAfterMs = error instanceof ConnectionLost ? error.retryAfterMs : undefined;
        await this.#pause(pace.next({ hintMs: 0, failures, retryAfterMs }));
      }
    }
  }

  /** A server that cannot be reached keeps nothing longer than was agreed. */
  #giveUpIfExpired(taskId: string | undefined): void {
    const task = taskId === undefined ? undefined : this.#tasks.get(taskId);
    if (!task || task.createdAt === undefined || typeof task.ttlMs !== 'number') return;
    if (this.#now() > task.createdAt + task.ttlMs) throw new Gone(task.taskId, undefined);
  }

  async #pause(ms: number, sooner?: Promise<void>, lookedAt = 0): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const onAbort = () => ended.reject(this.#signal.reason);
    this.#signal.addEventListener('abort', onAbort, { once: true });
    let timer = setTimeout(() => ended.resolve(), ms);
    void sooner?.then(() => {
      clearTimeout(timer);
      const left = lookedAt + shortestMs - this.#now();
      timer = setTimeout(() => ended.resolve(), Math.max(0, Math.min(left, ms)));
    });
    try {
      this.#signal.throwIfAborted();
      await ended.promise;
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener('abort', onAbort);
    }
  }

  /** The last that was seen of a task, whatever became of it. */
  lastSeen(taskId = this.#rootId): RemoteTask | undefined {
    return this.#tasks.get(taskId);
  }
}

/** The peer does not know the task, or not any more. */
export class Gone extends Error {
  readonly taskId: string;

  constructor(taskId: string, cause: RemoteError | undefined) {
    super(cause?.message ?? 'Its time is over.', { cause });
    this.taskId = taskId;
  }
}

/** The outcome of a task of 2025-11-25, asked for before it is there, because questions come on that stream. */
class Outcome {
  readonly #parts: PursuitParts;
  readonly #taskId: string;
  readonly #signal: AbortSignal;
  readonly #nudge: () => void;
  #isAsked = false;
  #early: Ending | undefined;

  constructor(parts: PursuitParts, taskId: string, signal: AbortSignal, nudge: () => void) {
    this.#parts = parts;
    this.#taskId = taskId;
    this.#signal = signal;
    this.#nudge = nudge;
  }

  get early(): Ending | undefined {
    return this.#early;
  }

  ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const { peer, dialect } = this.#parts;
    peer.request(dialect.result!(this.#taskId), { signal: this.#signal, isPatient: true }).then(
      (result) => {
        this.#early = { kind: 'result', result };
        this.#nudge();
      },
      // Whatever it is, the next look says how the task stands; then it is asked for again.
      () => {
        this.#isAsked = false;
      },
    );
  }
}
