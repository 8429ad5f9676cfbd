/** The examination that the `Calls` of every database take. */
import assert from 'node:assert/strict';
import type { Database } from '../engine/queue.ts';
import * as rules from '../engine/transitions.ts';
import type { Join, TaskId } from '../model/task.ts';
import { aTask } from './fixtures.ts';
import type { ManualClock } from './manual-clock.ts';
import { checks, type SuiteOptions } from './suite.ts';

const join: Join = { key: 'a call', session: null, call: '1' };

export function testCalls(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('the tasks of calls with one key are found, the oldest first', async ({ database, clock }) => {
    const first = await called(database, clock);
    const second = await called(database, clock);
    await called(database, clock, { ...join, key: 'another call' });
    const undelivered = await database.calls.undelivered('a call');
    assert.deepEqual(undelivered, [
      { taskId: first, answering: 'a/1' },
      { taskId: second, answering: 'a/1' },
    ]);
  });

  check('a task that is done is found as before', async ({ database, clock }) => {
    const id = await called(database, clock);
    await finish(database, clock, id);
    assert.deepEqual(await database.calls.undelivered('a call'), [{ taskId: id, answering: 'a/1' }]);
  });

  check(
    'until its caller is told, a task that is handed over is found as before',
    async ({ database, clock }) => {
      const id = await called(database, clock);
      await database.store.update('task', id, (task) => rules.publish(task, clock.now()));
      assert.deepEqual(await database.calls.undelivered('a call'), [{ taskId: id, answering: 'a/1' }]);
    },
  );

  check('a task that was handed over, delivered or cancelled is not found', async ({ database, clock }) => {
    const { store, calls } = database;
    const published = await called(database, clock);
    await store.update('task', published, (task) => rules.publish(task, clock.now()));
    await store.update('task', published, (task) => rules.confirmHandOver(task, clock.now()));
    const delivered = await called(database, clock);
    await finish(database, clock, delivered);
    await store.update('family', delivered, (family) => rules.discard(family, clock.now()));
    const cancelled = await called(database, clock);
    await store.update('family', cancelled, (family) => rules.cancel(family, clock.now()));
    assert.deepEqual(await calls.undelivered('a call'), []);
    assert.equal(await calls.take(published, 'a/1', 'b/1'), false);
    assert.equal(await calls.leave(published, 'a/1'), false);
  });

  check('a task goes to another call only from the one that it answers', async ({ database, clock }) => {
    const { calls } = database;
    const id = await called(database, clock);
    assert.equal(await calls.take(id, 'b/1', 'c/1'), false);
    assert.equal(await calls.take(id, 'a/1', 'b/1'), true);
    assert.equal(await calls.take(id, 'a/1', 'c/1'), false);
    assert.deepEqual(await calls.undelivered('a call'), [{ taskId: id, answering: 'b/1' }]);
  });

  check('what is done twice, because its answer was lost, is done once', async ({ database, clock }) => {
    const { calls } = database;
    const id = await called(database, clock);
    for (let times = 0; times < 2; times++) assert.equal(await calls.leave(id, 'a/1'), true);
    for (let times = 0; times < 2; times++) assert.equal(await calls.take(id, null, 'b/1'), true);
    // Too late: it answers another call.
    assert.equal(await calls.leave(id, 'a/1'), false);
    assert.deepEqual(await calls.undelivered('a call'), [{ taskId: id, answering: 'b/1' }]);
  });

  check('a task that is done is taken without being changed', async ({ database, clock }) => {
    const id = await called(database, clock);
    await finish(database, clock, id);
    const before = await database.store.get(id);
    assert.equal(await database.calls.take(id, 'a/1', 'b/1'), true);
    assert.deepEqual(await database.store.get(id), before);
  });

  check('a task is advanced and taken in any order', async ({ database, clock }) => {
    const { store, calls } = database;
    const id = await called(database, clock);
    await calls.take(id, 'a/1', 'b/1');
    await finish(database, clock, id);
    assert.equal((await store.get(id))?.phase, 'done');
    assert.deepEqual(await calls.undelivered('a call'), [{ taskId: id, answering: 'b/1' }]);
  });

  check('a task whose answer was delivered is kept, and not found', async ({ database, clock }) => {
    const { store, calls } = database;
    const id = await called(database, clock);
    await finish(database, clock, id);
    await calls.delivered(id);
    assert.deepEqual(await calls.undelivered('a call'), []);
    assert.equal(await calls.take(id, 'a/1', 'b/1'), false);
    assert.equal((await store.get(id))?.phase, 'done');
  });

  checkShared('of several calls one gets a task', async ({ database, clock, again }) => {
    const other = await again();
    const id = await called(database, clock);
    await database.calls.leave(id, 'a/1');
    const taken = await Promise.all([
      database.calls.take(id, null, 'b/1'),
      other.calls.take(id, null, 'c/1'),
      database.calls.take(id, null, 'd/1'),
    ]);
    assert.equal(taken.filter((isTaken) => isTaken).length, 1);
  });
}

async function called({ store }: Database, clock: ManualClock, how = join): Promise<TaskId> {
  const unpublished = { servedBy: 'a', until: clock.now() + 60_000, join: how };
  const wanted = aTask({ unpublished });
  const { task } = await store.create(undefined, (existing) => rules.create(existing, wanted, clock.now()));
  return task.id;
}

async function finish({ store }: Database, clock: ManualClock, id: TaskId): Promise<void> {
  const holder = { name: 'worker', leaseMs: 60_000 };
  const { task } = await store.update('task', id, (found) => rules.claim(found, holder, clock.now()));
  const outcome = { kind: 'result', value: 'done', isError: false } as const;
  const claim = { taskId: id, epoch: task.epoch };
  await store.update('lineage', id, (lineage) => rules.complete(lineage, claim, outcome, clock.now()));
}
