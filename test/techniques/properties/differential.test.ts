/**
 * Runs the same sequence of commands on every store. Each command must return the same on all of them, and after the last
 * one everything that can be read through their ports must be equal. All stores use one clock and the same task ids.
 *
 * Some things differ by nature and are not compared:
 *   - sizes in bytes, secrets and cursors;
 *   - when a lease ends, because each store measures leases with its own clock; no lease expires here;
 *   - names of processes: they are replaced by the same words on every store;
 *   - where a page ends: pages are read to the last one and joined;
 *   - the order of offers and orphans, and of tasks that came due at the same moment: the ports promise none.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { claimTasks } from '../../../src/engine/worker/claiming.ts';
import { idFrom } from '../../../src/model/id.ts';
import type { Task, TaskId } from '../../../src/model/task.ts';
import { type Change, onBehalfOf, type Verdict } from '../../../src/ports/change.ts';
import { applied } from '../../../src/testing/invariants.ts';
import { ManualClock } from '../../../src/testing/manual-clock.ts';
import { Counts } from '../../kit/counts.ts';
import { type Random, seededRandom, seedOfThisRun } from '../../kit/random.ts';
import {
  type Command,
  command,
  type Decision,
  decisionOf,
  leapOf,
  leaseMs,
  type VersionedClaim,
} from './commands.ts';
import { everything } from './drive.ts';
import { portCommand, portCommands } from './port-commands.ts';
import { allOf, readAll, readTask, tools } from './reading.ts';
import { compare, onAll, openSides, orRefusal, type Side } from './sides.ts';

const perRun = 200;
/** So many commands create tasks, without idempotency keys, before others look for one. */
const first = 25;
const runs = { quick: 3, long: 300 }[process.env.HOLDFAST_LANE!] ?? 15;

/** One sequence, and the tasks and claims that its commands refer to. All stores agree on those, or the test fails. */
/** Commands that remove commits: a subscriber in another process that has not read them by then never receives them. */
const forgets = new Set(['leave idle passes out', 'purge', 'remove', 'crowd out', 'discard']);

class Course {
  readonly #sides: readonly Side[];
  readonly #clock: ManualClock;
  readonly #random: Random;
  readonly #seen: Counts;
  #tasks: Map<TaskId, Task> = new Map();
  readonly #claims: VersionedClaim[] = [];
  readonly #removed: TaskId[] = [];
  #commits = 0;
  #commands = 0;

  constructor(sides: readonly Side[], clock: ManualClock, random: Random, seen: Counts) {
    this.#sides = sides;
    this.#clock = clock;
    this.#random = random;
    this.#seen = seen;
  }

