/**
 * Everything that was ever said of one tree, and what may not be said of it afterwards. Statements are ordered only as
 * far as a client can order them: one is later than another if it was asked for after the other had come.
 */
import assert from 'node:assert/strict';
import type { Plan } from './grown-tools.ts';
import { ownKeys, plannedChildren } from './plans.ts';
import { isDone } from './served.ts';

export interface SeenTask {
  readonly taskId: string;
  readonly status: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttl: number | null;
  readonly parentTaskId?: string;
  readonly childTaskIds?: readonly string[];
}

interface Known {
  readonly parent: string | undefined;
  readonly plan: Plan;
  readonly createdAt: string;
  /** Every length of its list of children, and when it was known to be so long. */
  readonly lengths: { readonly at: number; readonly length: number }[];
  children: readonly string[];
  /** What was said of it when it was done, and when that was known. */
  done?: { readonly task: SeenTask; readonly at: number };
  updated: { readonly at: number; readonly when: string };
}

export class Witness {
  readonly rootId: string;
  readonly #plan: Plan;
  readonly #known = new Map<string, Known>();
  /** What each stream has told, by the task. */
  readonly #told = new Map<string, SeenTask>();
  #clock = 0;
  statements = 0;

  constructor(rootId: string, plan: Plan) {
    this.rootId = rootId;
    this.#plan = plan;
  }

  /** To be taken when a request is sent. */
  now(): number {
    return ++this.#clock;
  }

  get ids(): string[] {
    return [...this.#known.keys()];
  }

  /** That of the root is known before it is seen: it may ask before anybody looks. */
  planOf(taskId: string): Plan | undefined {
    return taskId === this.rootId ? this.#plan : this.#known.get(taskId)?.plan;
  }

  childrenOf(taskId: string): readonly string[] {
    return this.#known.get(taskId)?.children ?? [];
  }

  parentOf(taskId: string): string | undefined {
    return this.#known.get(taskId)?.parent;
  }

  isDone(taskId: string): boolean {
    return this.lastSaid(taskId) !== undefined;
  }

  lastSaid(taskId: string): SeenTask | undefined {
    return this.#known.get(taskId)?.done?.task;
  }

  /** It is in the tree, and not above itself: it and all that is above it. */
  lineage(taskId: string): string[] {
    const line: string[] = [];
    for (let id: string | undefined = taskId; id !== undefined; id = this.parentOf(id)) {
      assert(!line.includes(id), `${id} is above itself`);
      line.push(id);
    }
    return line;
  }

  /** A task as an answer shows it that was asked for at that moment. */
  saw(task: SeenTask, sentAt: number): void {
    const at = this.now();
    this.statements++;
    const { taskId, parentTaskId, childTaskIds = [], status } = task;
    assert.notEqual(parentTaskId, taskId, 'S2268-03: a task is its own parent');
    assert(!childTaskIds.includes(taskId), 'S2268-06: a task is its own child');
    assert.equal(new Set(childTaskIds).size, childTaskIds.length, 'a child is named twice');
    const known = this.#known.get(taskId) ?? this.#meet(task, at);
    assert.equal(parentTaskId, known.parent, 'S2268-02: the parent changed');
    assert.equal(task.createdAt, known.createdAt, 'the moment of creation changed');
    this.#checkChildren(task, known, sentAt, at);
    this.#checkEnd(task, known, sentAt, at);
    if (sentAt > known.updated.at)
      assert(task.lastUpdatedAt >= known.updated.when, 'lastUpdatedAt went back');
    known.updated = { at, when: task.lastUpdatedAt };
    if (status === 'input_required')
      assert(ownKeys(known.plan).length > 0, 'S2268-31: a task that asks nothing itself is input_required');
  }

  #meet({ taskId, parentTaskId, createdAt, lastUpdatedAt }: SeenTask, at: number): Known {
    const parent = parentTaskId === undefined ? undefined : this.#known.get(parentTaskId);
    if (taskId === this.rootId) assert.equal(parentTaskId, undefined, 'the root has a parent');
    else assert(parent, 'S2268-13: a task names a parent that nobody has seen');
    const place = parent?.children.indexOf(taskId) ?? 0;
    assert(place >= 0, 'a task names a parent that does not name it');
    const plan = parent ? plannedChildren(parent.plan)[place] : this.#plan;
    assert(plan, 'S2268-07: more children than were started');
    if (parent) assert(createdAt >= parent.createdAt, 'a child is older than its parent');
    const known: Known = {
      parent: parentTaskId,
      plan,
      createdAt,
      lengths: [],
      children: [],
      updated: { at, when: lastUpdatedAt },
    };
    this.#known.set(taskId, known);
    return known;
  }

