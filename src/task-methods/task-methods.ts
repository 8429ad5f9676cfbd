/**
 * The task methods, and the tasks that a caller may see: the same functions for all transports and dialects. Each checks
 * the caller first. A task of another owner, an unpublished task and a missing task get the same answer.
 */

import { tasksOf2025 } from '../dialects/2025-11-25/dialect.ts';
import { questionsOf } from '../dialects/collapse.ts';
import type { TaskMethodName } from '../dialects/dialect.ts';
import { openQuestions, outcomeOf } from '../dialects/drafts/dialect.ts';
import { InvalidParams, NotOffered } from '../dialects/errors.ts';
import { resultOf } from '../dialects/sep-1686/dialect.ts';
import type { TaskService, TaskTree } from '../engine/task-service.ts';
import { refusal } from '../model/errors.ts';
import type { TaskEvent } from '../model/event.ts';
import type { InputResponse } from '../model/input.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { Task, TaskId } from '../model/task.ts';
import { runtime } from '../runtime/runtime.ts';
import { keyedId, Sealer } from '../security/sealing.ts';
import { actorOf, denied, noteRead, noteReadIn } from './audit-notes.ts';
import { anonymous, type Caller } from './caller.ts';
import type { Spending } from './rate-limiter.ts';

/** An answer, and its task. */
export interface Answered {
  readonly result: JsonObject;
  readonly tree?: TaskTree;
}

type TaskMethod = (
  tree: TaskTree,
  requests: TaskService,
  caller: Caller,
  params: JsonObject,
) => Promise<Answered>;

/** The methods about one task that answer immediately. On 2025-11-25 `tasks/result` waits: see `taskResult()`. */
const methods: Readonly<Record<Exclude<TaskMethodName, 'tasks/list'>, TaskMethod>> = {
  async 'tasks/get'(found, requests, caller, params) {
    const tree = await getForPoll(found, requests, caller, params);
    const { now } = requests;
    // A caller of the later revision that supports only the older tasks has no `tasks/result` for the outcome.
    const result = isOlderCaller(caller)
      ? { ...tasksOf2025.shown(tree, now), ...outcomeOf(tree) }
      : caller.dialect.shown(tree, now);
    return { result: noteReadIn(result, requests, tree, caller), tree };
  },

  async 'tasks/cancel'({ root }, requests, caller) {
    const isCancelled = await requests.cancel(root.id, 'The client cancelled it.', actorOf(caller));
    const tree = (await loadTree(requests, caller, root.id)) ?? { root, descendants: [] };
    const { dialect } = caller;
    if (!isCancelled && dialect.refusesLateCancel) {
      const { status } = dialect.shown(tree, requests.now);
      throw new InvalidParams(`Task ${root.id} cannot be cancelled: it is already ${status}.`);
    }
    return { result: dialect.acknowledged(tree, requests.now), tree };
  },

  async 'tasks/update'(tree, requests, caller, params) {
    await answerQuestions(requests, tree, responsesIn(params, 'tasks/update'), caller);
    return { result: caller.dialect.acknowledged(tree, requests.now), tree };
  },

  async 'tasks/continue'(tree, requests, caller, params) {
    if (params.inputResponses === undefined)
      return { result: openQuestions(tree) ?? shown(tree, requests, caller), tree };
    await answerQuestions(requests, tree, responsesIn(params, 'tasks/continue'), caller);
    const after = (await loadTree(requests, caller, tree.root.id)) ?? tree;
    return { result: shown(after, requests, caller), tree: after };
  },

  async 'tasks/result'(tree, requests, caller) {
    const result = resultOf(tree);
    noteRead(requests, tree.root, caller);
    return { result, tree };
  },

  async 'tasks/delete'(tree, requests, caller) {
    await requests.remove(tree.root.id, actorOf(caller));
    return { result: caller.dialect.acknowledged(tree, requests.now) };
  },
};

export const taskMethods = [...Object.keys(methods), 'tasks/list'] as TaskMethodName[];

export function isTaskMethod(method: unknown): method is TaskMethodName {
  return taskMethods.includes(method as TaskMethodName);
}

/** Answers a task method, if the caller's dialect has it. */
export async function answerTo(
  method: TaskMethodName,
  requests: TaskService,
  caller: Caller,
  params: JsonObject,
): Promise<Answered> {
  if (!caller.dialect.methods.includes(method)) throw new NotOffered('Method not found');
  spendOn(method, caller);
  if (method === 'tasks/list') return { result: await taskList(requests, caller, params) };
  return methods[method](await authorizedTree(requests, caller, params, method), requests, caller, params);
}

/** Counts a request, and refuses it if the caller exceeds the rate. */
export function spendOn(method: TaskMethodName, { limiter, owner }: Caller): void {
  limiter?.spend(owner, spendings[method] ?? 'reads');
}

const spendings: Partial<Record<TaskMethodName, Spending>> = {
  'tasks/result': 'results',
  'tasks/list': 'lists',
};

