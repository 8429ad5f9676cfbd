/**
 * One random tree as its client grows and watches it: looks at its tasks, lists them, waits for some, answers, declines
 * and cancels, all at random moments, and holds everything that it is told against the rest.
 */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Counts } from '../../kit/counts.ts';
import { seededRandom } from '../../kit/random.ts';
import type { RawClient } from '../../serving/raw-client.ts';
import { type Message, type Peer, relatedTask } from '../revision-2025-11-25/peer.ts';
import type { Fate } from './grown-tools.ts';
import { ownKeys, randomPlan } from './plans.ts';
import { grow, isDone, pages } from './served.ts';
import { checkNesting, type SeenTask, Witness } from './witness.ts';

const unknownTask = -32602;
const yes = { content: { ok: true } };
/** Looks without news, after which something is cancelled. */
const patience = 2;

function taskOf({ method, params }: Message): { taskId: string; parentTaskId?: string } | undefined {
  return method === 'notifications/tasks/status' ? params : params?._meta?.[relatedTask];
}

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

export type RaisedTree = ReturnType<typeof raisedTree>;

export function raisedTree({ peer, later, tally, past }: Garden, seed: number) {
  const random = seededRandom(seed);
  const plan = randomPlan(random);
  const trace: string[] = [];
  const results = new Map<string, Promise<void>>();
  /** What was said of the tree before its id had come. */
  const early: Message[] = [];
  let rootId = '';
  let witness!: Witness;
  let broken: unknown;
  let onNews: () => void = () => {};

  /** Resolves when it has come to its end, to when it is removed if that is soon. */
  async function raise(): Promise<{ removed: Promise<void> }> {
    const isBrief = random.chance(0.15);
    try {
      rootId = await grow(peer, plan, isBrief ? { ttl: 1 } : {});
      witness = new Witness(rootId, plan);
      for (const message of early) heard(message);
      await watch();
    } catch (error) {
      if (!(error instanceof PastItsTime)) explain(error);
    }
    for (const id of witness.ids) past.add(id);
    const removed = isBrief ? watchRemoval().catch(explain) : Promise.resolve();
    // Whoever waits for it hears of it; until then nobody may be listening.
    removed.catch(() => {});
    tally.add('trees');
    return { removed };
  }

  function explain(cause: unknown): never {
    const story = [
      (cause as Error).message,
      `  HOLDFAST_TREE=${seed} grows this tree alone.`,
      `  plan: ${JSON.stringify(plan)}`,
      '  what happened:',
      ...trace.map((line) => `    ${line}`),
    ];
    throw new Error(story.join('\n'), { cause });
  }

  async function watch(): Promise<void> {
    for (let idle = 0; !witness.isDone(rootId); ) {
      const before = witness.statements;
      const { ids } = witness;
      await walk();
      if (broken) throw broken;
      if (random.chance(0.25)) await list();
      if (random.chance(0.2)) await lookFromOutside();
      if (random.chance(0.12)) await cancel(random.oneOf(witness.ids));
      if (random.chance(0.3)) awaitResult(random.oneOf(witness.ids));
      const isStill = witness.ids.length === ids.length && !(await news(15));
      idle = isStill ? idle + 1 : 0;
      const live = witness.ids.filter((id) => !witness.isDone(id));
      // Now and then all of it, or it would take long to bring down a tree of many that hang.
      if (idle > patience && live.length > 0) await cancel(random.chance(0.4) ? rootId : random.oneOf(live));
      assert(witness.statements > before, 'nothing was said of the tree');
    }
    await walk(true);
    await list();
    const tooLong = pause(60_000, 'too long', { ref: false });
    const waited = await Promise.race([Promise.all(results.values()), tooLong]);
    assert.notEqual(waited, 'too long', 'S2268-08: the result of a task that is done never came');
    for (let n = 0; !witness.hasHeardTheEnd(); n++) {
      assert(n < 600, 'the end of the tree was never told');
      await news(100);
    }
    if (broken) throw broken;
    witness.checkNewsAreComplete();
    tally.add('tasks', witness.ids.length);
    tally.add('statements', witness.statements);
  }

  /** From the root down, so that children are always asked for after their parents have been seen. */
  async function walk(everything = false): Promise<void> {
    let level = [rootId];
    while (level.length > 0) {
      const wanted = level.filter((id) => everything || !witness.isDone(id) || random.chance(0.1));
      const seen = await Promise.all(wanted.map(get));
      for (const { taskId, status } of seen)
        if (status === 'input_required' && random.chance(0.5)) await update(taskId);
      level = level.flatMap((id) => witness.childrenOf(id));
    }
    const child = random.oneOf(witness.ids);
    const parent = witness.parentOf(child);
    if (parent === undefined) return;
    // Each answer is computed at a time of its own: the tolerance covers all three reads.
    const began = performance.now();
    const before = await get(parent);
    const between = await get(child);
    const tookMs = Math.ceil(performance.now() - began);
    checkNesting(between, before, await get(parent), tookMs);
  }

  async function get(taskId: string): Promise<SeenTask> {
    const sentAt = witness.now();
    const { result, error } = await peer.get(taskId);
    if (error && isPastItsTime()) throw new PastItsTime();
    assert(!error, `S2268-14: ${taskId} is linked and cannot be read: ${error?.message}`);
    assert.equal(result.taskId, taskId);
    note(`${name(taskId)} is ${result.status}, children ${result.childTaskIds?.length ?? 0}`);
    witness.saw(result, sentAt);
    return result;
  }

  function isPastItsTime(): boolean {
    const root = witness.lastSaid(rootId);
    return typeof root?.ttl === 'number' && Date.parse(root.createdAt) + root.ttl <= Date.now();
  }

  /** To those that do not know subtasks it is one task, with the questions of all. */
  async function lookFromOutside(): Promise<void> {
    const { result } = await later.unaware.get(rootId);
    assert(!('childTaskIds' in result), 'a link is shown to a client that does not know it');
    for (const [key, { params }] of Object.entries(result.inputRequests ?? {})) {
      const way = key.includes('/') ? `t.${key.slice(0, key.indexOf('/'))}` : 't';
      assert.equal(JSON.parse(params.message).label, way, `the question ${key} is that of another task`);
    }
    const child = random.oneOf(witness.ids);
    if (child !== rootId)
      assert.equal(
        (await later.unaware.get(child)).error?.code,
        unknownTask,
        'a child is shown to any client',
      );
    tally.add('looks from outside');
  }

  /** The newest tree comes first, as a whole; others may have begun since. */
  async function list(): Promise<void> {
    const own: SeenTask[] = [];
    const names = new Set<string>([rootId]);
    const sentAt = witness.now();
    const live = witness.ids;
    let first: Set<string> | undefined;
    for await (const page of pages(peer)) {
      const part: SeenTask[] = [];
      for (const task of page as SeenTask[]) {
        if (!isOurs(task, names)) continue;
        names.add(task.taskId);
        part.push(task);
      }
      own.push(...part);
      first ??= new Set(part.map(({ taskId }) => taskId));
      witness.sawAtOnce(part);
      if (part.length < page.length) break;
    }
    if (own.length === 0 && isPastItsTime()) throw new PastItsTime();
    for (const task of own) if (!isYounger(task, first!)) witness.saw(task, sentAt);
    assert.equal(names.size, own.length, 'S2268-37: a listing names a task twice');
    for (const id of live) assert(names.has(id), `S2268-37: ${name(id)} is not listed`);
    tally.add('lists');
  }

  /** Started after its parent was listed, on an earlier page: nobody has named it yet. */
  function isYounger({ taskId, parentTaskId = '' }: SeenTask, firstPage: ReadonlySet<string>): boolean {
    return !firstPage.has(taskId) && !witness.childrenOf(parentTaskId).includes(taskId);
  }

  /** What is new in a tree comes after what it hangs on. */
  function isOurs({ taskId, parentTaskId }: SeenTask, own: ReadonlySet<string>): boolean {
    const isKnown = (id: string) => own.has(id) || witness.planOf(id) !== undefined;
    return taskId === rootId || (parentTaskId !== undefined && isKnown(parentTaskId));
  }

  async function cancel(taskId: string): Promise<void> {
    const wasDone = witness.isDone(taskId);
    const sentAt = witness.now();
    const { result, error } = await peer.request('tasks/cancel', { taskId });
    note(`cancelled ${name(taskId)}: ${result?.status ?? error.message}`);
    if (error) {
      assert.equal(error.code, -32602);
      assert(isDone(await get(taskId)), 'a task that is alive cannot be cancelled');
      return void tally.add('late cancels');
    }
    assert(!wasDone, 'a task that is done was cancelled');
    assert.equal(result.status, 'cancelled');
    witness.saw(result, sentAt);
    tally.add('cancels');
    for (let level = [taskId]; level.length > 0; ) {
      level = level.flatMap((id) => witness.childrenOf(id));
      for (const { status } of await Promise.all(level.map(get)))
        assert(isDone({ status }), 'S2268-30: a task below a cancelled one lives on');
      tally.add('below cancels', level.length);
    }
  }

  /** Answers what is open by the later revision, which shows each task its own questions only. */
  async function update(taskId: string): Promise<void> {
    const plan = witness.planOf(taskId)!;
    const { result, error } = await later.aware.get(taskId);
    assert(!error, `S2268-14: ${taskId} cannot be read by the later revision: ${error?.message}`);
    const open = Object.entries(result.inputRequests ?? {});
    assert.equal(result.status === 'input_required', open.length > 0);
    for (const [key, { params }] of open) {
      const { label, fate } = JSON.parse(params.message) as { label: string; fate: Fate };
      assert(ownKeys(plan).includes(key), `S2268-31: ${key} is not a question of ${plan.label}`);
      assert.equal(label, plan.label, 'S2268-31: a question is shown on another task than its own');
      if (fate !== 'update') continue;
      const { error } = await later.aware.update(taskId, { [key]: { action: 'accept', ...yes } });
      assert(!error, error?.message);
      note(`updated ${label}`);
      tally.add('updates');
    }
  }

  /** Waits for one of them: its result comes when it is done, not before, and says whose it is. */
  function awaitResult(taskId: string): void {
    if (results.has(taskId)) return;
    const isFine = waited(taskId).catch((error) => {
      broken ??= error;
    });
    results.set(taskId, isFine);
  }

  async function waited(taskId: string): Promise<void> {
    const parentTaskId = witness.parentOf(taskId);
    for await (const message of peer.result(taskId)) {
      if (message.method) {
        heard(message);
        continue;
      }
      const { result, error } = message;
      const { status } = await get(taskId);
      assert(isDone({ status }), 'S2268-25: a result before the end');
      tally.add('results');
      if (error) return assert(status !== 'completed', 'a result that is an error of a completed task');
      assert(Array.isArray(result.content), 'S2268-17: a result of another shape');
      const related = { taskId, ...(parentTaskId !== undefined && { parentTaskId }) };
      assert.deepEqual(result._meta[relatedTask], related, 'S2268-22: a result that names others');
      const label = witness.planOf(taskId)!.label;
      if (status === 'completed')
        assert(result.content[0].text.split(' ')[0] === label, 'the result of another');
    }
  }

  function heard(message: Message): void {
    const about = taskOf(message);
    // Without one it takes back a question.
    if (!about || past.has(about.taskId)) return;
    if (!witness) return void early.push(message);
    const { taskId, parentTaskId } = about;
    try {
      if (message.method === 'notifications/tasks/status') {
        note(`heard that ${name(taskId)} is ${message.params.status}`);
        witness.heard(message.params);
      } else if (message.method === 'elicitation/create') asked(message, taskId, parentTaskId);
    } catch (error) {
      broken ??= error;
    }
    onNews();
  }

  function asked({ id, params }: Message, taskId: string, parentTaskId: string | undefined): void {
    const { label, fate } = JSON.parse(params.message) as { label: string; fate: Fate };
    note(`was asked by ${label}`);
    const plan = witness.planOf(taskId);
    if (plan) {
      assert.equal(plan.label, label, 'S2268-22: a question names another task');
      assert.equal(parentTaskId, witness.parentOf(taskId), 'S2268-22: a question names another parent');
    } else assert(parentTaskId, 'S2268-22: a question of a subtask names no parent');
    tally.add(`asked to ${fate}`);
    if (fate === 'accept' || fate === 'decline')
      void peer.answer(id, { action: fate, ...(fate === 'accept' && yes) }).catch(() => {});
  }

  async function news(ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    onNews = () => resolve(true);
    return Promise.race([promise, pause(ms, false)]);
  }

  /** Both ends of every link can be read until the whole tree is gone at once. */
  async function watchRemoval(): Promise<void> {
    const { ids } = witness;
    const { createdAt, ttl } = witness.lastSaid(rootId)!;
    // Until shortly before, there is nothing to see.
    await pause(Math.max(0, Date.parse(createdAt) + (ttl ?? 0) - 200 - Date.now()));
    for (;;) {
      const taskId = random.oneOf(ids);
      const { result, error } = await peer.get(taskId);
      if (error) {
        assert.equal(error.code, unknownTask);
        break;
      }
      assert.equal(result.status, witness.lastSaid(taskId)!.status);
      assert.deepEqual(result.childTaskIds ?? [], witness.childrenOf(taskId), 'S2268-05: a list got shorter');
      await pause(25);
    }
    for (const taskId of ids) {
      const { error } = await peer.get(taskId);
      assert.equal(error?.code, unknownTask, `S2268-15: ${name(taskId)} is left of a tree that is gone`);
    }
    tally.add('removals');
  }

  function name(taskId: string): string {
    return witness.planOf(taskId)?.label ?? taskId;
  }

  function note(what: string): void {
    trace.push(what);
    if (trace.length > 200) trace.shift();
  }

  return { raise, heard };
}