  #checkChildren({ childTaskIds = [] }: SeenTask, known: Known, sentAt: number, at: number): void {
    const { children, lengths } = known;
    const shared = Math.min(children.length, childTaskIds.length);
    assert.deepEqual(
      childTaskIds.slice(0, shared),
      children.slice(0, shared),
      'S2268-04 S2268-07: the order of the children changed',
    );
    const least = Math.max(0, ...lengths.filter((one) => one.at < sentAt).map(({ length }) => length));
    assert(childTaskIds.length >= least, 'S2268-05: children are named no more');
    if (childTaskIds.length > children.length) known.children = childTaskIds;
    lengths.push({ at, length: childTaskIds.length });
  }

  #checkEnd(task: SeenTask, known: Known, sentAt: number, at: number): void {
    for (const above of this.lineage(task.taskId).slice(1)) {
      const end = this.#known.get(above)!.done;
      if (end && end.at < sentAt)
        assert(isDone(task), `S2268-25: ${task.status} below a task that was ${end.task.status}`);
      if (end && isDone(task))
        assert(task.lastUpdatedAt <= end.task.lastUpdatedAt, 'S2268-27: a child ended after its parent');
    }
    if (known.done) {
      const { ttl: _, ...before } = known.done.task;
      const { ttl: __, ...after } = task;
      if (isDone(task) || known.done.at < sentAt) assert.deepEqual(after, before, 'what was done changed');
    } else if (isDone(task)) known.done = { task, at };
  }

  /** Several tasks of one moment. */
  sawAtOnce(tasks: readonly SeenTask[]): void {
    const byId = new Map(tasks.map((task) => [task.taskId, task]));
    assert.equal(byId.size, tasks.length, 'a list names a task twice');
    for (const task of tasks) {
      const parent = task.parentTaskId === undefined ? undefined : byId.get(task.parentTaskId);
      if (!parent) continue;
      checkNesting(task, parent, parent, 0);
      assert(parent.childTaskIds?.includes(task.taskId), 'a task names a parent that does not name it');
      if (isDone(parent)) assert(isDone(task), 'S2268-25: a parent is done before its child in a list');
    }
  }

  // --- On a stream ----------------------------------------------------------------------------------------

  heard(task: SeenTask): void {
    this.statements++;
    const { taskId, status, parentTaskId } = task;
    const known = this.#known.get(taskId);
    if (known) assert.equal(parentTaskId, known.parent, 'S2268-24: news of a child do not name its parent');
    if (taskId !== this.rootId) assert(parentTaskId, 'S2268-24: news of a child name no parent');
    const before = this.#told.get(taskId);
    if (before && isDone(before)) assert.equal(status, before.status, 'news of a task after its end');
    if (isDone(task))
      for (const child of task.childTaskIds ?? [])
        assert(
          isDone(this.#told.get(child) ?? {}),
          'S2268-25: the end of a parent is told before that of its child',
        );
    this.#told.set(taskId, task);
  }

  hasHeardTheEnd(): boolean {
    return isDone(this.#told.get(this.rootId) ?? {});
  }

  /** Everything has been told that ever happened: the last word on the stream is the truth. */
  checkNewsAreComplete(): void {
    for (const [id, { done }] of this.#known)
      assert.equal(
        this.#told.get(id)?.status,
        done?.task.status,
        'the stream did not tell the end of a task',
      );
  }
}

/**
 * A child is gone with its parent at the latest. The parent was read before and after. A tree that has outlived its ttl
 * is kept until some time from now, and may end while that is being said: by so much the answers may differ.
 */
export function checkNesting(child: SeenTask, before: SeenTask, after: SeenTask, tookMs: number): void {
  const ends = [before, after].map(endOf);
  if (ends.includes(null)) return;
  const end = endOf(child);
  assert.notEqual(end, null, 'S2268-34: a child without limit under a parent with one');
  assert(end! <= Math.max(...(ends as number[])) + tookMs, 'S2268-34: a child outlives its parent');
}

function endOf({ createdAt, ttl }: SeenTask): number | null {
  return ttl === null ? null : Date.parse(createdAt) + ttl;
}