  async perform(one: Command): Promise<void> {
    const what = `command ${++this.#commands}, ${JSON.stringify(one)}`;
    // Different moments, so that a wrong order shows; sometimes equal ones.
    this.#clock.advance((one.n + one.m) % 5);
    if (one.name === 'move clock') return this.#clock.advance(leapOf(one));
    if (one.name === 'work') return this.#work(what, one);
    if (forgets.has(one.name)) await this.#allReceived();
    const port = portCommands[one.name];
    if (!port) return this.#decide(what, one);
    const given = { ...one, now: this.#clock.now(), tasks: this.#all(), claims: this.#claims };
    const [answer] = await onAll(this.#sides, what, ({ database }) => port.act(database, given));
    if (answer && !(Array.isArray(answer) && answer.length === 0)) this.#seen.add(one.name);
  }

  /** Compares all that can be read, and what a subscriber received. */
  async compareAll(): Promise<void> {
    const ids = [...this.#tasks.keys(), ...new Set(this.#removed)];
    const ofEach = async (id: TaskId) => {
      await onAll(this.#sides, `task ${id}`, ({ reader }) => reader.store.get(id), { isWhole: true });
      await onAll(this.#sides, `all of task ${id}`, ({ reader }) => readTask(reader, id));
    };
    await Promise.all(ids.map(ofEach));
    const all = await Promise.all(this.#sides.map(({ reader }) => readAll(reader, this.#clock.now())));
    for (const part of Object.keys(all[0]!) as (keyof (typeof all)[0])[])
      compare(
        this.#sides,
        part,
        all.map((one) => one[part]),
      );
    await this.#allReceived();
    await onAll(this.#sides, 'what a subscriber received', async (side) =>
      [...side.notices].sort(([one], [other]) => (one < other ? -1 : 1)),
    );
  }

  async #allReceived(): Promise<void> {
    for (const side of this.#sides) await side.received(this.#commits);
  }

  async #decide(what: string, one: Command): Promise<void> {
    const fresh = this.#freshId();
    const verdicts = await onAll(this.#sides, what, async (side) => {
      const subjects = {
        now: this.#clock.now(),
        tasks: this.#all(),
        claims: this.#claims,
        holder: side.holders[one.m % 2]!,
      };
      const decision = one.name === 'crash' ? undefined : decisionOf(one, subjects, fresh);
      return decision && orRefusal(() => carryOut(side, decision, one));
    });
    const verdict = verdicts[0];
    if (verdict && 'refusal' in verdict) this.#seen.add(String(verdict.refusal).split(':')[0]!);
    else if (verdict) this.#remember(verdict);
  }

  /** A worker takes all that is ready, and gives some of it back. */
  async #work(what: string, { n }: Command): Promise<void> {
    const request = { tools: tools[n % 3]!, limit: allOf, leaseMs, now: () => this.#clock.now() };
    const [claimed] = await onAll(this.#sides, what, async ({ database }) => {
      const claims = await claimTasks(database, request);
      // Some stores read the journal with the claim.
      return claims
        .map(({ task, claim }) => ({ task, claim }))
        .sort((a, b) => (a.task.id < b.task.id ? -1 : 1));
    });
    for (const { task, claim } of claimed!) {
      this.#tasks.set(task.id, task);
      this.#claims.push({ ...claim, version: task.version });
      this.#commits++;
      this.#seen.add('offered');
    }
    for (let times = 0; times < claimed!.length; times++)
      if ((n >> times) % 2 === 0)
        await this.#decide(`${what}, then`, { name: 'release', n: n + times, m: n });
  }

  #remember(change: Change): void {
    this.#tasks = applied(this.#tasks, change);
    this.#removed.push(...change.removed);
    this.#commits += change.writes.length + change.removed.length;
    for (const _ of change.removed) this.#seen.add('removed');
    for (const { task, events } of change.writes)
      for (const { type } of events) {
        this.#seen.add(type);
        if (type === 'claimed')
          this.#claims.push({ taskId: task.id, epoch: task.epoch, version: task.version });
      }
  }

  /** Sometimes the id of a removed task: a client that chooses ids may use one again. */
  #freshId(): TaskId {
    const again = this.#random.oneOf(this.#removed.filter((id) => !this.#tasks.has(id)).concat(''));
    const id = idFrom(Buffer.from(Array.from({ length: 20 }, () => this.#random.below(256))));
    return again !== '' && this.#random.chance(0.3) ? again : id;
  }

  #all(): Task[] {
    return [...this.#tasks.values()];
  }
}

function carryOut({ database }: Side, decision: Decision, { n }: Command): Promise<Change> {
  const by = n % 3 === 0 ? { by: 'caller' as const, dialect: '2025-11-25', session: `s${n % 2}` } : undefined;
  if ('bearing' in decision)
    return database.store.create(decision.bearing, (existing) => onBehalfOf(by, decision.decide(existing)));
  const decide = decision.decide as (subject: unknown) => Verdict;
  return database.store.update(decision.reach, decision.id, (subject) => onBehalfOf(by, decide(subject)));
}

function exactly<T>(length: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.array(arbitrary, { minLength: length, maxLength: length, size: 'max' });
}

test('the same commands give the same answers and the same rows in memory, in a SQLite file and on Postgres', async () => {
  const seed = seedOfThisRun();
  const seen = new Counts();
  let commands = 0;
  const one = fc.oneof({ weight: 3, arbitrary: command }, { weight: 1, arbitrary: portCommand });
  const keyless = fc.nat(200_000).map((m) => m * 5);
  const create = fc.record({ name: fc.constant('create'), n: fc.nat(1_000_000), m: keyless });
  const sequence = fc
    .tuple(exactly(first, create), exactly(perRun - first, one))
    .map(([creations, others]) => [...creations, ...others]);
  await fc.assert(
    fc.asyncProperty(sequence, fc.nat(), async (some, chance) => {
      const clock = new ManualClock();
      const sides = await openSides(clock);
      const course = new Course(sides, clock, seededRandom(chance), seen);
      try {
        for (const next of some) {
          await course.perform(next);
          commands++;
        }
        await course.compareAll();
        await course.perform({ name: 'work', n: 0, m: 0 });
      } finally {
        await Promise.all(sides.map((side) => side.close()));
      }
    }),
    // The error names the command and the stores; to shrink the sequence would take minutes.
    { seed, numRuns: runs, endOnFailure: true },
  );
  console.log(`${commands} commands: ${seen}`);
  expect(commands).toBe(runs * perRun);
  // A short run may miss a rare one.
  const others = ['offered', 'orphans', 'isolate', 'leave idle passes out', 'prune the audit log'];
  if (runs > 100) expect([...seen.keys()]).toEqual(expect.arrayContaining([...everything, ...others]));
}, 1_800_000);