function responsesIn({ inputResponses }: JsonObject, method: string): JsonObject {
  if (isJsonObject(inputResponses)) return inputResponses;
  throw new InvalidParams(`${method} needs "inputResponses": an object with an answer for each key.`);
}

/** The tree for `tasks/get`. */
async function getForPoll(
  tree: TaskTree,
  requests: TaskService,
  caller: Caller,
  params: JsonObject,
): Promise<TaskTree> {
  requests.observer.polled();
  caller.limiter?.recordPoll(tree.root);
  const { phase, createdAt } = tree.root;
  const leftMs = Math.min(firstPollMs, createdAt + firstPollMs - requests.now);
  if (phase === 'done' || phase === 'waiting' || leftMs <= 0) return tree;
  await settledWithin(requests, tree.root, leftMs);
  return authorizedTree(requests, caller, params, 'tasks/get');
}

/** Clients poll right after the call, and then not for a second. So the first poll waits until the task is this old. */
const firstPollMs = 20;

/** Resolves when the task has ended or asks a question, or after that time. */
async function settledWithin(requests: TaskService, { id, rootId }: Task, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = runtime.setTimeout(resolve, ms);
  const unwatch = requests.watch(rootId, ({ taskId, events }) => {
    if (taskId === id && events.some(({ type }) => settling.has(type))) resolve();
  });
  await promise;
  runtime.clearTimeout(timer);
  unwatch();
}

const settling: ReadonlySet<TaskEvent['type']> = new Set(['finished', 'removed', 'asked']);

function shown(tree: TaskTree, requests: TaskService, caller: Caller): JsonObject {
  return noteReadIn(caller.dialect.shown(tree, requests.now), requests, tree, caller);
}

/** Loads a task of this caller as the caller sees tasks: as a whole tree, or alone with its links. */
export function loadTree(
  requests: TaskService,
  { owner, sender }: Pick<Caller, 'owner' | 'sender'>,
  id: TaskId,
): Promise<TaskTree | undefined> {
  return sender.knowsSubtasks ? requests.linked(id, owner) : requests.tree(id, owner);
}

/** The root of the whole tree. */
export function topOf({ root, links }: TaskTree): Task {
  return links?.top ?? root;
}

/** Loads a published task if this caller may see it. */
export async function visibleTree(
  requests: TaskService,
  caller: Caller,
  id: TaskId,
): Promise<TaskTree | undefined> {
  const tree = await loadTree(requests, caller, id);
  return tree && isVisible(tree, caller) ? tree : undefined;
}

function isVisible(tree: TaskTree, caller: Caller): boolean {
  const top = topOf(tree);
  return top.owner === caller.owner && !top.unpublished && !isNamedElsewhere(top, caller);
}

/** Loads a task by the name that its caller chose, or else by its id. */
async function byName(requests: TaskService, caller: Caller, taskId: string): Promise<TaskTree | undefined> {
  const named = await visibleTree(requests, caller, await idOfName(requests, caller, taskId));
  return named ?? loadTree(requests, caller, taskId);
}

/** Applies answers by their keys on the root. Answers to questions that are not open are ignored. */
export async function answerQuestions(
  requests: TaskService,
  tree: TaskTree,
  responses: JsonObject,
  caller: Caller,
): Promise<void> {
  const byTask = new Map<TaskId, Record<string, InputResponse>>();
  for (const { key, taskId, ownKey } of questionsOf(tree)) {
    if (!Object.hasOwn(responses, key)) continue;
    const response = responses[key];
    if (!isJsonObject(response)) throw refusal('BAD_ANSWER', key, 'it must be an object');
    byTask.set(taskId, { ...byTask.get(taskId), [ownKey]: response });
  }
  if (byTask.size > 0) await requests.answer(topOf(tree).id, byTask, actorOf(caller));
}

/** Loads the task of a request. Refuses if the caller may not see it. */
export async function authorizedTree(
  requests: TaskService,
  caller: Caller,
  { taskId }: JsonObject,
  method: string,
): Promise<TaskTree> {
  const { dialect, sender } = caller;
  const isOlder = isOlderCaller(caller) && method !== 'tasks/update';
  if (!dialect.admits(sender) && !isOlder) throw dialect.tasksRequired(method);
  if (typeof taskId !== 'string') throw new InvalidParams(`${method} needs "taskId": a string.`);
  // A hot path for polls, a hundred thousand per minute: each additional async function is expensive.
  const found = await (dialect.callerNamesTasks ? byName : loadTree)(requests, caller, taskId);
  const tree = found && isVisible(found, caller) ? found : undefined;
  if (!tree) caller.limiter?.recordMiss(caller);
  // A caller that supports only the older tasks may see those, and no others.
  if (isOlder && tree?.root.origin.dialect !== tasksOf2025.revision) throw dialect.tasksRequired(method);
  if (!tree) throw denied(requests, caller, taskId, method);
  return tree;
}

function isOlderCaller({ dialect, sender }: Caller): boolean {
  return !dialect.admits(sender) && sender.hasOlderTasks === true;
}

