/**
 * The task operations of a server on behalf of its requests: it reads, answers, cancels and watches tasks, publishes
 * those whose ids it is about to send, and removes the others.
 */

import { type ErrorCode, ignoring, ignoringRefusals } from '../model/errors.ts';
import type { AskedAsTask, InputResponse } from '../model/input.ts';
import {
  answering,
  cancelledAnswering,
  type Join,
  type NewJoin,
  type Owner,
  processAnswering,
  type Task,
  type TaskId,
} from '../model/task.ts';
import type { Actor } from '../ports/audit.ts';
import { type Change, onBehalfOf, type Verdict } from '../ports/change.ts';
import type { Observer } from '../ports/observer.ts';
import type { Database } from '../ports/queue.ts';
import type { Sessions } from '../ports/sessions.ts';
import type { Page, Reach } from '../ports/store.ts';
import type { StoreError } from '../ports/store-errors.ts';
import type { Clock } from '../runtime/clock.ts';
import type { AuditRecorder } from './database/audit-log.ts';
import { type Listener, type TreeListeners, TreeWatchers } from './database/tree-watchers.ts';
import { checkAnswers } from './replay/json-value.ts';
import { requestLeaseMs } from './rules/publication.ts';
import * as rules from './rules/transitions.ts';
import type { Tasks } from './tasks.ts';

/**
 * What a peer sees as one task: either a root that represents its whole tree or, for peers that support subtasks, a
 * single task with its links.
 */
export interface TaskTree {
  readonly root: Task;
  /** Parents before their children. */
  readonly descendants: readonly Task[];
  readonly links?: Links;
}

export interface Links {
  /** The root of the whole tree. */
  readonly top: Task;
  readonly childIds: readonly TaskId[];
}

export class TaskService {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #watches: TreeWatchers;
  readonly #maxValueSize: number;
  readonly #unrecorded: TreeListeners<StoreError>;

  readonly observer: Observer;
  /** Records reads and refusals, if an audit log is kept. */
  readonly recorder: AuditRecorder | undefined;

  constructor(database: Database, tasks: Tasks, unrecorded: TreeListeners<StoreError>) {
    this.#unrecorded = unrecorded;
    this.recorder = tasks.recorder;
    this.observer = tasks.observer;
    this.#maxValueSize = tasks.engineLimits.maxValueSize;
    this.#database = database;
    this.#clock = tasks.clock;
    this.#watches = new TreeWatchers(database.store);
  }

