/** The part of the examination of every `Store` that is about making tasks: what is made once is made once. */
import assert from 'node:assert/strict';
import type { Change } from '../engine/change.ts';
import type { Store } from '../engine/store.ts';
import * as rules from '../engine/transitions.ts';
import { TaskExists } from '../model/errors.ts';
import type { NewTask, Task } from '../model/task.ts';
import { aTask } from './fixtures.ts';
import type { ManualClock } from './manual-clock.ts';
import { create } from './store-commands.ts';
import { checks, type SuiteOptions } from './suite.ts';

export function testCreation(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('a task that was created can be read back as it was made', async ({ database: { store }, clock }) => {
    const { task } = await create(store, clock, aTask());
    assert.equal(task.phase, 'queued');
    assert.deepEqual(await store.get(task.id), task);
  });

  check(
    'the same idempotency key gives the same task, also to many at once',
    async ({ database: { store }, clock }) => {
      const made = await Promise.all(Array.from({ length: 20 }, () => createWithKey(store, clock, 'alice')));
      assert.equal(new Set(made.map(({ task }) => task.id)).size, 1);
      assert.equal((await store.list({ owner: 'alice', limit: 10 })).tasks.length, 1);
    },
  );

  check('an idempotency key belongs to one owner and one tool', async ({ database: { store }, clock }) => {
    const first = await createWithKey(store, clock, 'alice');
    const second = await createWithKey(store, clock, 'bob');
    const third = await createWithKey(store, clock, 'alice', 'another_tool');
    assert.equal(new Set([first, second, third].map(({ task }) => task.id)).size, 3);
  });

  check(
    'whoever makes a task under an id that is taken is handed the task that bears it',
    async ({ database: { store }, clock }) => {
      const request = aTask();
      const seen: (Task | undefined)[] = [];
      const make = () =>
        store.create({ id: request.id }, (existing) => {
          seen.push(existing);
          return rules.create(existing, request, clock.now());
        });
      const { task } = await make();
      await assert.rejects(make(), TaskExists);
      assert.deepEqual([seen[0], seen.at(-1)], [undefined, task]);
      assert.deepEqual(await store.get(task.id), task);
    },
  );

  check('of many that make a task under one id at once, one does', async ({ database: { store }, clock }) => {
    const request = aTask();
    const made = await Promise.allSettled(
      Array.from({ length: 20 }, () => createWithId(store, clock, request)),
    );
    assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const one of made) if (one.status === 'rejected') assert.ok(one.reason instanceof TaskExists);
    assert.equal((await store.list({ owner: request.owner, limit: 10 })).tasks.length, 1);
    assert.equal((await store.get(request.id))?.version, 1);
  });

  check('an id that is taken is taken for every owner and tool', async ({ database: { store }, clock }) => {
    const request = aTask();
    await createWithId(store, clock, request);
    const other = createWithId(store, clock, { ...request, owner: 'bob', tool: 'another_tool' });
    await assert.rejects(other, TaskExists);
    assert.equal((await store.get(request.id))?.owner, request.owner);
  });

  checkShared('an idempotency key holds between processes', async ({ database: { store }, clock, again }) => {
    const other = (await again()).store;
    const made = await Promise.all(
      [store, other, store, other].map((one) => createWithKey(one, clock, 'alice')),
    );
    assert.equal(new Set(made.map(({ task }) => task.id)).size, 1);
  });

  checkShared(
    'of many processes that make a task under one id, one does',
    async ({ database: { store }, clock, again }) => {
      const other = (await again()).store;
      const request = aTask();
      const made = await Promise.allSettled(
        [store, other, store, other].map((one) => createWithId(one, clock, request)),
      );
      assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const one of made) if (one.status === 'rejected') assert.ok(one.reason instanceof TaskExists);
    },
  );
}

function createWithId(store: Store, clock: ManualClock, request: NewTask): Promise<Change> {
  return store.create({ id: request.id }, (existing) => rules.create(existing, request, clock.now()));
}

function createWithKey(store: Store, clock: ManualClock, owner: string, tool = 'a_tool'): Promise<Change> {
  const request = aTask({ owner, tool, idempotency: { key: 'once', argumentsDigest: 'same' } });
  return store.create({ owner, tool, key: 'once' }, (existing) =>
    rules.create(existing, request, clock.now()),
  );
}