// --- Task names that callers choose (SEP-1686) -------------------------------------------------------------

/**
 * The id of a named task is computed from the name, the session and the owner. So no index of names is needed, and no
 * other caller can compute the id.
 */
export async function idOfName(requests: TaskService, caller: Caller, name: string): Promise<TaskId> {
  const secret = await requests.secret('task names');
  const scoped = JSON.stringify([caller.owner, caller.session ?? '', name]);
  return keyedId(secret, scoped);
}

/** True for a task that was named in another session: task names are valid only in their session. */
function isNamedElsewhere({ origin }: Task, { dialect, session = '' }: Caller): boolean {
  return dialect.callerNamesTasks && origin.named !== undefined && origin.named.session !== session;
}

// --- tasks/list, in sessions -------------------------------------------------------------------------------

const pageSize = 50;
const cursorLifeMs = 24 * 3_600_000;

async function taskList(requests: TaskService, caller: Caller, { cursor }: JsonObject): Promise<JsonObject> {
  if (caller.owner === anonymous)
    throw new NotOffered('tasks/list is not available to anonymous callers: send a token.');
  const { dialect, sender, owner } = caller;
  const kind = sender.knowsSubtasks ? 'cursors with subtasks' : 'cursors';
  const cursors = new Sealer(await requests.secret('cursors'), `${kind} of ${owner}`);
  const from = opened(cursors, cursor, requests.now);
  const page = sender.knowsSubtasks
    ? await withSubtasks(requests, owner, from)
    : await roots(requests, owner, from);
  const { now } = requests;
  return {
    tasks: page.trees
      .filter(({ root }) => !isNamedElsewhere(root, caller))
      .map((tree) => dialect.listed(tree, now)),
    ...(page.next !== undefined && { nextCursor: cursors.seal(page.next, now + cursorLifeMs) }),
  };
}

interface Trees {
  readonly trees: readonly TaskTree[];
  /** The start of the next page, if there is one. */
  readonly next: string | undefined;
}

/** A page of root tasks, with the questions of their subtasks as in tasks/get. */
async function roots(requests: TaskService, owner: string, from: string | undefined): Promise<Trees> {
  const page = await requests.list(owner, pageSize, from);
  const trees = await Promise.all(
    page.tasks.map(async (root) => (await requests.tree(root.id)) ?? { root, descendants: [] }),
  );
  return { trees, next: page.nextCursor };
}

/** The start of a page: a root, or a task in the tree of that root. */
interface Position {
  readonly rootId?: string;
  readonly after?: SortKey;
  /** The store's cursor after that root. */
  readonly cursor?: string;
}

/** The sort key of a task in its tree. It never changes, so later additions do not move a task. */
type SortKey = readonly [createdAt: number, depth: number, id: string];

/** A page of tasks, tree after tree. New tasks of a tree come last. */
async function withSubtasks(requests: TaskService, owner: string, from: string | undefined): Promise<Trees> {
  const trees: TaskTree[] = [];
  let position: Position = from === undefined ? {} : JSON.parse(from);
  while (true) {
    if (position.rootId !== undefined) {
      const { rootId, after, ...nextRoot } = position;
      const rest = inOrder(await requests.allLinked(rootId), after);
      const room = pageSize - trees.length;
      trees.push(...rest.slice(0, room));
      if (rest.length > room)
        return { trees, next: JSON.stringify({ rootId, after: sortKeyOf(trees.at(-1)!), ...nextRoot }) };
      if (nextRoot.cursor === undefined) return { trees, next: undefined };
      position = nextRoot;
      if (trees.length === pageSize) return { trees, next: JSON.stringify(position) };
    }
    const { tasks, nextCursor } = await requests.list(owner, 1, position.cursor);
    const [root] = tasks;
    if (!root) return { trees, next: undefined };
    position = { rootId: root.id, ...(nextCursor !== undefined && { cursor: nextCursor }) };
  }
}

function inOrder(all: readonly TaskTree[], after: SortKey | undefined): TaskTree[] {
  const sorted = all.toSorted((a, b) => compare(sortKeyOf(a), sortKeyOf(b)));
  return after ? sorted.filter((tree) => compare(sortKeyOf(tree), after) > 0) : sorted;
}

function sortKeyOf({ root: { createdAt, depth, id } }: TaskTree): SortKey {
  return [createdAt, depth, id];
}

function compare(a: SortKey, b: SortKey): number {
  return a[0] - b[0] || a[1] - b[1] || (a[2] < b[2] ? -1 : Number(a[2] > b[2]));
}

function opened(cursors: Sealer, cursor: unknown, now: number): string | undefined {
  if (cursor === undefined) return undefined;
  const sealed = typeof cursor === 'string' ? cursors.open(cursor, now) : { problem: 'forged' as const };
  if ('value' in sealed) return sealed.value as string;
  throw new InvalidParams(
    sealed.problem === 'expired'
      ? 'This cursor has expired. Start again without one.'
      : 'This server did not issue this cursor to this caller. Start again without one.',
  );
}
