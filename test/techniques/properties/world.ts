/**
 * Two accounts of the same tasks: a map that only the pure rules change, and a database that several connections
 * change. After every command both must say the same, and no invariant may be broken.
 */
import assert from 'node:assert/strict';
import { Refusal, refusal } from '../../../src/model/errors.ts';
import type { Json } from '../../../src/model/json.ts';
import type { Task, TaskId } from '../../../src/model/task.ts';
import type { Change, Family, Lineage, Verdict } from '../../../src/ports/change.ts';
import type { Database } from '../../../src/ports/queue.ts';
import type { CommittedChange, Due, Reach } from '../../../src/ports/store.ts';
import { applied, brokenByChange, brokenInvariants } from '../../../src/testing/invariants.ts';
import { ManualClock } from '../../../src/testing/manual-clock.ts';
import type { Counts } from '../../kit/counts.ts';
import { listed } from '../../kit/listed.ts';
import { type Command, type Decision, decisionOf, leapOf, of, type VersionedClaim } from './commands.ts';
import { comparable } from './comparable.ts';

const whole = { isWhole: true };

/** `seen` counts each event and each refusal. So many databases are opened, as several processes would do it. */
export async function openWorld(
  open: (clock: ManualClock) => Promise<Database>,
  connections: number,
  seen: Counts,
) {
  const clock = new ManualClock();
  const databases: Database[] = [];
  const abandoned: Database[] = [];
  const journals = new Map<TaskId, Json[]>();
  const claims: VersionedClaim[] = [];
  /** The versions of each task that a subscriber has heard of, in the order it heard of them. */
  const heard = new Map<TaskId, number[]>();
  /** What was published can be read back, by every connection, from the moment it was heard of. */
  const readBack: Promise<void>[] = [];
  let tasks = new Map<TaskId, Task>();
  let onHeard = () => {};
  let commands = 0;
  for (let n = 0; n < connections; n++) databases.push(await open(clock));
  databases[0]!.store.subscribe(hear);
  return { perform, compareAll, close };

  async function perform(command: Command): Promise<void> {
    commands++;
    if (command.name === 'move clock') return clock.advance(leapOf(command));
    if (command.name === 'crash') return crash();
    if (command.name === 'renew') return renew(command.n);
    const decision = decisionOf(command, {
      now: clock.now(),
      tasks: all(),
      claims,
      holder: `worker ${commands % 3}`,
    });
    if (decision) await decide(decision);
  }

  async function close(): Promise<void> {
    for (const database of [...databases, ...abandoned]) await database.close();
  }

  /** Everything the store can be asked, against the map. */
  async function compareAll(): Promise<void> {
    const { store } = anyDatabase();
    for (const task of all()) {
      assert.deepEqual(comparable(await store.get(task.id), whole), comparable(task, whole));
      assert.deepEqual(comparable(await store.family(task.id)), comparable(reach('family', task.id)));
      assert.deepEqual(await store.journal(task.id), journals.get(task.id));
    }
    for (const owner of ['alice', 'bob']) {
      const found = await Array.fromAsync(listed(store, { owner, limit: 3 }));
      const isListed = (task: Task) => task.owner === owner && !task.parentId && !task.unpublished;
      const roots = all().filter(isListed);
      assert.deepEqual(comparable(found), comparable(roots.toReversed()));
    }
    const now = clock.now();
    const due = async (what: Due, at: number, isDue: (task: Task) => unknown) => {
      const ids = all()
        .filter(isDue)
        .map(({ id }) => id);
      assert.deepEqual((await store.due(what, at, 1_000)).sort(), ids.sort());
    };
    await due('deadline', now, (task) => task.phase !== 'done' && (task.deadlineAt ?? Infinity) <= now);
    await due('purge', now, (task) => task.phase === 'done' && (task.purgeAt ?? Infinity) <= now);
    const isEnded = (task: Task) => task.phase === 'done' && !task.parentId;
    await due('oldest', Number.MAX_SAFE_INTEGER, isEnded);
    await everythingHeard();
  }

  function hear({ taskId, version, events }: CommittedChange): void {
    heard.set(taskId, [...(heard.get(taskId) ?? []), version]);
    if (events.every(({ type }) => type !== 'removed')) readBack.push(canBeRead(taskId, version));
    onHeard();
  }

  async function canBeRead(id: TaskId, version: number): Promise<void> {
    const found = await Promise.all(databases.map(({ store }) => store.get(id)));
    // A task may be gone again, purged by a later commit.
    for (const task of found) assert.ok(!task || task.version >= version);
    assert.ok(found.every((task) => task) || !tasks.has(id));
  }

  /** A subscriber hears of every version of every task, once and in order, whichever connection committed it. */
  async function everythingHeard(): Promise<void> {
    const behind = () => all().some(({ id, version }) => heard.get(id)?.at(-1) !== version);
    await Promise.all(readBack.splice(0));
    while (behind()) await new Promise<void>((resolve) => (onHeard = resolve));
    for (const { id, version } of all()) {
      const versions = Array.from({ length: version }, (_, index) => index + 1);
      assert.deepEqual(heard.get(id), versions);
    }
  }

  async function decide(decision: Decision): Promise<void> {
    const expected = byTheRules(decision);
    const actual = await byTheStore(decision);
    if (expected instanceof Refusal || actual instanceof Refusal) {
      assert.equal(String(actual), String(expected));
      seen.add((actual as Refusal).code);
      return;
    }
    assert.deepEqual(comparable(actual), comparable(expected));
    if ('claim' in decision) {
      // Nothing is accepted from a worker whose claim has been taken or given up.
      const { phase, epoch, ...task } = tasks.get(decision.claim.taskId)!;
      assert.equal(epoch, decision.claim.epoch);
      assert.ok(phase !== 'done' && 'worker' in task && task.worker);
    }
    const after = applied(tasks, expected);
    const broken = [...brokenByChange(tasks, after, expected), ...brokenInvariants(after)];
    assert.deepEqual(broken, []);
    remember(expected, after);
    for (const { task } of expected.writes)
      assert.deepEqual(comparable(await anyDatabase().store.get(task.id)), comparable(task));
    for (const id of expected.removed) assert.equal(await anyDatabase().store.get(id), undefined);
  }

  function byTheRules(decision: Decision): Change | Refusal {
    if ('bearing' in decision) {
      const { bearing } = decision;
      const isSame = (task: Task) =>
        bearing !== undefined &&
        ('id' in bearing
          ? task.id === bearing.id
          : task.idempotency?.key === bearing.key &&
            task.owner === bearing.owner &&
            task.tool === bearing.tool);
      return decision.decide(all().find(isSame));
    }
    if (!tasks.has(decision.id)) return refusal('TASK_NOT_FOUND', decision.id);
    return decision.decide(reach(decision.reach, decision.id) as never);
  }

  async function byTheStore(decision: Decision): Promise<Change | Refusal> {
    const { store } = anyDatabase();
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

  function reach(reach: keyof Reach, id: TaskId): Reach[keyof Reach] {
    const task = tasks.get(id)!;
    const ancestors: Task[] = [];
    for (let at = task; at.parentId !== undefined; at = ancestors.at(-1)!)
      ancestors.push(tasks.get(at.parentId)!);
    const descendants: Task[] = [];
    for (let level = [task]; level.length > 0; descendants.push(...level)) {
      const parents = new Set<TaskId | undefined>(level.map((parent) => parent.id));
      level = all().filter(({ parentId }) => parents.has(parentId));
    }
    const lineage: Lineage = { task, ancestors };
    const family: Family = { ...lineage, descendants };
    return { task, lineage, family }[reach];
  }

  function remember(change: Change, after: Map<TaskId, Task>): void {
    tasks = after;
    for (const { task, events, journal } of change.writes) {
      for (const { type } of events) seen.add(type);
      journals.set(task.id, [...(journals.get(task.id) ?? []), ...(journal ?? [])]);
      if (events.some(({ type }) => type === 'claimed'))
        claims.push({ taskId: task.id, epoch: task.epoch, version: task.version });
    }
    for (const id of change.removed) {
      journals.delete(id);
      seen.add('removed');
    }
  }

  /** One connection falls silent, closed or not; another takes its place. The first one observes and stays. */
  async function crash(): Promise<void> {
    if (databases.length === 1) return;
    const [gone] = databases.splice(1, 1);
    if (commands % 2 === 0) await gone!.close();
    else abandoned.push(gone!);
    databases.push(await open(clock));
  }

  async function renew(pick: number): Promise<void> {
    const claim = of(claims, pick);
    if (!claim) return;
    const lost = await anyDatabase().queue.renew([claim], 20_000);
    const task = tasks.get(claim.taskId);
    const holds = task && task.phase !== 'done' && task.worker && task.epoch === claim.epoch;
    assert.deepEqual(lost, holds ? [] : [claim]);
  }

  function all(): Task[] {
    return [...tasks.values()];
  }

  function anyDatabase(): Database {
    return databases[commands % databases.length]!;
  }
}
