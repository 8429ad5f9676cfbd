/** The part of the examination of every `Store` that is about room: how much there is in it, and what goes first. */
import assert from 'node:assert/strict';
import type { Store } from '../engine/store.ts';
import * as rules from '../engine/transitions.ts';
import { runtime } from '../model/runtime.ts';
import type { Task } from '../model/task.ts';
import { aTask } from './fixtures.ts';
import type { ManualClock } from './manual-clock.ts';
import { claimed, create, end, ids, startChild } from './store-commands.ts';
import { checks, type SuiteOptions } from './suite.ts';

export function testRoom(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('of the roots that have ended, those that ended first come first', async ({ database, clock }) => {
    const { store } = database;
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
    async ({ database: { store }, clock }) => {
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
    async ({ database: { store }, clock }) => {
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

  checkShared(
    'what one process put into it, every other measures',
    async ({ database: { store }, clock, again }) => {
      const other = (await again()).store;
      const before = await store.size();
      await create(other, clock, aTask({ arguments: { text: incompressible(500_000) } }));
      assert.ok((await store.size()) - before > 250_000);
    },
  );
}

/** Databases may compress what they store. */
function incompressible(length: number): string {
  const parts = Array.from({ length: length / 64 }, () => runtime.randomBytes(48).toString('base64'));
  return parts.join('');
}

async function removed(store: Store, clock: ManualClock, { id }: Task): Promise<void> {
  await store.update('family', id, (family) => rules.crowdOut(family, clock.now(), clock.now()));
}
