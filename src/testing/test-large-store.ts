/**
 * The part of the examination of every `Store` that is about large ones: reading little of large trees and long lives,
 * how much room there is, and what goes first.
 */
import assert from 'node:assert/strict';
import type { Store } from '../engine/store.ts';
import * as rules from '../engine/transitions.ts';
import type { InputRequest } from '../model/input.ts';
import { runtime } from '../model/runtime.ts';
import type { Task } from '../model/task.ts';
import { aTask } from './fixtures.ts';
import type { ManualClock } from './manual-clock.ts';
import { claimed, claimOne, create, end, ids, startChild } from './store-commands.ts';
import { checks, type SuiteOptions } from './suite.ts';

const hour = 3_600_000;

export function testHistories(options: SuiteOptions): void {
  const { check } = checks(options);

  check('the commits of a task after a version come in order, so many at most', async ({ store, clock }) => {
    const { task, claim } = await claimed(store, clock);
    const child = await startChild(store, clock, claim);
    await end(store, clock, child);
    const started = { version: 3, events: [{ type: 'childStarted', childId: child.id }] };
    const ended = { version: 4, events: [{ type: 'childDone', childId: child.id, outcome: 'cancelled' }] };
    assert.deepEqual(await store.commitsOf(task.id, 2, 10), [started, ended]);
    assert.deepEqual(await store.commitsOf(task.id, 2, 1), [started]);
    assert.deepEqual(await store.commitsOf(task.id, 4, 10), []);
    assert.deepEqual(await store.commitsOf('nobody', 0, 10), []);
  });

  check(
    'below a root those that ask are found, with the way to them, and no others',
    async ({ store, clock }) => {
      const { task: root, claim } = await claimed(store, clock);
      const [quiet, middle, asking] = [
        await startChild(store, clock, claim),
        await startChild(store, clock, claim),
        await startChild(store, clock, claim),
      ];
      const deep = await startChild(store, clock, await claimOne(store, clock, middle.id));
      assert.deepEqual(await store.asking(root.id), []);
      await ask(store, clock, root.id);
      assert.deepEqual(await store.asking(root.id), []);
      await ask(store, clock, asking.id);
      await ask(store, clock, deep.id);
      const other = await claimed(store, clock);
      await ask(store, clock, (await startChild(store, clock, other.claim)).id);
      const found = await store.asking(root.id);
      assert.deepEqual(ids(found), [middle.id, asking.id, deep.id]);
      assert.deepEqual(found[1], await store.get(asking.id));
      await end(store, clock, middle);
      await end(store, clock, quiet);
      assert.deepEqual(ids(await store.asking(root.id)), [asking.id]);
    },
  );

  check(
    'passes that did nothing are left out of a history, the oldest first',
    async ({ store, survey, clock }) => {
      const { task, claim } = await claimed(store, clock);
      const record = [{ n: 1 }];
      await store.update('task', task.id, (now) => rules.record(now, claim, record, clock.now()));
      await park(store, clock, task.id, claim.epoch, undefined);
      for (let pass = 0; pass < 10; pass++) await idlePass(store, clock, task.id);
      const journal = await store.journal(task.id);
      assert.equal(journal.length, 2);
      clock.advance(hour - 3_500);
      assert.equal(await store.leaveOut(clock.now() - hour, 2), 2);
      assert.equal(await store.leaveOut(clock.now() - hour, 100), 4);
      assert.equal(await store.leaveOut(clock.now() - hour, 100), 0);
      const left = (await survey.history(task.id, { afterVersion: 0, limit: 100 }))!;
      const versions = [1, 2, 3, 4, 17, 18, 19, 20, 21, 22, 23, 24];
      assert.deepEqual(
        left.commits.map(({ version }) => version),
        versions,
      );
      const rest = (await survey.history(task.id, { afterVersion: 4, limit: 3 }))!;
      assert.deepEqual(rest, { commits: left.commits.slice(4, 7), nextVersion: 19 });
      assert.deepEqual(await store.journal(task.id), journal);
      clock.advance(hour);
      // The last commit of a task stays, and nothing is left out twice.
      assert.equal(await store.leaveOut(clock.now() - hour, 100), 4);
      assert.equal(await store.leaveOut(clock.now() - hour, 100), 0);
      await idlePass(store, clock, task.id);
      const later = (await survey.history(task.id, { afterVersion: 0, limit: 100 }))!;
      assert.deepEqual(
        later.commits.map(({ version }) => version),
        [1, 2, 3, 4, 23, 24, 25, 26],
      );
      // A reader whose last page ended at a version that was left out since reads on.
      const next = (await survey.history(task.id, { afterVersion: 10, limit: 100 }))!;
      assert.deepEqual(next.commits, later.commits.slice(4));
      assert.deepEqual(await store.journal(task.id), journal);
      assert.equal((await store.get(task.id))!.version, 26);
    },
  );
}

