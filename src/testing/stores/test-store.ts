/** The test suite for every `Store`: with real rules and a real database, without mocks. It also documents the port. */
import assert from 'node:assert/strict';
import * as rules from '../../engine/rules/transitions.ts';
import { hasCode } from '../../model/errors.ts';
import type { NewTask, Task } from '../../model/task.ts';
import type { CommittedChange } from '../../ports/store.ts';
import { aTask } from '../fixtures.ts';
import { briefly, ids, type StoreCommands } from './store-commands.ts';
import { checks, type SuiteOptions } from './suite.ts';
import { testHistories, testRoom } from './test-large-store.ts';

export function testStore(options: SuiteOptions): void {
  testCreation(options);
  testRoom(options);
  testHistories(options);
  const { check, checkShared } = checks(options);

  check(
    'a task is read back as it was created, and unknown tasks cannot be read or changed',
    async ({ store, tasks }) => {
      const task = await tasks.create();
      assert.equal(task.phase, 'queued');
      assert.deepEqual(await store.get(task.id), task);
      assert.equal(await store.get('nobody'), undefined);
      assert.equal(await store.family('nobody'), undefined);
      assert.deepEqual(await store.journal('nobody'), []);
      await assert.rejects(tasks.end({ id: 'nobody' }), { code: 'TASK_NOT_FOUND' });
    },
  );

  check('a read with an owner only finds tasks of that owner', async ({ store, tasks }) => {
    const { task, claim } = await tasks.claimed({ owner: 'alice' });
    const started = await tasks.startChild(claim, { owner: 'alice' });
    for (const { id } of [task, started]) {
      assert.equal((await store.get(id, 'alice'))?.id, id);
      for (const other of ['bob', '', 'Alice', 'alice%']) assert.equal(await store.get(id, other), undefined);
    }
    assert.equal(await store.get('nobody', 'alice'), undefined);
  });

  check('a task is not listed until it is published', async ({ store, clock, tasks }) => {
    const unpublished = { servedBy: 'a', until: clock.now() + 1_000 };
    const task = await tasks.create({ unpublished });
    assert.deepEqual((await store.list({ owner: task.owner, limit: 5 })).tasks, []);
    const published = await tasks.publish(task);
    assert.deepEqual((await store.list({ owner: task.owner, limit: 5 })).tasks, [published.task]);
  });

  check(
    'root tasks are counted, of an owner or of all, live or kept, up to a limit',
    async ({ store, clock, tasks }) => {
      const { task: first, claim } = await tasks.claimed({ owner: 'alice', ...briefly });
      await tasks.startChild(claim);
      await tasks.create({ owner: 'alice' });
      const request = { servedBy: 'a', until: clock.now() + 1_000 };
      const unpublished = await tasks.create({ owner: 'bob', unpublished: request });
      const counts = async () => {
        const kinds = ['live', 'stored'] as const;
        const of = (owner?: string) => Promise.all(kinds.map((what) => store.count(owner, what, 10)));
        return { alice: await of('alice'), bob: await of('bob'), carol: await of('carol'), all: await of() };
      };
      assert.deepEqual(await counts(), { alice: [2, 2], bob: [1, 1], carol: [0, 0], all: [3, 3] });
      await tasks.end(first);
      await tasks.end(unpublished);
      assert.deepEqual(await counts(), { alice: [1, 2], bob: [0, 1], carol: [0, 0], all: [1, 3] });
      assert.equal(await store.count(undefined, 'stored', 2), 2);
      assert.equal(await store.count('alice', 'stored', 1), 1);
      await tasks.purge(first);
      assert.deepEqual((await counts()).all, [1, 2]);
    },
  );

  check('a refusal changes nothing', async ({ store, tasks }) => {
    const task = await tasks.create();
    const done = await tasks.end(task);
    await assert.rejects(tasks.end(task), { code: 'TASK_IS_DONE' });
    assert.deepEqual(await store.get(task.id), done.task);
  });

  check(
    'a rule that throws changes nothing and does not affect commands that run at the same time',
    async ({ store, tasks }) => {
      const task = await tasks.create();
      const broken = store.update('task', task.id, () => {
        throw new Error('A bug in a rule.');
      });
      const sound = tasks.create();
      await assert.rejects(broken, /A bug in a rule/);
      assert.deepEqual(await store.get((await sound).id), await sound);
      assert.deepEqual(await store.get(task.id), task);
    },
  );

  check('commands sent at once are applied one after the other', async ({ tasks }) => {
    const { task, claim } = await tasks.claimed();
    const records = Array.from({ length: 200 }, (_, n) => tasks.record(claim, [n]));
    const versions = (await Promise.all(records)).map((change) => change.task.version);
    assert.deepEqual(
      versions,
      Array.from({ length: 200 }, (_, n) => task.version + n + 1),
    );
  });

  check('a journal keeps everything in commit order, the arguments first', async ({ store, tasks }) => {
    // These keys must not change the prototype of an object.
    const odd = JSON.parse('{"topic": "Ærø, 潮汐, 🌊", "__proto__": {"polluted": true}, "constructor": 1}');
    const { task, claim } = await tasks.claimed({ arguments: odd });
    await tasks.record(claim, ['one', { two: 2 }]);
    await tasks.record(claim, [null]);
    const wanted = [{ arguments: odd }, 'one', { two: 2 }, null];
    assert.equal(JSON.stringify(await store.journal(task.id)), JSON.stringify(wanted));
  });

  check('a command under a lost claim is refused', async ({ store, clock, tasks }) => {
    const { task, claim } = await tasks.claimed();
    await tasks.record(claim, ['before']);
    clock.advance(20_000);
    await tasks.claimOne(task, 'thief', { name: 'worker' });
    await assert.rejects(tasks.record(claim, ['late']), { code: 'CLAIM_LOST' });
    assert.equal((await store.journal(task.id)).length, 2);
  });

  check('a list shows the roots of one owner, the newest first, page by page', async ({ store, tasks }) => {
    const made: Task[] = [];
    for (let n = 0; n < 7; n++) made.push(await tasks.create());
    await tasks.create({ owner: 'bob' });
    const { task, claim } = await tasks.claimed({ owner: 'bob' });
    await tasks.startChild(claim);

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
    await assert.rejects(store.list({ owner: 'alice', limit: 3, cursor: 'rubbish' }), /cursor/);
  });

  check(
    'tasks that are created or removed between two pages do not affect the next page',
    async ({ store, tasks }) => {
      const made: Task[] = [];
      for (let n = 0; n < 6; n++) made.push(await tasks.create(briefly));
      const first = await store.list({ owner: 'alice', limit: 2 });
      await tasks.create();
      await tasks.end(made[4]!);
      await tasks.purge(made[4]!);
      const second = await store.list({ owner: 'alice', limit: 2, cursor: first.nextCursor! });
      assert.deepEqual(ids(second.tasks), ids([made[3]!, made[2]!]));
    },
  );

  check(
    'a family is a task with its ancestors, nearest first, and its descendants, parents first',
    async ({ store, tasks }) => {
      const { task: root, claim } = await tasks.claimed();
      const children: Task[] = [];
      for (let n = 0; n < 12; n++) children.push(await tasks.startChild(claim));
      const [first] = children as [Task];
      const grandchild = await tasks.startChild(await tasks.claimOne(first));
      const middle = (await store.family(first.id))!;
      assert.deepEqual([ids(middle.ancestors), ids(middle.descendants)], [[root.id], [grandchild.id]]);
      const leaf = (await store.family(grandchild.id))!;
      assert.deepEqual([ids(leaf.ancestors), ids(leaf.descendants)], [[first.id, root.id], []]);
      assert.deepEqual(ids((await store.family(root.id))!.descendants), ids([...children, grandchild]));
      // `childIds` returns only direct subtasks, in the order of their start, also after they have ended.
      assert.deepEqual(await store.childIds(root.id), ids(children));
      assert.deepEqual(await store.childIds(first.id), [grandchild.id]);
      assert.deepEqual(await store.childIds(grandchild.id), []);
      assert.deepEqual(await store.childIds('nobody'), []);
      await tasks.end(root);
      assert.deepEqual(await store.childIds(root.id), ids(children));
    },
  );

  check(
    'a tree is cancelled and purged as a whole, subtasks before their parents',
    async ({ store, tasks }) => {
      const { task: root, claim } = await tasks.claimed(briefly);
      const child = await tasks.startChild(claim);
      const grandchild = await tasks.startChild(await tasks.claimOne(child));
      const tree = new Map([
        [grandchild.id, 'grandchild'],
        [child.id, 'child'],
        [root.id, 'root'],
      ]);
      const received: string[] = [];
      store.subscribe(({ taskId, events }) => {
        for (const { type } of events) received.push(`${tree.get(taskId)} ${type}`);
      });
      await tasks.end(root);
      for (const id of tree.keys()) assert.equal((await store.get(id))?.phase, 'done');
      await tasks.purge(root);
      for (const id of tree.keys()) {
        assert.equal(await store.get(id), undefined);
        assert.deepEqual(await store.journal(id), []);
      }
      const names = [...tree.values()];
      assert.deepEqual(received, [
        ...names.map((name) => `${name} finished`),
        ...names.map((name) => `${name} removed`),
      ]);
    },
  );

  check(
    'tasks past their deadline or retention are due, the oldest first',
    async ({ store, clock, tasks }) => {
      const late = await tasks.create({ deadlineMs: 2_000 });
      const later = await tasks.create({ deadlineMs: 3_000 });
      const never = await tasks.create({ deadlineMs: null, ...briefly });
      assert.deepEqual(await store.due('deadline', clock.now() + 1_999, 9), []);
      assert.deepEqual(await store.due('deadline', clock.now() + 9_999, 9), [late.id, later.id]);
      assert.deepEqual(await store.due('deadline', clock.now() + 9_999, 1), [late.id]);
      await tasks.end(never);
      assert.deepEqual(await store.due('purge', clock.now() + 999, 9), []);
      assert.deepEqual(await store.due('purge', clock.now() + 1_000, 9), [never.id]);
      await tasks.end(late);
      assert.deepEqual(await store.due('deadline', clock.now() + 9_999, 9), [later.id]);
    },
  );

  check(
    'a subscriber receives every commit with its tree, in order, and can read the task',
    async ({ store, tasks }) => {
      const received: CommittedChange[] = [];
      const readable: Promise<boolean>[] = [];
      const stop = store.subscribe((notice) => {
        received.push(notice);
        // A later version may have been committed before the read, so the version may be higher.
        readable.push(store.get(notice.taskId).then((task) => task!.version >= notice.version));
      });
      const { task, claim } = await tasks.claimed();
      const child = await tasks.startChild(claim);
      stop();
      await tasks.end(task);
      assert.deepEqual(
        received.map(({ taskId, rootId, version, events }) => [taskId, rootId, version, ...events]),
        [
          [task.id, task.id, 1, { type: 'created' }],
          [task.id, task.id, 2, { type: 'claimed', epoch: 1, worker: 'worker' }],
          [child.id, task.id, 1, { type: 'created' }],
          [task.id, task.id, 3, { type: 'childStarted', childId: child.id }],
        ],
      );
      assert.ok((await Promise.all(readable)).every(Boolean));
    },
  );

  check('large values are read back completely', async ({ store, tasks }) => {
    const text = 'x'.repeat(3_000_000);
    const { task, claim } = await tasks.claimed({ arguments: { text } });
    await tasks.complete(claim, { kind: 'result', isError: false, value: { text } });
    assert.deepEqual(await store.journal(task.id), [{ arguments: { text } }]);
    const done = await store.get(task.id);
    assert.ok(done?.phase === 'done' && done.outcome.kind === 'result');
    assert.deepEqual(done.outcome.value, { text });
  });

  check(
    'a store finishes its open commands when it closes, and rejects later ones',
    async ({ store, close, tasks }) => {
      const last = tasks.create();
      await close();
      await last;
      await assert.rejects(store.get('any'), { code: 'STORE_CLOSED' });
      await assert.rejects(tasks.create(), { code: 'STORE_CLOSED' });
      await close();
    },
  );

  checkShared(
    'other processes read a commit at once, and also after the process has ended',
    async (bench) => {
      const { store, close, tasks, again } = bench;
      const other = await again();
      const { task, claim } = await tasks.claimed();
      assert.deepEqual(await other.store.get(task.id), task);
      const { task: moved } = await other.tasks.record(claim, ['from the other']);
      assert.deepEqual(await store.get(task.id), moved);
      for (const database of [{ close }, other]) await database.close();
      assert.deepEqual(await (await again()).store.get(task.id), moved);
    },
  );

  checkShared('a subscriber receives the commits of other processes', async ({ store, again }) => {
    const other = await again();
    const received = Promise.withResolvers<void>();
    const versions: number[] = [];
    store.subscribe(({ version }) => {
      versions.push(version);
      if (version === 22) received.resolve();
    });
    const { claim } = await other.tasks.claimed();
    for (let n = 0; n < 20; n++) await other.tasks.record(claim, [n]);
    await received.promise;
    assert.deepEqual(
      versions,
      Array.from({ length: 22 }, (_, n) => n + 1),
    );
  });
}

