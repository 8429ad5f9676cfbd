/**
 * Two accounts of the same tasks: a map that only the pure rules change, and a database that several connections
 * change. After every command both must say the same, and no invariant may be broken.
 */
import assert from 'node:assert/strict';
import type { Change, Family, Lineage, Verdict } from '../../../src/engine/change.ts';
import type { Database } from '../../../src/engine/queue.ts';
import type { CommitNotice, Due, Reach } from '../../../src/engine/store.ts';
import { Refusal, TaskNotFound } from '../../../src/model/errors.ts';
import type { Json } from '../../../src/model/json.ts';
import type { Task, TaskId } from '../../../src/model/task.ts';
import { applied, brokenByChange, brokenInvariants } from '../../../src/testing/invariants.ts';
import { ManualClock } from '../../../src/testing/manual-clock.ts';
import type { Counts } from '../../kit/counts.ts';
import { listed } from '../../kit/listed.ts';
import { type Command, type Decision, decisionOf, leapOf, of, type VersionedClaim } from './commands.ts';
import { comparable } from './comparable.ts';

const whole = { isWhole: true };

export class World {
  readonly #clock = new ManualClock();
  commands = 0;
  readonly #seen: Counts;
  readonly #open: (clock: ManualClock) => Promise<Database>;
  #databases: Database[] = [];
  #tasks: Map<TaskId, Task> = new Map();
  #journals = new Map<TaskId, Json[]>();
  #claims: VersionedClaim[] = [];
  readonly #abandoned: Database[] = [];
  /** The versions of each task that a subscriber has heard of, in the order it heard of them. */
  readonly #heard = new Map<TaskId, number[]>();
  #onHeard = () => {};
  /** What was published can be read back, by every connection, from the moment it was heard of. */
  #readBack: Promise<void>[] = [];

  constructor(open: (clock: ManualClock) => Promise<Database>, seen: Counts) {
    this.#open = open;
    this.#seen = seen;
  }

  /** So many databases over the same place, as several processes would open it. */
  async open(connections: number): Promise<void> {
    for (let n = 0; n < connections; n++) this.#databases.push(await this.#open(this.#clock));
    this.#databases[0]!.store.subscribe((notice) => this.#hear(notice));
  }

  async perform(command: Command): Promise<void> {
    this.commands++;
    if (command.name === 'move clock') return this.#clock.advance(leapOf(command));
    if (command.name === 'crash') return this.#crash();
    if (command.name === 'renew') return this.#renew(command.n);
    const decision = decisionOf(command, {
      now: this.#clock.now(),
      tasks: this.#all(),
      claims: this.#claims,
      holder: `worker ${this.commands % 3}`,
    });
    if (decision) await this.#decide(decision);
  }

