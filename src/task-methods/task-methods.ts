/**
 * The methods about tasks, and what a subscription sees: the same functions wherever a request came in and whichever
 * dialect it speaks. Each asks who the caller is first; a task of another owner, one that was never published and one
 * that does not exist look the same.
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

/** An answer, and the task that it is about. */
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

/** Those about one task that answer at once. On 2025-11-25 `tasks/result` waits; see `connection.ts`. */
const methods: Readonly<Record<Exclude<TaskMethodName, 'tasks/list'>, TaskMethod>> = {
  async 'tasks/get'(found, requests, caller, params) {
    const tree = await lookAt(found, requests, caller, params);
    const { now } = requests;
    // A caller of the later revision that knows the older tasks has no `tasks/result` to ask for the outcome.
    const result = isOlderCaller(caller)
      ? { ...tasksOf2025.shown(tree, now), ...outcomeOf(tree) }
      : caller.dialect.shown(tree, now);
    return { result: noteReadIn(result, requests, tree, caller), tree };
  },

  async 'tasks/cancel'({ root }, requests, caller) {
    const isCancelled = await requests.cancel(root.id, 'The client cancelled it.', actorOf(caller));
    const tree = (await view(requests, caller, root.id)) ?? { root, descendants: [] };
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
      return { result: openQuestions(tree) ?? shownNow(tree, requests, caller), tree };
    await answerQuestions(requests, tree, responsesIn(params, 'tasks/continue'), caller);
    const after = (await view(requests, caller, tree.root.id)) ?? tree;
    return { result: shownNow(after, requests, caller), tree: after };
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

/** Carries out a method, if the caller's dialect has it. */
export async function answerTo(
  method: TaskMethodName,
  requests: TaskService,
  caller: Caller,
  params: JsonObject,
): Promise<Answered> {
  if (!caller.dialect.methods.includes(method)) throw new NotOffered('Method not found');
  spendOn(method, caller);
  if (method === 'tasks/list') return { result: await taskList(requests, caller, params) };
  return methods[method](await known(requests, caller, params, method), requests, caller, params);
}

/** Refuses a method that its caller has asked for too often. */
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

/** What `tasks/get` shows. */
async function lookAt(
  tree: TaskTree,
  requests: TaskService,
  caller: Caller,
  params: JsonObject,
): Promise<TaskTree> {
  requests.observer.polled();
  caller.limiter?.polled(tree.root);
  const { phase, createdAt } = tree.root;
  const leftMs = Math.min(firstPollMs, createdAt + firstPollMs - requests.now);
  if (phase === 'done' || phase === 'waiting' || leftMs <= 0) return tree;
  await settledWithin(requests, tree.root, leftMs);
  return known(requests, caller, params, 'tasks/get');
}

/** Clients poll right after the call, and then not for a second. A poll in the first moments of a task waits them out. */
const firstPollMs = 20;

/** Resolves when the task has ended or asks, at the latest after that time. */
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

function shownNow(tree: TaskTree, requests: TaskService, caller: Caller): JsonObject {
  return noteReadIn(caller.dialect.shown(tree, requests.now), requests, tree, caller);
}

/** A task of this caller as it sees tasks: as a whole tree, or alone with its links. */
export function view(
  requests: TaskService,
  { owner, sender }: Pick<Caller, 'owner' | 'sender'>,
  id: TaskId,
): Promise<TaskTree | undefined> {
  return sender.knowsSubtasks ? requests.linked(id, owner) : requests.tree(id, owner);
}

/** The root of the tree that it is part of. */
export function topOf({ root, links }: TaskTree): Task {
  return links?.top ?? root;
}

/** A published task, if this caller may see it. */
export async function visible(
  requests: TaskService,
  caller: Caller,
  id: TaskId,
): Promise<TaskTree | undefined> {
  const tree = await view(requests, caller, id);
  return tree && isVisible(tree, caller) ? tree : undefined;
}

function isVisible(tree: TaskTree, caller: Caller): boolean {
  const top = topOf(tree);
  return top.owner === caller.owner && !top.unpublished && !isNamedElsewhere(top, caller);
}

/** By the name that its requestor gave it, or else by its id. */
async function byName(requests: TaskService, caller: Caller, taskId: string): Promise<TaskTree | undefined> {
  const named = await visible(requests, caller, await idOfName(requests, caller, taskId));
  return named ?? view(requests, caller, taskId);
}

/** Applies answers by their keys on the root. Those to questions that are not open are passed over. */
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

export async function known(
  requests: TaskService,
  caller: Caller,
  { taskId }: JsonObject,
  method: string,
): Promise<TaskTree> {
  const { dialect, sender } = caller;
  const isOlder = isOlderCaller(caller) && method !== 'tasks/update';
  if (!dialect.admits(sender) && !isOlder) throw dialect.tasksRequired(method);
  if (typeof taskId !== 'string') throw new InvalidParams(`${method} needs "taskId": a string.`);
  // Polls come this way, a hundred thousand a minute: each function more that waits for another costs them dear.
  const found = await (dialect.callerNamesTasks ? byName : view)(requests, caller, taskId);
  const tree = found && isVisible(found, caller) ? found : undefined;
  if (!tree) caller.limiter?.missed(caller);
  // Whoever knows only the older tasks may still come back to those, and to no others.
  if (isOlder && tree?.root.origin.dialect !== tasksOf2025.revision) throw dialect.tasksRequired(method);
  if (!tree) throw denied(requests, caller, taskId, method);
  return tree;
}

function isOlderCaller({ dialect, sender }: Caller): boolean {
  return !dialect.admits(sender) && sender.hasOlderTasks === true;
}

// --- Names that requestors give their tasks (SEP-1686) -----------------------------------------------------

/**
 * The id of a task with a name is computed from the name, the session and the owner. So there is no index of names, and
 * nobody else can compute the id.
 */
export async function idOfName(requests: TaskService, caller: Caller, name: string): Promise<TaskId> {
  const secret = await requests.secret('task names');
  const scoped = JSON.stringify([caller.owner, caller.session ?? '', name]);
  return keyedId(secret, scoped);
}

/** To those that name tasks themselves, the names of another session mean nothing. */
function isNamedElsewhere({ origin }: Task, { dialect, session = '' }: Caller): boolean {
  return dialect.callerNamesTasks && origin.named !== undefined && origin.named.session !== session;
}

// --- tasks/list, in sessions -------------------------------------------------------------------------------

const pageSize = 50;
const cursorLifeMs = 24 * 3_600_000;

async function taskList(requests: TaskService, caller: Caller, { cursor }: JsonObject): Promise<JsonObject> {
  if (caller.owner === anonymous)
    throw new NotOffered('tasks/list is not offered to callers that cannot be told apart: show a token.');
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
  /** Where the next page begins, if there is one. */
  readonly next: string | undefined;
}

/** A task in a list is shown as tasks/get would show it, subtasks' questions included. */
async function roots(requests: TaskService, owner: string, from: string | undefined): Promise<Trees> {
  const page = await requests.list(owner, pageSize, from);
  const trees = await Promise.all(
    page.tasks.map(async (root) => (await requests.tree(root.id)) ?? { root, descendants: [] }),
  );
  return { trees, next: page.nextCursor };
}

/** Where a page of trees begins: in the tree of a root, behind one of its tasks; before that root, or anywhere. */
interface Place {
  readonly rootId?: string;
  readonly after?: Mark;
  /** The store's own cursor, behind that root. */
  readonly behind?: string;
}

/** A task's place in the list of its tree. It never changes, so nothing that is added later moves what was there. */
type Mark = readonly [createdAt: number, depth: number, id: string];

/** Tree after tree; of each what is new comes last, wherever in it that is. */
async function withSubtasks(requests: TaskService, owner: string, from: string | undefined): Promise<Trees> {
  const trees: TaskTree[] = [];
  let place: Place = from === undefined ? {} : JSON.parse(from);
  while (true) {
    if (place.rootId !== undefined) {
      const { rootId, after, ...behind } = place;
      const rest = inOrder(await requests.allLinked(rootId), after);
      const room = pageSize - trees.length;
      trees.push(...rest.slice(0, room));
      if (rest.length > room)
        return { trees, next: JSON.stringify({ rootId, after: markOf(trees.at(-1)!), ...behind }) };
      if (behind.behind === undefined) return { trees, next: undefined };
      place = behind;
      if (trees.length === pageSize) return { trees, next: JSON.stringify(place) };
    }
    const { tasks, nextCursor } = await requests.list(owner, 1, place.behind);
    const [root] = tasks;
    if (!root) return { trees, next: undefined };
    place = { rootId: root.id, ...(nextCursor !== undefined && { behind: nextCursor }) };
  }
}

function inOrder(all: readonly TaskTree[], after: Mark | undefined): TaskTree[] {
  const sorted = all.toSorted((a, b) => compared(markOf(a), markOf(b)));
  return after ? sorted.filter((tree) => compared(markOf(tree), after) > 0) : sorted;
}

function markOf({ root: { createdAt, depth, id } }: TaskTree): Mark {
  return [createdAt, depth, id];
}

function compared(a: Mark, b: Mark): number {
  return a[0] - b[0] || a[1] - b[1] || (a[2] < b[2] ? -1 : Number(a[2] > b[2]));
}

function opened(cursors: Sealer, cursor: unknown, now: number): string | undefined {
  if (cursor === undefined) return undefined;
  const sealed = typeof cursor === 'string' ? cursors.open(cursor, now) : { problem: 'forged' as const };
  if ('value' in sealed) return sealed.value as string;
  throw new InvalidParams(
    sealed.problem === 'expired'
      ? 'This cursor has expired. Start again without one.'
      : 'This cursor was not made by this server for this caller. Start again without one.',
  );
}
