/**
 * One random tree as its client grows and watches it: looks at its tasks, lists them, waits for some, answers, declines
 * and cancels, all at random moments, and holds everything that it is told against the rest.
 */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Counts } from '../../kit/counts.ts';
import { type Random, seededRandom } from '../../kit/random.ts';
import type { RawClient } from '../../serving/raw-client.ts';
import { type Message, type Peer, relatedTask } from '../revision-2025-11-25/peer.ts';
import type { Fate, Plan } from './grown-tools.ts';
import { ownKeys, randomPlan } from './plans.ts';
import { grow, isDone, pages } from './served.ts';
import { checkNesting, type SeenTask, Witness } from './witness.ts';

const unknownTask = -32602;
const yes = { content: { ok: true } };
/** Looks without news, after which something is cancelled. */
const patience = 2;

/** The task that a message of a stream is about. */
function taskOf({ method, params }: Message): { taskId: string; parentTaskId?: string } | undefined {
  return method === 'notifications/tasks/status' ? params : params?._meta?.[relatedTask];
}

/** What the trees of one owner have in common. */
export interface Garden {
  readonly peer: Peer;
  /** Clients of the later revision. */
  readonly later: { readonly aware: RawClient; readonly unaware: RawClient };
  /** How often the things happened that the trees are grown for. */
  readonly tally: Counts;
  /** Tasks of trees before, whose end may be told once more. */
  readonly past: Set<string>;
}

/** The machine was so busy that a tree was removed, rightly, before everything of it had been looked at. */
class PastItsTime extends Error {}

export class RaisedTree {
  /** When it is gone, if it is removed soon. */
  removed: Promise<void> = Promise.resolve();
  readonly #garden: Garden;
  readonly #peer: Peer;
  readonly #seed: number;
  readonly #random: Random;
  readonly #plan: Plan;
  readonly #trace: string[] = [];
  readonly #results = new Map<string, Promise<void>>();
  /** What was said of the tree before its id had come. */
  readonly #early: Message[] = [];
  #witness!: Witness;
  #broken: unknown;
  #onNews: () => void = () => {};

  constructor(garden: Garden, seed: number) {
    this.#garden = garden;
    this.#peer = garden.peer;
    this.#seed = seed;
    this.#random = seededRandom(seed);
    this.#plan = randomPlan(this.#random);
  }