  /** Applies a rule to a task, now and on behalf of an actor. */
  #act<R extends keyof Reach>(
    reach: R,
    id: TaskId,
    rule: (subject: Reach[R], at: number) => Verdict,
    by?: Actor,
  ): Promise<Change> {
    return this.#database.store.update(reach, id, (subject) => onBehalfOf(by, rule(subject, this.now)));
  }

  get now(): number {
    return this.#clock.now();
  }

  /** The monotonic time, for measuring durations. */
  get monotonic(): number {
    return this.#clock.monotonic();
  }

  /** Calls back after that time without keeping the process alive. Returns a function that cancels the call. */
  schedule(afterMs: number, callback: () => void): () => void {
    return this.#clock.schedule(this.now + afterMs, callback);
  }

  /** The number of listeners for changes of tasks. */
  get watchers(): number {
    return this.#watches.size;
  }

  secret(name: string): Promise<Uint8Array> {
    return this.#database.secrets.get(name);
  }

  /**
   * A root with everything below it that matters to a peer: questions that are open, and the way to them. With an owner only
   * if it is that owner's.
   */
  async tree(id: TaskId, owner?: Owner): Promise<TaskTree | undefined> {
    const { store } = this.#database;
    const root = await store.get(id, owner);
    if (!root || root.parentId !== undefined) return undefined;
    if (root.liveChildCount === 0) return { root, descendants: [] };
    return { root, descendants: await store.asking(id) };
  }

  /** Any task, alone with its links. With an owner only if it is that owner's. */
  async linked(id: TaskId, owner?: Owner): Promise<TaskTree | undefined> {
    const { store } = this.#database;
    const task = await store.get(id, owner);
    if (!task) return undefined;
    const top = task.parentId === undefined ? task : await store.get(task.rootId);
    const childIds = task.childCount === 0 ? [] : await store.childIds(id);
    // With fewer children the tree was removed between the two reads.
    if (childIds.length < task.childCount) return undefined;
    return top && { root: task, descendants: [], links: { top, childIds } };
  }

  /** Every task of a tree, each alone with its links, parents before their children. */
  async allLinked(rootId: TaskId): Promise<TaskTree[]> {
    const { store } = this.#database;
    const family = await store.family(rootId);
    if (!family) return [];
    const read = await Promise.all(
      [family.task, ...family.descendants].map((task) => (isLeftOut(task) ? store.get(task.id) : task)),
    );
    const all = read.filter((task) => task !== undefined);
    // The tree was removed during the reads.
    if (all.length < read.length) return [];
    const [top] = all as [Task, ...Task[]];
    const childIds = Map.groupBy(all, ({ parentId }) => parentId);
    return all.map((task) => ({
      root: task,
      descendants: [],
      links: { top, childIds: (childIds.get(task.id) ?? []).map(({ id }) => id) },
    }));
  }

  /** A task of any owner. */
  task(id: TaskId): Promise<Task | undefined> {
    return this.#database.store.get(id);
  }

  /** Answers questions anywhere in a tree; all of them, or none if one does not fit. */
  async answer(
    rootId: TaskId,
    responses: ReadonlyMap<TaskId, Readonly<Record<string, InputResponse>>>,
    by?: Actor,
  ): Promise<void> {
    try {
      for (const own of responses.values()) checkAnswers(own, this.#maxValueSize);
    } catch (tooLarge) {
      this.observer.refused('maxValueSize');
      throw tooLarge;
    }
    const [only, ...others] = responses;
    if (!only || others.length > 0) {
      await this.#act('family', rootId, (family, at) => rules.answerTree(family, responses, at), by);
      return;
    }
    // The rest of the tree, which may be large, is not needed.
    const [id, own] = only;
    await this.#act('task', id, (task, at) => rules.answer(task, own, at), by);
  }

  /** Cancels a tree. False if it is already done. */
  cancel(rootId: TaskId, reason?: string, by?: Actor): Promise<boolean> {
    const cancelled = this.#act('family', rootId, (family, at) => rules.cancel(family, at, reason), by);
    return isAllowed(cancelled, 'TASK_IS_DONE');
  }

  /** Publishes a task before its id is sent, so that it outlives its request. False if it is already done. */
  publish(id: TaskId): Promise<boolean> {
    return isAllowed(this.#act('task', id, rules.publish), 'TASK_IS_DONE');
  }

  /** Records that a request is still open, or that any process may continue it within `roundMs`. */
  async keep(id: TaskId, roundMs?: number): Promise<void> {
    const servedBy = roundMs === undefined ? this.#database.queue.name : null;
    const kept = this.#act('task', id, (task, at) =>
      rules.keepForRequest(task, { servedBy, until: at + (roundMs ?? requestLeaseMs) }, at),
    );
    await kept.catch(ignoring('TASK_IS_DONE', 'ALREADY_PUBLISHED'));
  }

  /** Takes over the oldest task of a lost call with this key. */
  async join({ key, session, call }: NewJoin): Promise<TaskId | undefined> {
    const { calls, queue, store } = this.#database;
    for (const { taskId, answering: from } of await calls.undelivered(key)) {
      if (from !== null && (await this.#isServed(processAnswering(from)))) continue;
      // A corrupt task cannot be joined, and must not make the call fail.
      const family = await store.family(taskId).catch(ignoring('TASK_CORRUPT'));
      if (!family || !rules.isJoinable(family, session, this.now)) continue;
      if (await calls.take(taskId, from, answering(queue.name, call))) return taskId;
    }
    return undefined;
  }

  async #isServed(process: string): Promise<boolean> {
    const { queue } = this.#database;
    return process === queue.name || process === '' || queue.isAlive(process, 'certain');
  }

  /**
   * The client cancelled a request of its session that another process may serve. A call of a dead process is lost and
   * not open: nothing cancels it. The task is first taken from the call, so that no other call joins it.
   */
  async cancelElsewhere(request: string, reason: string, by?: Actor): Promise<void> {
    const { calls, queue, store } = this.#database;
    for (const { taskId, answering: from } of await calls.ofRequest(request)) {
      const process = processAnswering(from);
      if (process === queue.name || !(await this.#isServed(process))) continue;
      const task = await store.get(taskId);
      if (!task?.unpublished || task.phase === 'done') continue;
      if (task.unpublished.join && !(await calls.take(taskId, from, cancelledAnswering(from)))) continue;
      await this.#act('family', taskId, (family, at) => rules.cancelRequest(family, at, reason), by).catch(
        ignoring('TASK_IS_DONE', 'ALREADY_PUBLISHED', 'TASK_NOT_FOUND'),
      );
    }
  }

  /** Whether there may be a task for calls with this key to join. */
  async hasUndelivered({ key }: NewJoin): Promise<boolean> {
    return (await this.#database.calls.undelivered(key)).length > 0;
  }

  /** A plain call was lost: a repeated call can join its task. False if none may. */
  leave(id: TaskId, { call }: Join): Promise<boolean> {
    const { calls, queue } = this.#database;
    return calls.leave(id, answering(queue.name, call));
  }

  /** The same for every task of the call. Its creation or take-over may have succeeded without a response. */
  async leaveAny(join: Join): Promise<void> {
    const { calls, queue } = this.#database;
    if (join.key === null) return;
    const own = answering(queue.name, join.call);
    for (const { taskId, answering: by } of await calls.undelivered(join.key))
      if (by === own) await this.leave(taskId, join);
  }

  /** Marks the answer as delivered, so that no call joins the task. Operators see the task until its retention ends. */
  delivered(id: TaskId): Promise<void> {
    return this.#database.calls.delivered(id);
  }

  /** Removes a task whose answer was delivered. If that fails, housekeeping removes it later. */
  async discard(id: TaskId): Promise<void> {
    const discarded = isAllowed(this.#act('family', id, rules.discard), 'ALREADY_PUBLISHED');
    if ((await discarded.catch(ignoringRefusals)) === false) await this.delivered(id);
  }

  /** The answer that names the task of a plain call was delivered. */
  async confirmHandOver(id: TaskId): Promise<void> {
    const confirmed = isAllowed(this.#act('task', id, rules.confirmHandOver), 'TASK_IS_DONE');
    if ((await confirmed.catch(ignoring('TASK_NOT_FOUND'))) === false) await this.delivered(id);
  }

  /** Removes a tree with all its data. Live tasks are cancelled first. */
  async remove(rootId: TaskId, by?: Actor): Promise<void> {
    await this.cancel(rootId, 'The caller removed it.', by);
    await this.purge(rootId, by);
  }

  /** Removes a finished tree. A live tree is refused. */
  async purge(rootId: TaskId, by?: Actor): Promise<void> {
    await this.#act('family', rootId, (family, at) => rules.remove(family, at), by);
  }

  /** Assigns a question to a stream of this process. False if it is already on another stream or no longer open. */
  async deliver(taskId: TaskId, key: string, stream: string): Promise<boolean> {
    const { store, queue } = this.#database;
    const task = await store.get(taskId);
    const input = task?.inputs.find((one) => one.key === key);
    if (input?.state !== 'open') return false;
    const carrier = input.delivery?.by;
    const isDead = carrier !== undefined && !(await queue.isAlive(carrier));
    const delivery = { by: queue.name, stream, until: this.now + requestLeaseMs };
    const change = await this.#act('task', taskId, (now, at) =>
      rules.deliver(now, key, delivery, at, isDead ? carrier : undefined),
    ).catch(ignoring('BEING_DELIVERED', 'TASK_NOT_FOUND'));
    return change !== undefined && change.writes.length > 0;
  }

  /** The stream closed before the answer arrived. */
  async undeliver(taskId: TaskId, key: string, stream: string): Promise<void> {
    const { name } = this.#database.queue;
    await this.#act('task', taskId, (task, at) => rules.undeliver(task, key, name, stream, at)).catch(
      ignoring('TASK_NOT_FOUND'),
    );
  }

  /** The client created a task for a question, or no longer has that task. */
  async entrust(taskId: TaskId, key: string, entrusted: AskedAsTask | undefined): Promise<void> {
    await this.#act('task', taskId, (task, at) => rules.recordAskedAsTask(task, key, entrusted, at)).catch(
      ignoring('TASK_NOT_FOUND'),
    );
  }

  /** No answer will arrive: the `ask` of the handler throws. */
  async withdraw(taskId: TaskId, key: string): Promise<void> {
    await this.#act('task', taskId, (task, at) => rules.withdraw(task, [key], at)).catch(ignoringRefusals);
  }

  count(owner: Owner | undefined, what: 'live' | 'stored', upTo: number): Promise<number> {
    return this.#database.store.count(owner, what, upTo);
  }

  list(owner: Owner, limit: number, cursor: string | undefined): Promise<Page> {
    return this.#database.store.list({ owner, limit, ...(cursor !== undefined && { cursor }) });
  }

  get sessions(): Sessions {
    return this.#database.sessions;
  }

  /** Calls back if a result for this tree could not be recorded by this process. */
  onUnrecorded(rootId: TaskId, listener: (error: StoreError) => void): () => void {
    return this.#unrecorded.add(rootId, listener);
  }

  watch(rootId: TaskId, listener: Listener): () => void {
    return this.#watches.watch(rootId, listener);
  }
}

/** Whether the result is so large that it is only returned with the task itself. */
function isLeftOut(task: Task): boolean {
  return task.phase === 'done' && task.outcome.kind === 'result' && task.outcome.value === null;
}

/** False if the command was refused for this reason. */
async function isAllowed(command: Promise<Change>, code: ErrorCode): Promise<boolean> {
  return (await command.catch(ignoring(code))) !== undefined;
}