async function ask(store: Store, clock: ManualClock, id: string): Promise<void> {
  const task = (await store.get(id))!;
  const claim = task.epoch === 0 ? await claimOne(store, clock, id) : { taskId: id, epoch: task.epoch };
  const request: InputRequest = { kind: 'roots' };
  await store.update('task', id, (now) => rules.ask(now, claim, { key: 'q', request }, clock.now()));
}

async function idlePass(store: Store, clock: ManualClock, id: string): Promise<void> {
  clock.advance(1_000);
  const { epoch } = await claimOne(store, clock, id);
  const { version } = (await store.get(id))!;
  await park(store, clock, id, epoch, version);
}

async function park(
  store: Store,
  clock: ManualClock,
  taskId: string,
  epoch: number,
  claimedVersion: number | undefined,
): Promise<void> {
  await store.update('task', taskId, (now) => {
    const parking = { seenVersion: now.version, until: clock.now() + 1_000, claimedVersion };
    return rules.park(now, { taskId, epoch }, parking, clock.now());
  });
}

// --- Room ---------------------------------------------------------------------------------------------------

export function testRoom(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('of the roots that have ended, those that ended first come first', async ({ store, clock }) => {
    const made: Task[] = [];
    for (let n = 0; n < 5; n++) made.push((await create(store, clock, aTask())).task);
    const { task: parent, claim } = await claimed(store, clock);
    const child = await startChild(store, clock, claim);
    const [a, b, c, d, alive] = made as [Task, Task, Task, Task, Task];
    const order = [c, a, d, b];
    for (const task of order) {
      clock.advance(1_000);
      await end(store, clock, task);
    }
    await end(store, clock, child);
    assert.deepEqual(await store.due('oldest', clock.now(), 9), ids(order));
    assert.deepEqual(await store.due('oldest', clock.now() - 1, 9), ids([c, a, d]));
    assert.deepEqual(await store.due('oldest', clock.now(), 2), ids([c, a]));
    await removed(store, clock, a);
    await end(store, clock, parent);
    assert.deepEqual(await store.due('oldest', clock.now(), 9), ids([c, d, b, parent]));
    assert.equal((await store.get(alive.id))?.phase, 'queued');
  });

  check(
    'tasks that are kept without limit and plain calls are among the oldest',
    async ({ store, clock }) => {
      const unpublished = { servedBy: 'a', until: clock.now() + 1_000 };
      const call = (await create(store, clock, aTask({ unpublished }))).task;
      const kept = (await create(store, clock, aTask({ retention: { from: 'finish', ms: null } }))).task;
      await end(store, clock, call);
      await end(store, clock, kept);
      assert.deepEqual(await store.due('oldest', clock.now(), 9), [call.id, kept.id]);
    },
  );

  check(
    'a store grows by what is put into it, and shrinks again when that is removed',
    async ({ store, clock }) => {
      const text = incompressible(120_000);
      const made: Task[] = [];
      const empty = await store.size();
      for (let n = 0; n < 10; n++) {
        const { task, claim } = await claimed(store, clock, aTask({ arguments: { text } }));
        await store.update('task', task.id, (now) => rules.record(now, claim, [text], clock.now()));
        made.push((await end(store, clock, task)).task);
      }
      const full = await store.size();
      const put = 20 * text.length;
      assert.ok(full - empty > put * 0.5, `${put} characters were stored, and it grew by ${full - empty}`);
      for (const task of made) await removed(store, clock, task);
      const left = (await store.size()) - empty;
      assert.ok(left < (full - empty) * 0.2, `of ${full - empty} bytes ${left} are left`);
    },
  );

  checkShared('what one process put into it, every other measures', async ({ store, clock, again }) => {
    const other = (await again()).store;
    const before = await store.size();
    await create(other, clock, aTask({ arguments: { text: incompressible(500_000) } }));
    assert.ok((await store.size()) - before > 250_000);
  });
}

/** Databases may compress what they store. */
function incompressible(length: number): string {
  const parts = Array.from({ length: length / 64 }, () => runtime.randomBytes(48).toString('base64'));
  return parts.join('');
}

async function removed(store: Store, clock: ManualClock, { id }: Task): Promise<void> {
  await store.update('family', id, (family) => rules.crowdOut(family, clock.now(), clock.now()));
}