  get #rootId(): string {
    return this.#witness.rootId;
  }

  /** Lets it grow and watches it to its end. */
  async raise(): Promise<void> {
    const isBrief = this.#random.chance(0.15);
    try {
      const rootId = await grow(this.#peer, this.#plan, isBrief ? { ttl: 1 } : {});
      this.#witness = new Witness(rootId, this.#plan);
      for (const message of this.#early) this.heard(message);
      await this.#watch();
    } catch (error) {
      if (!(error instanceof PastItsTime)) this.#explain(error);
    }
    for (const id of this.#witness.ids) this.#garden.past.add(id);
    if (isBrief) this.removed = this.#watchRemoval().catch((error) => this.#explain(error));
    // Whoever waits for it hears of it; until then nobody may be listening.
    this.removed.catch(() => {});
    this.#garden.tally.add('trees');
  }

  #explain(cause: unknown): never {
    const story = [
      (cause as Error).message,
      `  HOLDFAST_TREE=${this.#seed} grows this tree alone.`,
      `  plan: ${JSON.stringify(this.#plan)}`,
      '  what happened:',
      ...this.#trace.map((line) => `    ${line}`),
    ];
    throw new Error(story.join('\n'), { cause });
  }

  // --- Looking --------------------------------------------------------------------------------------------

  async #watch(): Promise<void> {
    for (let idle = 0; !this.#witness.isDone(this.#rootId); ) {
      const before = this.#witness.statements;
      const { ids } = this.#witness;
      await this.#walk();
      if (this.#broken) throw this.#broken;
      if (this.#random.chance(0.25)) await this.#list();
      if (this.#random.chance(0.2)) await this.#lookFromOutside();
      if (this.#random.chance(0.12)) await this.#cancel(this.#random.oneOf(this.#witness.ids));
      if (this.#random.chance(0.3)) this.#awaitResult(this.#random.oneOf(this.#witness.ids));
      const isStill = this.#witness.ids.length === ids.length && !(await this.#news(15));
      idle = isStill ? idle + 1 : 0;
      const live = this.#witness.ids.filter((id) => !this.#witness.isDone(id));
      // Now and then all of it, or it would take long to bring down a tree of many that hang.
      if (idle > patience && live.length > 0)
        await this.#cancel(this.#random.chance(0.4) ? this.#rootId : this.#random.oneOf(live));
      assert(this.#witness.statements > before, 'nothing was said of the tree');
    }
    await this.#walk(true);
    await this.#list();
    const tooLong = pause(60_000, 'too long', { ref: false });
    const waited = await Promise.race([Promise.all(this.#results.values()), tooLong]);
    assert.notEqual(waited, 'too long', 'S2268-08: the result of a task that is done never came');
    for (let n = 0; !this.#witness.hasHeardTheEnd(); n++) {
      assert(n < 600, 'the end of the tree was never told');
      await this.#news(100);
    }
    if (this.#broken) throw this.#broken;
    this.#witness.checkNewsAreComplete();
    this.#garden.tally.add('tasks', this.#witness.ids.length);
    this.#garden.tally.add('statements', this.#witness.statements);
  }

  /** From the root down, so that children are always asked for after their parents have been seen. */
  async #walk(everything = false): Promise<void> {
    let level = [this.#rootId];
    while (level.length > 0) {
      const wanted = level.filter(
        (id) => everything || !this.#witness.isDone(id) || this.#random.chance(0.1),
      );
      const seen = await Promise.all(wanted.map((id) => this.#get(id)));
      for (const { taskId, status } of seen)
        if (status === 'input_required' && this.#random.chance(0.5)) await this.#update(taskId);
      level = level.flatMap((id) => this.#witness.childrenOf(id));
    }
    const child = this.#random.oneOf(this.#witness.ids);
    const parent = this.#witness.parentOf(child);
    if (parent === undefined) return;
    // Each answer is computed at a time of its own: the tolerance covers all three reads.
    const began = performance.now();
    const before = await this.#get(parent);
    const between = await this.#get(child);
    const tookMs = Math.ceil(performance.now() - began);
    checkNesting(between, before, await this.#get(parent), tookMs);
  }

  async #get(taskId: string): Promise<SeenTask> {
    const sentAt = this.#witness.now();
    const { result, error } = await this.#peer.get(taskId);
    if (error && this.#isPastItsTime()) throw new PastItsTime();
    assert(!error, `S2268-14: ${taskId} is linked and cannot be read: ${error?.message}`);
    assert.equal(result.taskId, taskId);
    this.#note(`${this.#name(taskId)} is ${result.status}, children ${result.childTaskIds?.length ?? 0}`);
    this.#witness.saw(result, sentAt);
    return result;
  }

  #isPastItsTime(): boolean {
    const root = this.#witness.lastSaid(this.#rootId);
    return typeof root?.ttl === 'number' && Date.parse(root.createdAt) + root.ttl <= Date.now();
  }

  /** To those that do not know subtasks it is one task, with the questions of all. */
  async #lookFromOutside(): Promise<void> {
    const { unaware } = this.#garden.later;
    const { result } = await unaware.get(this.#rootId);
    assert(!('childTaskIds' in result), 'a link is shown to a client that does not know it');
    for (const [key, { params }] of Object.entries(result.inputRequests ?? {})) {
      const way = key.includes('/') ? `t.${key.slice(0, key.indexOf('/'))}` : 't';
      assert.equal(JSON.parse(params.message).label, way, `the question ${key} is that of another task`);
    }
    const child = this.#random.oneOf(this.#witness.ids);
    if (child !== this.#rootId)
      assert.equal((await unaware.get(child)).error?.code, unknownTask, 'a child is shown to any client');
    this.#garden.tally.add('looks from outside');
  }

  /** The newest tree comes first, as a whole; others may have begun since. */
  async #list(): Promise<void> {
    const own: SeenTask[] = [];
    const names = new Set<string>([this.#rootId]);
    const sentAt = this.#witness.now();
    const live = this.#witness.ids;
    let first: Set<string> | undefined;
    for await (const page of pages(this.#peer)) {
      const part: SeenTask[] = [];
      for (const task of page as SeenTask[]) {
        if (!this.#isOurs(task, names)) continue;
        names.add(task.taskId);
        part.push(task);
      }
      own.push(...part);
      first ??= new Set(part.map(({ taskId }) => taskId));
      this.#witness.sawAtOnce(part);
      if (part.length < page.length) break;
    }
    if (own.length === 0 && this.#isPastItsTime()) throw new PastItsTime();
    for (const task of own) if (!this.#isYounger(task, first!)) this.#witness.saw(task, sentAt);
    assert.equal(names.size, own.length, 'S2268-37: a listing names a task twice');
    for (const id of live) assert(names.has(id), `S2268-37: ${this.#name(id)} is not listed`);
    this.#garden.tally.add('lists');
  }

  /** Started after its parent was listed, on an earlier page: nobody has named it yet. */
  #isYounger({ taskId, parentTaskId = '' }: SeenTask, firstPage: ReadonlySet<string>): boolean {
    return !firstPage.has(taskId) && !this.#witness.childrenOf(parentTaskId).includes(taskId);
  }

  /** What is new in a tree comes after what it hangs on. */
  #isOurs({ taskId, parentTaskId }: SeenTask, own: ReadonlySet<string>): boolean {
    const isKnown = (id: string) => own.has(id) || this.#witness.planOf(id) !== undefined;
    return taskId === this.#rootId || (parentTaskId !== undefined && isKnown(parentTaskId));
  }

  // --- Acting ---------------------------------------------------------------------------------------------

  async #cancel(taskId: string): Promise<void> {
    const wasDone = this.#witness.isDone(taskId);
    const sentAt = this.#witness.now();
    const { result, error } = await this.#peer.request('tasks/cancel', { taskId });
    this.#note(`cancelled ${this.#name(taskId)}: ${result?.status ?? error.message}`);
    if (error) {
      assert.equal(error.code, -32602);
      assert(isDone(await this.#get(taskId)), 'a task that is alive cannot be cancelled');
      return void this.#garden.tally.add('late cancels');
    }
    assert(!wasDone, 'a task that is done was cancelled');
    assert.equal(result.status, 'cancelled');
    this.#witness.saw(result, sentAt);
    this.#garden.tally.add('cancels');
    for (let level = [taskId]; level.length > 0; ) {
      level = level.flatMap((id) => this.#witness.childrenOf(id));
      for (const { status } of await Promise.all(level.map((id) => this.#get(id))))
        assert(isDone({ status }), 'S2268-30: a task below a cancelled one lives on');
      this.#garden.tally.add('below cancels', level.length);
    }
  }

  /** Answers what is open by the later revision, which shows each task its own questions only. */
  async #update(taskId: string): Promise<void> {
    const plan = this.#witness.planOf(taskId)!;
    const { result, error } = await this.#garden.later.aware.get(taskId);
    assert(!error, `S2268-14: ${taskId} cannot be read by the later revision: ${error?.message}`);
    const open = Object.entries(result.inputRequests ?? {});
    assert.equal(result.status === 'input_required', open.length > 0);
    for (const [key, { params }] of open) {
      const { label, fate } = JSON.parse(params.message) as { label: string; fate: Fate };
      assert(ownKeys(plan).includes(key), `S2268-31: ${key} is not a question of ${plan.label}`);
      assert.equal(label, plan.label, 'S2268-31: a question is shown on another task than its own');
      if (fate !== 'update') continue;
      const { error } = await this.#garden.later.aware.update(taskId, {
        [key]: { action: 'accept', ...yes },
      });
      assert(!error, error?.message);
      this.#note(`updated ${label}`);
      this.#garden.tally.add('updates');
    }
  }

  /** Waits for one of them: its result comes when it is done, not before, and says whose it is. */
  #awaitResult(taskId: string): void {
    if (this.#results.has(taskId)) return;
    const waited = this.#waited(taskId).catch((error) => {
      this.#broken ??= error;
    });
    this.#results.set(taskId, waited);
  }

  async #waited(taskId: string): Promise<void> {
    const parentTaskId = this.#witness.parentOf(taskId);
    for await (const message of this.#peer.result(taskId)) {
      if (message.method) {
        this.heard(message);
        continue;
      }
      const { result, error } = message;
      const { status } = await this.#get(taskId);
      assert(isDone({ status }), 'S2268-25: a result before the end');
      this.#garden.tally.add('results');
      if (error) return assert(status !== 'completed', 'a result that is an error of a completed task');
      assert(Array.isArray(result.content), 'S2268-17: a result of another shape');
      const related = { taskId, ...(parentTaskId !== undefined && { parentTaskId }) };
      assert.deepEqual(result._meta[relatedTask], related, 'S2268-22: a result that names others');
      const label = this.#witness.planOf(taskId)!.label;
      if (status === 'completed')
        assert(result.content[0].text.split(' ')[0] === label, 'the result of another');
    }
  }

  // --- Hearing --------------------------------------------------------------------------------------------

  heard(message: Message): void {
    const about = taskOf(message);
    // Without one it takes back a question.
    if (!about || this.#garden.past.has(about.taskId)) return;
    if (!this.#witness) return void this.#early.push(message);
    const { taskId, parentTaskId } = about;
    try {
      if (message.method === 'notifications/tasks/status') {
        this.#note(`heard that ${this.#name(taskId)} is ${message.params.status}`);
        this.#witness.heard(message.params);
      } else if (message.method === 'elicitation/create') this.#asked(message, taskId, parentTaskId);
    } catch (error) {
      this.#broken ??= error;
    }
    this.#onNews();
  }

  #asked({ id, params }: Message, taskId: string, parentTaskId: string | undefined): void {
    const { label, fate } = JSON.parse(params.message) as { label: string; fate: Fate };
    this.#note(`was asked by ${label}`);
    const plan = this.#witness.planOf(taskId);
    if (plan) {
      assert.equal(plan.label, label, 'S2268-22: a question names another task');
      assert.equal(parentTaskId, this.#witness.parentOf(taskId), 'S2268-22: a question names another parent');
    } else assert(parentTaskId, 'S2268-22: a question of a subtask names no parent');
    this.#garden.tally.add(`asked to ${fate}`);
    if (fate === 'accept' || fate === 'decline')
      void this.#peer.answer(id, { action: fate, ...(fate === 'accept' && yes) }).catch(() => {});
  }

  /** Whether something was told within that time. */
  async #news(ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#onNews = () => resolve(true);
    return Promise.race([promise, pause(ms, false)]);
  }

  // --- Removal --------------------------------------------------------------------------------------------

  /** Both ends of every link can be read until the whole tree is gone at once. */
  async #watchRemoval(): Promise<void> {
    const { ids } = this.#witness;
    const { createdAt, ttl } = this.#witness.lastSaid(this.#rootId)!;
    // Until shortly before, there is nothing to see.
    await pause(Math.max(0, Date.parse(createdAt) + (ttl ?? 0) - 200 - Date.now()));
    for (;;) {
      const taskId = this.#random.oneOf(ids);
      const { result, error } = await this.#peer.get(taskId);
      if (error) {
        assert.equal(error.code, unknownTask);
        break;
      }
      assert.equal(result.status, this.#witness.lastSaid(taskId)!.status);
      assert.deepEqual(
        result.childTaskIds ?? [],
        this.#witness.childrenOf(taskId),
        'S2268-05: a list got shorter',
      );
      await pause(25);
    }
    for (const taskId of ids) {
      const { error } = await this.#peer.get(taskId);
      assert.equal(
        error?.code,
        unknownTask,
        `S2268-15: ${this.#name(taskId)} is left of a tree that is gone`,
      );
    }
    this.#garden.tally.add('removals');
  }

  #name(taskId: string): string {
    return this.#witness.planOf(taskId)?.label ?? taskId;
  }

  #note(what: string): void {
    this.#trace.push(what);
    if (this.#trace.length > 200) this.#trace.shift();
  }
}
