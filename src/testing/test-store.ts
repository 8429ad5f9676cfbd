/** The examination that every `Store` takes. Real rules, a real place, no mocks; read it as the port's manual. */
import assert from 'node:assert/strict';
import type { Change } from '../engine/change.ts';
import type { CommitNotice, Store } from '../engine/store.ts';
import { StoreClosed } from '../engine/store-errors.ts';
import * as rules from '../engine/transitions.ts';
import { ClaimLost, TaskExists, TaskIsDone, TaskNotFound } from '../model/errors.ts';
import type { NewTask, Task } from '../model/task.ts';
import { aTask } from './fixtures.ts';
import type { ManualClock } from './manual-clock.ts';
import { briefly, claimed, claimOne, create, end, holder, ids, purge, startChild } from './store-commands.ts';
import { checks, type SuiteOptions } from './suite.ts';
import { testHistories, testRoom } from './test-large-store.ts';

export function testStore(options: SuiteOptions): void {
  testCreation(options);
  testRoom(options);
  testHistories(options);
  const { check, checkShared } = checks(options);

  check('a task that does not exist is undefined, and cannot be changed', async ({ store, clock }) => {
    assert.equal(await store.get('nobody'), undefined);
    assert.equal(await store.family('nobody'), undefined);
    assert.deepEqual(await store.journal('nobody'), []);
    const attempt = store.update('family', 'nobody', (family) => rules.cancel(family, clock.now()));
    await assert.rejects(attempt, TaskNotFound);
  });

  check('a task that is asked for with an owner is found by its owner alone', async ({ store, clock }) => {
    const { task, claim } = await claimed(store, clock, aTask({ owner: 'alice' }));
    const started = aTask({ owner: 'alice' });
    await store.update('task', task.id, (now) => rules.startChild(now, claim, started, clock.now()));
    for (const { id } of [task, started]) {
      assert.equal((await store.get(id, 'alice'))?.id, id);
      for (const other of ['bob', '', 'Alice', 'alice%']) assert.equal(await store.get(id, other), undefined);
    }
    assert.equal(await store.get('nobody', 'alice'), undefined);
  });

  check('a task that is not published is in no list until it is', async ({ store, clock }) => {
    const unpublished = { servedBy: 'a', until: clock.now() + 1_000 };
    const { task } = await create(store, clock, aTask({ unpublished }));
    assert.deepEqual((await store.list({ owner: task.owner, limit: 5 })).tasks, []);
    const published = await store.update('task', task.id, (now) => rules.publish(now, clock.now()));
    assert.deepEqual((await store.list({ owner: task.owner, limit: 5 })).tasks, [published.task]);
  });

  check(
    'root tasks are counted, of an owner or of all, live or kept, up to a limit',
    async ({ store, clock }) => {
      const { task: first, claim } = await claimed(store, clock, aTask({ owner: 'alice', ...briefly }));
      await startChild(store, clock, claim);
      await create(store, clock, aTask({ owner: 'alice' }));
      const { task: unpublished } = await create(
        store,
        clock,
        aTask({ owner: 'bob', unpublished: { servedBy: 'a', until: clock.now() + 1_000 } }),
      );
      const counts = async () => {
        const kinds = ['live', 'kept'] as const;
        const of = (owner?: string) => Promise.all(kinds.map((what) => store.count(owner, what, 10)));
        return { alice: await of('alice'), bob: await of('bob'), carol: await of('carol'), all: await of() };
      };
      assert.deepEqual(await counts(), { alice: [2, 2], bob: [1, 1], carol: [0, 0], all: [3, 3] });
      await end(store, clock, first);
      await end(store, clock, unpublished);
      assert.deepEqual(await counts(), { alice: [1, 2], bob: [0, 1], carol: [0, 0], all: [1, 3] });
      assert.equal(await store.count(undefined, 'kept', 2), 2);
      assert.equal(await store.count('alice', 'kept', 1), 1);
      await purge(store, clock, first);
      assert.deepEqual((await counts()).all, [1, 2]);
    },
  );

  check('every notice names the root of its tree', async ({ store, clock }) => {
    const { task, claim } = await claimed(store, clock);
    const heard: CommitNotice[] = [];
    store.subscribe((notice) => heard.push(notice));
    const child = aTask();
    await store.update('task', task.id, (now) => rules.startChild(now, claim, child, clock.now()));
    assert.deepEqual(
      heard.map(({ taskId, rootId }) => [taskId, rootId]),
      [
        [child.id, task.id],
        [task.id, task.id],
      ],
    );
  });

  check('a refusal changes nothing', async ({ store, clock }) => {
    const { task } = await create(store, clock, aTask());
    const done = await store.update('family', task.id, (family) => rules.cancel(family, clock.now()));
    const again = store.update('family', task.id, (family) => rules.cancel(family, clock.now()));
    await assert.rejects(again, TaskIsDone);
    assert.deepEqual(await store.get(task.id), done.task);
  });

  check(
    'a rule that throws changes nothing, and the others in the same turn stand',
    async ({ store, clock }) => {
      const { task } = await create(store, clock, aTask());
      const broken = store.update('task', task.id, () => {
        throw new Error('A bug in a rule.');
      });
      const sound = create(store, clock, aTask());
      await assert.rejects(broken, /A bug in a rule/);
      assert.deepEqual(await store.get((await sound).task.id), (await sound).task);
      assert.deepEqual(await store.get(task.id), task);
    },
  );

  check('commands sent at once are applied one after the other', async ({ store, clock }) => {
    const { task, claim } = await claimed(store, clock);
    const records = Array.from({ length: 200 }, (_, n) =>
      store.update('task', task.id, (now) => rules.record(now, claim, [n], clock.now())),
    );
    const versions = (await Promise.all(records)).map((change) => change.task.version);
    assert.deepEqual(
      versions,
      Array.from({ length: 200 }, (_, n) => task.version + n + 1),
    );
  });

  check('a journal keeps everything in commit order, the arguments first', async ({ store, clock }) => {
    const { task, claim } = await claimed(store, clock, aTask({ arguments: { topic: 'Ærø, 潮汐, 🌊' } }));
    await store.update('task', task.id, (now) => rules.record(now, claim, ['one', { two: 2 }], clock.now()));
    await store.update('task', task.id, (now) => rules.record(now, claim, [null], clock.now()));
    assert.deepEqual(await store.journal(task.id), [
      { arguments: { topic: 'Ærø, 潮汐, 🌊' } },
      'one',
      { two: 2 },
      null,
    ]);
  });

  check('a command under a lost claim is refused', async ({ store, clock }) => {
    const { task, claim } = await claimed(store, clock);
    await store.update('task', task.id, (now) => rules.record(now, claim, ['before'], clock.now()));
    clock.advance(20_000);
    await store.update('task', task.id, (now) =>
      rules.claim(now, holder('thief'), clock.now(), { name: 'worker' }),
    );
    const late = store.update('task', task.id, (now) => rules.record(now, claim, ['late'], clock.now()));
    await assert.rejects(late, ClaimLost);
    assert.equal((await store.journal(task.id)).length, 2);
  });

  check('a list shows the roots of one owner, the newest first, page by page', async ({ store, clock }) => {
    const made: Task[] = [];
    for (let n = 0; n < 7; n++) made.push((await create(store, clock, aTask())).task);
    await create(store, clock, aTask({ owner: 'bob' }));
    const { task, claim } = await claimed(store, clock, aTask({ owner: 'bob' }));
    await startChild(store, clock, claim);

    const newest = made.toReversed();
    const one = await store.list({ owner: 'alice', limit: 3 });
    const two = await store.list({ owner: 'alice', limit: 3, cursor: one.nextCursor! });
    const three = await store.list({ owner: 'alice', limit: 3, cursor: two.nextCursor! });
    assert.deepEqual(
      [one.tasks, two.tasks, three.tasks],
      [newest.slice(0, 3), newest.slice(3, 6), newest.slice(6)],
    );
    assert.equal(three.nextCursor, undefined);
    assert.equal((await store.list({ owner: 'bob', limit: 9 })).tasks[0]?.id, task.id);
    assert.equal((await store.list({ owner: 'bob', limit: 2 })).nextCursor, undefined);
    assert.deepEqual(await store.list({ owner: 'nobody', limit: 3 }), { tasks: [] });
  });

  check('a page is not disturbed by tasks that come and go meanwhile', async ({ store, clock }) => {
    const made: Task[] = [];
    for (let n = 0; n < 6; n++) made.push((await create(store, clock, aTask(briefly))).task);
    const first = await store.list({ owner: 'alice', limit: 2 });
    await create(store, clock, aTask());
    await end(store, clock, made[4]!);
    await purge(store, clock, made[4]!);
    const second = await store.list({ owner: 'alice', limit: 2, cursor: first.nextCursor! });
    assert.deepEqual(ids(second.tasks), ids([made[3]!, made[2]!]));
  });

  check('a cursor that no list made is refused', async ({ store }) => {
    await assert.rejects(store.list({ owner: 'alice', limit: 3, cursor: 'rubbish' }), /cursor/);
  });

  check(
    'a family is a task with its ancestors, nearest first, and its descendants, parents first',
    async ({ store, clock }) => {
      const { task: root, claim } = await claimed(store, clock);
      const a = await startChild(store, clock, claim);
      const b = await startChild(store, clock, claim);
      const a1 = await startChild(store, clock, await claimOne(store, clock, a.id));
      const middle = (await store.family(a.id))!;
      assert.deepEqual([ids(middle.ancestors), ids(middle.descendants)], [[root.id], [a1.id]]);
      const leaf = (await store.family(a1.id))!;
      assert.deepEqual([ids(leaf.ancestors), ids(leaf.descendants)], [[a.id, root.id], []]);
      assert.deepEqual(ids((await store.family(root.id))!.descendants), [a.id, b.id, a1.id]);
    },
  );

  check(
    'the ids of the subtasks of a task are its own children alone, in their order',
    async ({ store, clock }) => {
      const { task: root, claim } = await claimed(store, clock);
      const children: Task[] = [];
      for (let n = 0; n < 12; n++) children.push(await startChild(store, clock, claim));
      const grandchild = await startChild(store, clock, await claimOne(store, clock, children[0]!.id));
      assert.deepEqual(await store.childIds(root.id), ids(children));
      assert.deepEqual(await store.childIds(children[0]!.id), [grandchild.id]);
      assert.deepEqual(await store.childIds(grandchild.id), []);
      assert.deepEqual(await store.childIds('nobody'), []);
      await end(store, clock, root);
      assert.deepEqual(await store.childIds(root.id), ids(children));
    },
  );

  check('a tree is cancelled and purged whole', async ({ store, clock }) => {
    const { task: root, claim } = await claimed(store, clock, aTask(briefly));
    const child = await startChild(store, clock, claim);
    const grandchild = await startChild(store, clock, await claimOne(store, clock, child.id));
    await end(store, clock, root);
    for (const { id } of [root, child, grandchild]) assert.equal((await store.get(id))?.phase, 'done');
    await purge(store, clock, root);
    for (const { id } of [root, child, grandchild]) {
      assert.equal(await store.get(id), undefined);
      assert.deepEqual(await store.journal(id), []);
    }
  });

  check(
    'what is past its deadline or its retention is due, the longest overdue first',
    async ({ store, clock }) => {
      const late = (await create(store, clock, aTask({ deadlineMs: 2_000 }))).task;
      const later = (await create(store, clock, aTask({ deadlineMs: 3_000 }))).task;
      const never = (await create(store, clock, aTask({ deadlineMs: null, ...briefly }))).task;
      assert.deepEqual(await store.due('deadline', clock.now() + 1_999, 9), []);
      assert.deepEqual(await store.due('deadline', clock.now() + 9_999, 9), [late.id, later.id]);
      assert.deepEqual(await store.due('deadline', clock.now() + 9_999, 1), [late.id]);
      await end(store, clock, never);
      assert.deepEqual(await store.due('purge', clock.now() + 999, 9), []);
      assert.deepEqual(await store.due('purge', clock.now() + 1_000, 9), [never.id]);
      await end(store, clock, late);
      assert.deepEqual(await store.due('deadline', clock.now() + 9_999, 9), [later.id]);
    },
  );

  check('a subscriber hears of every commit in order, and can read it by then', async ({ store, clock }) => {
    const heard: CommitNotice[] = [];
    const readable: Promise<boolean>[] = [];
    const stop = store.subscribe((notice) => {
      heard.push(notice);
      // Later versions may have been committed by the time it is read.
      readable.push(store.get(notice.taskId).then((task) => task!.version >= notice.version));
    });
    const { task, claim } = await claimed(store, clock);
    const child = await startChild(store, clock, claim);
    stop();
    await end(store, clock, task);
    assert.deepEqual(
      heard.map(({ taskId, version, events }) => [taskId, version, events.map(({ type }) => type)]),
      [
        [task.id, 1, ['created']],
        [task.id, 2, ['claimed']],
        [child.id, 1, ['created']],
        [task.id, 3, ['childStarted']],
      ],
    );
    assert.ok((await Promise.all(readable)).every(Boolean));
  });

  check(
    'a subscriber never sees a parent end before its subtask, nor a purged task without notice',
    async ({ store, clock }) => {
      const { task: root, claim } = await claimed(store, clock, aTask(briefly));
      const child = await startChild(store, clock, claim);
      const heard: string[] = [];
      store.subscribe(({ taskId, events }) => {
        for (const { type } of events) heard.push(`${taskId === root.id ? 'root' : 'child'} ${type}`);
      });
      await end(store, clock, root);
      await purge(store, clock, root);
      assert.deepEqual(heard, ['child finished', 'root finished', 'child removed', 'root removed']);
      assert.equal(await store.get(child.id), undefined);
    },
  );

  check('large values come back whole', async ({ store, clock }) => {
    const text = 'x'.repeat(3_000_000);
    const { task, claim } = await claimed(store, clock, aTask({ arguments: { text } }));
    await store.update('lineage', task.id, (lineage) =>
      rules.complete(lineage, claim, { kind: 'result', isError: false, value: { text } }, clock.now()),
    );
    assert.deepEqual(await store.journal(task.id), [{ arguments: { text } }]);
    const done = await store.get(task.id);
    assert.ok(done?.phase === 'done' && done.outcome.kind === 'result');
    assert.deepEqual(done.outcome.value, { text });
  });

  check('keys that look like parts of an object are only keys', async ({ store, clock }) => {
    const request = aTask({ arguments: JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') });
    const { task } = await create(store, clock, request);
    assert.equal(
      JSON.stringify(await store.journal(task.id)),
      JSON.stringify([{ arguments: request.arguments }]),
    );
  });

  check(
    'a closed store finishes what it was given, and then says that it is closed',
    async ({ store, database, clock }) => {
      const last = create(store, clock, aTask());
      await database.close();
      await last;
      await assert.rejects(store.get('any'), StoreClosed);
      await assert.rejects(create(store, clock, aTask()), StoreClosed);
      await database.close();
    },
  );

  checkShared('what one process committed, every other reads at once', async ({ store, clock, again }) => {
    const other = await again();
    const { task, claim } = await claimed(store, clock);
    assert.deepEqual(await other.store.get(task.id), task);
    const { task: moved } = await other.store.update('task', task.id, (now) =>
      rules.record(now, claim, ['from the other'], clock.now()),
    );
    assert.deepEqual(await store.get(task.id), moved);
  });

  checkShared('tasks outlive the process that made them', async ({ database, clock, again }) => {
    const { task } = await create(database.store, clock, aTask());
    await database.close();
    assert.deepEqual(await (await again()).store.get(task.id), task);
  });

  checkShared('a subscriber hears of the commits of other processes', async ({ store, clock, again }) => {
    const other = (await again()).store;
    const heard = Promise.withResolvers<void>();
    const versions: number[] = [];
    store.subscribe(({ version }) => {
      versions.push(version);
      if (version === 22) heard.resolve();
    });
    const { task, claim } = await claimed(other, clock);
    for (let n = 0; n < 20; n++)
      await other.update('task', task.id, (now) => rules.record(now, claim, [n], clock.now()));
    await heard.promise;
    assert.deepEqual(
      versions,
      Array.from({ length: 22 }, (_, n) => n + 1),
    );
  });
}

// --- Creation: what is created once is created once ---------------------------------------------------------

function testCreation(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('a task that was created can be read back as it was made', async ({ store, clock }) => {
    const { task } = await create(store, clock, aTask());
    assert.equal(task.phase, 'queued');
    assert.deepEqual(await store.get(task.id), task);
  });

  check('the same idempotency key gives the same task, also to many at once', async ({ store, clock }) => {
    const made = await Promise.all(Array.from({ length: 20 }, () => createWithKey(store, clock, 'alice')));
    assert.equal(new Set(made.map(({ task }) => task.id)).size, 1);
    assert.equal((await store.list({ owner: 'alice', limit: 10 })).tasks.length, 1);
  });

  check('an idempotency key belongs to one owner and one tool', async ({ store, clock }) => {
    const first = await createWithKey(store, clock, 'alice');
    const second = await createWithKey(store, clock, 'bob');
    const third = await createWithKey(store, clock, 'alice', 'another_tool');
    assert.equal(new Set([first, second, third].map(({ task }) => task.id)).size, 3);
  });

  check(
    'whoever makes a task under an id that is taken is handed the task that bears it',
    async ({ store, clock }) => {
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

  check('of many that make a task under one id at once, one does', async ({ store, clock }) => {
    const request = aTask();
    const made = await Promise.allSettled(
      Array.from({ length: 20 }, () => createWithId(store, clock, request)),
    );
    assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const one of made) if (one.status === 'rejected') assert.ok(one.reason instanceof TaskExists);
    assert.equal((await store.list({ owner: request.owner, limit: 10 })).tasks.length, 1);
    assert.equal((await store.get(request.id))?.version, 1);
  });

  check('an id that is taken is taken for every owner and tool', async ({ store, clock }) => {
    const request = aTask();
    await createWithId(store, clock, request);
    const other = createWithId(store, clock, { ...request, owner: 'bob', tool: 'another_tool' });
    await assert.rejects(other, TaskExists);
    assert.equal((await store.get(request.id))?.owner, request.owner);
  });

  checkShared('an idempotency key holds between processes', async ({ store, clock, again }) => {
    const other = (await again()).store;
    const made = await Promise.all(
      [store, other, store, other].map((one) => createWithKey(one, clock, 'alice')),
    );
    assert.equal(new Set(made.map(({ task }) => task.id)).size, 1);
  });

  checkShared(
    'of many processes that make a task under one id, one does',
    async ({ store, clock, again }) => {
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
