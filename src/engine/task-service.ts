/**
 * What a server does with tasks on behalf of the requests that it serves: makes them and lets them run here at once,
 * waits for them, publishes those whose ids it is about to send, and leaves nothing of the others.
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
 * What a peer sees as one task. Either a root into which everything below it collapses; or, for peers that know
 * subtasks, any task alone with its links.
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
  /** Where it is noted who read what and who was refused, if anybody keeps an audit log. */
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

  /** Puts a command to a task, now and on somebody's behalf. */
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

  /** For lengths of time: it never jumps. */
  get monotonic(): number {
    return this.#clock.monotonic();
  }

  /** Calls back after that time, which holds no process open. Returns how to forget it. */
  schedule(afterMs: number, callback: () => void): () => void {
    return this.#clock.schedule(this.now + afterMs, callback);
  }

  /** How many wait for news of a task. */
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
    // Children are never fewer: the tree was removed between these looks.
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
    // The tree was removed meanwhile.
    if (all.length < read.length) return [];
    const [top] = all as [Task, ...Task[]];
    const childIds = Map.groupBy(all, ({ parentId }) => parentId);
    return all.map((task) => ({
      root: task,
      descendants: [],
      links: { top, childIds: (childIds.get(task.id) ?? []).map(({ id }) => id) },
    }));
  }

  /** A task as it is, whoever asks. */
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
    // The rest of the tree, which may be large, has no say in it.
    const [id, own] = only;
    await this.#act('task', id, (task, at) => rules.answer(task, own, at), by);
  }

  /** Ends a tree. False if it is done, and stays as it is. */
  cancel(rootId: TaskId, reason?: string, by?: Actor): Promise<boolean> {
    const cancelled = this.#act('family', rootId, (family, at) => rules.cancel(family, at, reason), by);
    return isAllowed(cancelled, 'TASK_IS_DONE');
  }

  /** Before its id is sent: from here on the task outlives its request. False if it is done, and needs no id. */
  publish(id: TaskId): Promise<boolean> {
    return isAllowed(this.#act('task', id, rules.publish), 'TASK_IS_DONE');
  }

  /** Says that a request is still open; or that it may be continued within `roundMs`, by whichever process. */
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
      // A damaged task is joined by nobody, and keeps nobody from calling.
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

  /** The same for whichever task answers the call: it may have been created or taken without anybody hearing of it. */
  async leaveAny(join: Join): Promise<void> {
    const { calls, queue } = this.#database;
    if (join.key === null) return;
    const own = answering(queue.name, join.call);
    for (const { taskId, answering: by } of await calls.undelivered(join.key))
      if (by === own) await this.leave(taskId, join);
  }

  /** No call joins a task whose answer was delivered. It stays for operators until its time is over. */
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

  /** Removes a tree with everything that is known of it; what is alive ends first. */
  async remove(rootId: TaskId, by?: Actor): Promise<void> {
    await this.cancel(rootId, 'The requestor removed it.', by);
    await this.purge(rootId, by);
  }

  /** Removes a tree that is done; one that is alive is refused. */
  async purge(rootId: TaskId, by?: Actor): Promise<void> {
    await this.#act('family', rootId, (family, at) => rules.remove(family, at), by);
  }

  /** Takes a question onto a stream of this process. False if it is on another already, or open no more. */
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

  /** The stream closed before the answer came. */
  async undeliver(taskId: TaskId, key: string, stream: string): Promise<void> {
    const { name } = this.#database.queue;
    await this.#act('task', taskId, (task, at) => rules.undeliver(task, key, name, stream, at)).catch(
      ignoring('TASK_NOT_FOUND'),
    );
  }

  /** The client has made a task of a question, or does not know it any more. */
  async entrust(taskId: TaskId, key: string, entrusted: AskedAsTask | undefined): Promise<void> {
    await this.#act('task', taskId, (task, at) => rules.recordAskedAsTask(task, key, entrusted, at)).catch(
      ignoring('TASK_NOT_FOUND'),
    );
  }

  /** Nobody can or will answer: the handler's `ask` throws. */
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

  /** Calls back if work for this tree was done here and could not be recorded. */
  onUnrecorded(rootId: TaskId, listener: (error: StoreError) => void): () => void {
    return this.#unrecorded.add(rootId, listener);
  }

  watch(rootId: TaskId, listener: Listener): () => void {
    return this.#watches.watch(rootId, listener);
  }
}

/** Is its result so large that it comes only with the task itself? */
function isLeftOut(task: Task): boolean {
  return task.phase === 'done' && task.outcome.kind === 'result' && task.outcome.value === null;
}

/** False if the command was refused for this reason. */
async function isAllowed(command: Promise<Change>, code: ErrorCode): Promise<boolean> {
  return (await command.catch(ignoring(code))) !== undefined;
}
