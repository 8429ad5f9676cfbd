/** The part of the test suite for every `Store` about trees, long histories, and full stores. */
import assert from 'node:assert/strict';
import * as rules from '../../engine/rules/transitions.ts';
import type { Task } from '../../model/task.ts';
import type { Change } from '../../ports/change.ts';
import { runtime } from '../../runtime/runtime.ts';
import { ids, type StoreCommands, versions } from './store-commands.ts';
import { checks, type SuiteOptions } from './suite.ts';

/** In milliseconds. */
const hour = 3_600_000;

export function testHistories(options: SuiteOptions): void {
  const { check } = checks(options);

  check(
    'the commits of a task after a version are read in order, up to a limit',
    async ({ store, tasks }) => {
      const { task, claim } = await tasks.claimed();
      const child = await tasks.startChild(claim);
      await tasks.end(child);
      const started = { version: 3, events: [{ type: 'childStarted', childId: child.id }] };
      const ended = { version: 4, events: [{ type: 'childDone', childId: child.id, outcome: 'cancelled' }] };
      assert.deepEqual(await store.commitsOf(task.id, 2, 10), [started, ended]);
      assert.deepEqual(await store.commitsOf(task.id, 2, 1), [started]);
      assert.deepEqual(await store.commitsOf(task.id, 4, 10), []);
      assert.deepEqual(await store.commitsOf('nobody', 0, 10), []);
    },
  );

  check(
    'only subtasks with open questions are found below a root, with their ancestors',
    async ({ store, tasks }) => {
      const ask = async (task: Task) => tasks.ask(await tasks.claimOne(task));
      const { task: root, claim } = await tasks.claimed();
      const [quiet, middle, asking] = [
        await tasks.startChild(claim),
        await tasks.startChild(claim),
        await tasks.startChild(claim),
      ];
      const deep = await tasks.startChild(await tasks.claimOne(middle));
      assert.deepEqual(await store.asking(root.id), []);
      await tasks.ask(claim);
      assert.deepEqual(await store.asking(root.id), []);
      await ask(asking);
      await ask(deep);
      const other = await tasks.claimed();
      await ask(await tasks.startChild(other.claim));
      const found = await store.asking(root.id);
      assert.deepEqual(ids(found), [middle.id, asking.id, deep.id]);
      assert.deepEqual(found[1], await store.get(asking.id));
      await tasks.end(middle);
      await tasks.end(quiet);
      assert.deepEqual(ids(await store.asking(root.id)), [asking.id]);
    },
  );

  check(
    'passes that did nothing are deleted from a history, the oldest first',
    async ({ store, queries, clock, tasks }) => {
      const { task, claim } = await tasks.claimed();
      const leaveOut = (limit: number) => store.leaveOut(clock.now() - hour, limit);
      const history = async (afterVersion: number, limit = 100) =>
        (await queries.history(task.id, { afterVersion, limit }))!;
      const idlePass = async () => {
        clock.advance(1_000);
        const own = await tasks.claimOne(task);
        const { version } = (await store.get(task.id))!;
        await tasks.park(own, clock.now() + 1_000, version);
      };
      await tasks.record(claim, [{ n: 1 }]);
      await tasks.park(claim, clock.now() + 1_000);
      for (let pass = 0; pass < 10; pass++) await idlePass();
      const journal = await store.journal(task.id);
      assert.equal(journal.length, 2);
      clock.advance(hour - 3_500);
      assert.equal(await leaveOut(2), 2);
      assert.equal(await leaveOut(100), 4);
      assert.equal(await leaveOut(100), 0);
      const left = await history(0);
      assert.deepEqual(versions(left), [1, 2, 3, 4, 17, 18, 19, 20, 21, 22, 23, 24]);
      const rest = await history(4, 3);
      assert.deepEqual(rest, { commits: left.commits.slice(4, 7), nextVersion: 19 });
      assert.deepEqual(await store.journal(task.id), journal);
      clock.advance(hour);
      // The last pass is kept, because no later commit can count its versions as left out. Nothing is deleted twice.
      assert.equal(await leaveOut(100), 4);
      assert.equal(await leaveOut(100), 0);
      await idlePass();
      const later = await history(0);
      assert.deepEqual(versions(later), [1, 2, 3, 4, 23, 24, 25, 26]);
      // A reader can continue from a version that was deleted since.
      assert.deepEqual((await history(10)).commits, later.commits.slice(4));
      assert.deepEqual(await store.journal(task.id), journal);
      assert.equal((await store.get(task.id))!.version, 26);
    },
  );
}

// --- Full stores --------------------------------------------------------------------------------------------

export function testRoom(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('finished roots are listed in the order of their end', async ({ store, clock, tasks }) => {
    const made: Task[] = [];
    for (let n = 0; n < 5; n++) made.push(await tasks.create());
    const { task: parent, claim } = await tasks.claimed();
    const child = await tasks.startChild(claim);
    const [a, b, c, d, alive] = made as [Task, Task, Task, Task, Task];
    const order = [c, a, d, b];
    for (const task of order) {
      clock.advance(1_000);
      await tasks.end(task);
    }
    await tasks.end(child);
    assert.deepEqual(await store.due('oldest', clock.now(), 9), ids(order));
    assert.deepEqual(await store.due('oldest', clock.now() - 1, 9), ids([c, a, d]));
    assert.deepEqual(await store.due('oldest', clock.now(), 2), ids([c, a]));
    await crowdOut(tasks, a);
    await tasks.end(parent);
    assert.deepEqual(await store.due('oldest', clock.now(), 9), ids([c, d, b, parent]));
    assert.equal((await store.get(alive.id))?.phase, 'queued');
  });

  check(
    'plain calls and tasks that are kept without limit are listed, too',
    async ({ store, clock, tasks }) => {
      const unpublished = { servedBy: 'a', until: clock.now() + 1_000 };
      const call = await tasks.create({ unpublished });
      const kept = await tasks.create({ retention: { from: 'finish', ms: null } });
      await tasks.end(call);
      await tasks.end(kept);
      assert.deepEqual(await store.due('oldest', clock.now(), 9), [call.id, kept.id]);
    },
  );

  check(
    'the size of a store grows with its data, and shrinks when data is removed',
    async ({ store, tasks }) => {
      const text = incompressible(120_000);
      const made: Task[] = [];
      const empty = await store.size();
      for (let n = 0; n < 10; n++) {
        const { task, claim } = await tasks.claimed({ arguments: { text } });
        await tasks.record(claim, [text]);
        made.push((await tasks.end(task)).task);
      }
      const full = await store.size();
      const put = 20 * text.length;
      assert.ok(full - empty > put * 0.5, `${put} characters were stored, and it grew by ${full - empty}`);
      for (const task of made) await crowdOut(tasks, task);
      const left = (await store.size()) - empty;
      assert.ok(left < (full - empty) * 0.2, `of ${full - empty} bytes ${left} are left`);
    },
  );

  checkShared('the size includes data of other processes', async ({ store, again }) => {
    const other = await again();
    const before = await store.size();
    await other.tasks.create({ arguments: { text: incompressible(500_000) } });
    assert.ok((await store.size()) - before > 250_000);
  });
}

/** Removes a finished task before its retention ends, as a full store does. */
function crowdOut(tasks: StoreCommands, task: Task): Promise<Change> {
  return tasks.act('family', task, (family, at) => rules.crowdOut(family, at, at));
}

/** Random text of about this many characters, because databases may compress what they store. */
function incompressible(length: number): string {
  const parts = Array.from({ length: length / 64 }, () => runtime.randomBytes(48).toString('base64'));
  return parts.join('');
}