  async close(): Promise<void> {
    for (const database of [...this.#databases, ...this.#abandoned]) await database.close();
  }

  /** Everything the store can be asked, against the map. */
  async compareAll(): Promise<void> {
    const { store } = this.#anyDatabase();
    for (const task of this.#all()) {
      assert.deepEqual(comparable(await store.get(task.id), whole), comparable(task, whole));
      assert.deepEqual(comparable(await store.family(task.id)), comparable(this.#reach('family', task.id)));
      assert.deepEqual(await store.journal(task.id), this.#journals.get(task.id));
    }
    for (const owner of ['alice', 'bob']) {
      const found = await Array.fromAsync(listed(store, { owner, limit: 3 }));
      const isListed = (task: Task) => task.owner === owner && !task.parentId && !task.unpublished;
      const roots = this.#all().filter(isListed);
      assert.deepEqual(comparable(found), comparable(roots.toReversed()));
    }
    const now = this.#clock.now();
    const due = async (what: Due, at: number, isDue: (task: Task) => unknown) => {
      const ids = this.#all()
        .filter(isDue)
        .map(({ id }) => id);
      assert.deepEqual((await store.due(what, at, 1_000)).sort(), ids.sort());
    };
    await due('deadline', now, (task) => task.phase !== 'done' && (task.deadlineAt ?? Infinity) <= now);
    await due('purge', now, (task) => task.phase === 'done' && (task.purgeAt ?? Infinity) <= now);
    const isEnded = (task: Task) => task.phase === 'done' && !task.parentId;
    await due('oldest', Number.MAX_SAFE_INTEGER, isEnded);
    await this.#everythingHeard();
  }

  #hear({ taskId, version, events }: CommitNotice): void {
    this.#heard.set(taskId, [...(this.#heard.get(taskId) ?? []), version]);
    if (events.every(({ type }) => type !== 'removed')) this.#readBack.push(this.#canBeRead(taskId, version));
    this.#onHeard();
  }

  async #canBeRead(id: TaskId, version: number): Promise<void> {
    const found = await Promise.all(this.#databases.map(({ store }) => store.get(id)));
    // A task may be gone again, purged by a later commit.
    for (const task of found) assert.ok(!task || task.version >= version);
    assert.ok(found.every((task) => task) || !this.#tasks.has(id));
  }

  /** A subscriber hears of every version of every task, once and in order, whichever connection committed it. */
  async #everythingHeard(): Promise<void> {
    const behind = () => this.#all().some(({ id, version }) => this.#heard.get(id)?.at(-1) !== version);
    await Promise.all(this.#readBack.splice(0));
    while (behind()) await new Promise<void>((resolve) => (this.#onHeard = resolve));
    for (const { id, version } of this.#all()) {
      const versions = Array.from({ length: version }, (_, index) => index + 1);
      assert.deepEqual(this.#heard.get(id), versions);
    }
  }

  async #decide(decision: Decision): Promise<void> {
    const expected = this.#byTheRules(decision);
    const actual = await this.#byTheStore(decision);
    if (expected instanceof Refusal || actual instanceof Refusal) {
      assert.equal(String(actual), String(expected));
      this.#seen.add((actual as Error).name);
      return;
    }
    assert.deepEqual(comparable(actual), comparable(expected));
    if ('claim' in decision) {
      // Nothing is accepted from a worker whose claim has been taken or given up.
      const { phase, epoch, ...task } = this.#tasks.get(decision.claim.taskId)!;
      assert.equal(epoch, decision.claim.epoch);
      assert.ok(phase !== 'done' && 'holder' in task && task.holder);
    }
    const after = applied(this.#tasks, expected);
    const broken = [...brokenByChange(this.#tasks, after, expected), ...brokenInvariants(after)];
    assert.deepEqual(broken, []);
    this.#remember(expected, after);
    for (const { task } of expected.writes)
      assert.deepEqual(comparable(await this.#anyDatabase().store.get(task.id)), comparable(task));
    for (const id of expected.removed) assert.equal(await this.#anyDatabase().store.get(id), undefined);
  }

  #byTheRules(decision: Decision): Change | Refusal {
    if ('bearing' in decision) {
      const { bearing } = decision;
      const isSame = (task: Task) =>
        bearing !== undefined &&
        ('id' in bearing
          ? task.id === bearing.id
          : task.idempotency?.key === bearing.key &&
            task.owner === bearing.owner &&
            task.tool === bearing.tool);
      return decision.decide(this.#all().find(isSame));
    }
    if (!this.#tasks.has(decision.id)) return new TaskNotFound(decision.id);
    return decision.decide(this.#reach(decision.reach, decision.id) as never);
  }

  async #byTheStore(decision: Decision): Promise<Change | Refusal> {
    const { store } = this.#anyDatabase();
    try {
      if ('reach' in decision)
        return await store.update(
          decision.reach,
          decision.id,
          decision.decide as (subject: unknown) => Verdict,
        );
      return await store.create(decision.bearing, decision.decide);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  }

  #reach(reach: keyof Reach, id: TaskId): Reach[keyof Reach] {
    const task = this.#tasks.get(id)!;
    const ancestors: Task[] = [];
    for (let at = task; at.parentId !== undefined; at = ancestors.at(-1)!)
      ancestors.push(this.#tasks.get(at.parentId)!);
    const descendants: Task[] = [];
    for (let level = [task]; level.length > 0; descendants.push(...level)) {
      const parents = new Set<TaskId | undefined>(level.map((parent) => parent.id));
      level = this.#all().filter(({ parentId }) => parents.has(parentId));
    }
    const lineage: Lineage = { task, ancestors };
    const family: Family = { ...lineage, descendants };
    return { task, lineage, family }[reach];
  }

  #remember(change: Change, after: Map<TaskId, Task>): void {
    this.#tasks = after;
    for (const { task, events, journal } of change.writes) {
      for (const { type } of events) this.#seen.add(type);
      this.#journals.set(task.id, [...(this.#journals.get(task.id) ?? []), ...(journal ?? [])]);
      if (events.some(({ type }) => type === 'claimed'))
        this.#claims.push({ taskId: task.id, epoch: task.epoch, version: task.version });
    }
    for (const id of change.removed) {
      this.#journals.delete(id);
      this.#seen.add('removed');
    }
  }

  /** One connection falls silent, closed or not; another takes its place. The first one observes and stays. */
  async #crash(): Promise<void> {
    if (this.#databases.length === 1) return;
    const [gone] = this.#databases.splice(1, 1);
    if (this.commands % 2 === 0) await gone!.close();
    else this.#abandoned.push(gone!);
    this.#databases.push(await this.#open(this.#clock));
  }

  async #renew(pick: number): Promise<void> {
    const claim = of(this.#claims, pick);
    if (!claim) return;
    const lost = await this.#anyDatabase().queue.renew([claim], 20_000);
    const task = this.#tasks.get(claim.taskId);
    const holds = task && task.phase !== 'done' && task.holder && task.epoch === claim.epoch;
    assert.deepEqual(lost, holds ? [] : [claim]);
  }

  #all(): Task[] {
    return [...this.#tasks.values()];
  }

  #anyDatabase(): Database {
    return this.#databases[this.commands % this.#databases.length]!;
  }
}
