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

interface Said {
  readonly task: SeenTask;
  readonly at: number;
}

export class Witness {
  readonly rootId: string;
  readonly #plan: Plan;
  readonly #plans = new Map<string, Plan>();
  readonly #said = new Map<string, Said[]>();
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
    return [...this.#said.keys()];
  }

  /** That of the root is known before it is seen: it may ask before anybody looks. */
  planOf(taskId: string): Plan | undefined {
    return taskId === this.rootId ? this.#plan : this.#plans.get(taskId);
  }

  /** All that were ever named. */
  childrenOf(taskId: string): readonly string[] {
    const lists = (this.#said.get(taskId) ?? []).map(({ task }) => task.childTaskIds ?? []);
    return lists.reduce((one, other) => (other.length > one.length ? other : one), []);
  }

  parentOf(taskId: string): string | undefined {
    return this.#said.get(taskId)?.[0]?.task.parentTaskId;
  }

  isDone(taskId: string): boolean {
    return this.#end(taskId) !== undefined;
  }

  lastSaid(taskId: string): SeenTask | undefined {
    return this.#end(taskId)?.task;
  }

  /** The first that was said of it when it was done. */
  #end(taskId: string): Said | undefined {
    return this.#said.get(taskId)?.find(({ task }) => isDone(task));
  }

  /** A task as an answer shows it that was asked for at that moment. */
  saw(task: SeenTask, sentAt: number): void {
    const at = this.now();
    this.statements++;
    const { taskId, parentTaskId, childTaskIds = [], status } = task;
    assert.notEqual(parentTaskId, taskId, 'S2268-03: a task is its own parent');
    assert(!childTaskIds.includes(taskId), 'S2268-06: a task is its own child');
    assert.equal(new Set(childTaskIds).size, childTaskIds.length, 'a child is named twice');
    const said = this.#said.get(taskId) ?? this.#meet(task);
    for (const before of said) checkBoth(before.task, task, before.at < sentAt);
    said.push({ task, at });
    this.#checkAbove(task, sentAt);
    if (status === 'input_required')
      assert(
        ownKeys(this.planOf(taskId)!).length > 0,
        'S2268-31: a task that asks nothing itself is input_required',
      );
  }

  #meet({ taskId, parentTaskId, createdAt }: SeenTask): Said[] {
    if (taskId === this.rootId) assert.equal(parentTaskId, undefined, 'the root has a parent');
    else {
      const parent = this.#said.get(parentTaskId ?? '')?.[0]?.task;
      assert(parent, 'S2268-13: a task names a parent that nobody has seen');
      const place = this.childrenOf(parent.taskId).indexOf(taskId);
      assert(place >= 0, 'a task names a parent that does not name it');
      const plan = plannedChildren(this.planOf(parent.taskId)!)[place];
      assert(plan, 'S2268-07: more children than were started');
      assert(createdAt >= parent.createdAt, 'a child is older than its parent');
      this.#plans.set(taskId, plan);
    }
    const said: Said[] = [];
    this.#said.set(taskId, said);
    return said;
  }

  /** It is not above itself, and what is above it does not end before it. */
  #checkAbove(task: SeenTask, sentAt: number): void {
    const line = [task.taskId];
    for (let id = task.parentTaskId; id !== undefined; id = this.parentOf(id)) {
      assert(!line.includes(id), `${id} is above itself`);
      line.push(id);
      const end = this.#end(id);
      if (end && end.at < sentAt)
        assert(isDone(task), `S2268-25: ${task.status} below a task that was ${end.task.status}`);
      if (end && isDone(task))
        assert(task.lastUpdatedAt <= end.task.lastUpdatedAt, 'S2268-27: a child ended after its parent');
    }
  }

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

  heard(task: SeenTask): void {
    this.statements++;
    const { taskId, status, parentTaskId } = task;
    if (this.#said.has(taskId))
      assert.equal(parentTaskId, this.parentOf(taskId), 'S2268-24: news of a child do not name its parent');
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
    for (const id of this.ids)
      assert.equal(
        this.#told.get(id)?.status,
        this.lastSaid(id)?.status,
        'the stream did not tell the end of a task',
      );
  }
}

/** Two statements about a task. They are in order if the second was asked for after the first had come. */
function checkBoth(one: SeenTask, other: SeenTask, inOrder: boolean): void {
  assert.equal(other.parentTaskId, one.parentTaskId, 'S2268-02: the parent changed');
  assert.equal(other.createdAt, one.createdAt, 'the moment of creation changed');
  const [few, many] = [one.childTaskIds ?? [], other.childTaskIds ?? []];
  const shared = Math.min(few.length, many.length);
  const message = 'S2268-04 S2268-07: the order of the children changed';
  assert.deepEqual(many.slice(0, shared), few.slice(0, shared), message);
  if (inOrder) assert(many.length >= few.length, 'S2268-05: children are named no more');
  if (inOrder) assert(other.lastUpdatedAt >= one.lastUpdatedAt, 'lastUpdatedAt went back');
  if (isDone(one) && (isDone(other) || inOrder))
    assert.deepEqual({ ...other, ttl: 0 }, { ...one, ttl: 0 }, 'what was done changed');
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