// --- Creation -----------------------------------------------------------------------------------------------

function testCreation(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check(
    'the same idempotency key returns the same task, even to concurrent commands',
    async ({ store, tasks }) => {
      const made = await Promise.all(Array.from({ length: 20 }, () => createWithKey(tasks, 'alice')));
      assert.equal(new Set(ids(made)).size, 1);
      assert.equal((await store.list({ owner: 'alice', limit: 10 })).tasks.length, 1);
      // The same key for another owner or another tool is a different key.
      const others = [await createWithKey(tasks, 'bob'), await createWithKey(tasks, 'alice', 'another_tool')];
      assert.equal(new Set(ids([...made, ...others])).size, 3);
    },
  );

  check(
    'a rule that creates a task with an existing id receives the existing task',
    async ({ store, clock, tasks }) => {
      const request = aTask();
      const seen: (Task | undefined)[] = [];
      const make = () =>
        store.create({ id: request.id }, (existing) => {
          seen.push(existing);
          return rules.create(existing, request, clock.now());
        });
      const { task } = await make();
      await assert.rejects(make(), { code: 'TASK_EXISTS' });
      assert.deepEqual([seen[0], seen.at(-1)], [undefined, task]);
      const other = createWithId(tasks, { ...request, owner: 'bob', tool: 'another_tool' });
      await assert.rejects(other, { code: 'TASK_EXISTS' });
      assert.deepEqual(await store.get(task.id), task);
    },
  );

  check(
    'of concurrent commands that create a task with the same id, one succeeds',
    async ({ store, tasks }) => {
      const request = aTask();
      await expectOneCreated(Array.from({ length: 20 }, () => createWithId(tasks, request)));
      assert.equal((await store.list({ owner: request.owner, limit: 10 })).tasks.length, 1);
      assert.equal((await store.get(request.id))?.version, 1);
    },
  );

  checkShared('an idempotency key holds between processes', async ({ tasks, again }) => {
    const { tasks: other } = await again();
    const made = await Promise.all([tasks, other, tasks, other].map((one) => createWithKey(one, 'alice')));
    assert.equal(new Set(ids(made)).size, 1);
  });

  checkShared(
    'of several processes that create a task with the same id, one succeeds',
    async ({ tasks, again }) => {
      const { tasks: other } = await again();
      const request = aTask();
      await expectOneCreated([tasks, other, tasks, other].map((one) => createWithId(one, request)));
    },
  );
}

/** Expects that one attempt succeeds and all others are refused with `TASK_EXISTS`. */
async function expectOneCreated(attempts: readonly Promise<Task>[]): Promise<void> {
  const made = await Promise.allSettled(attempts);
  assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const one of made) if (one.status === 'rejected') assert.ok(hasCode(one.reason, 'TASK_EXISTS'));
}

function createWithId(tasks: StoreCommands, request: NewTask): Promise<Task> {
  return tasks.create(request, { id: request.id });
}

function createWithKey(tasks: StoreCommands, owner: string, tool = 'a_tool'): Promise<Task> {
  const idempotency = { key: 'once', argumentsDigest: 'same' };
  return tasks.create({ owner, tool, idempotency }, { owner, tool, key: 'once' });
}
