/** The test suite for every `Queue`, together with the store of its database. */
import assert from 'node:assert/strict';
import * as rules from '../../engine/rules/transitions.ts';
import { refusal } from '../../model/errors.ts';
import type { TaskId } from '../../model/task.ts';
import type { Claimed, Database, FreedWorker, Queue } from '../../ports/queue.ts';
import { pause } from '../../runtime/runtime.ts';
import type { ManualClock } from '../manual-clock.ts';
import { leaseMs, type StoreCommands, tools } from './store-commands.ts';
import { checks, type SuiteOptions } from './suite.ts';

/** A lease that expires within a test. */
const shortLeaseMs = 100;
/** How far `aMoment` moves each clock. */
const stepMs = 20;

export function testQueue(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('new tasks are claimed in the order of their creation, under an epoch', async ({ clock, tasks }) => {
    const made: TaskId[] = [];
    for (let n = 0; n < 5; n++) {
      made.push((await tasks.create()).id);
      clock.advance(10);
    }
    const first = await tasks.claim({ limit: 3 });
    const rest = await tasks.claim({ limit: 3 });
    assert.deepEqual(ids([...first, ...rest]), made);
    assert.deepEqual(await tasks.claim(), []);
    const [claimed] = first;
    assert.equal(claimed?.task.phase, 'running');
    assert.deepEqual(claimed?.claim, { taskId: claimed?.task.id, epoch: 1 });
  });

  check(
    'committed claims are returned even if the rule refuses or throws for other tasks',
    async ({ store, queue, clock, tasks }) => {
      const [first, second, third] = [await tasks.create(), await tasks.create(), await tasks.create()];
      const broken = new TypeError('This rule is broken.');
      const { claimed, failed } = await store.claim(
        { tools, limit: 9, running: new Set(), except: new Set() },
        (task, freed) => {
          if (task.id === first.id) return refusal('NOT_CLAIMABLE', task.id, 'parked');
          if (task.id === second.id) throw broken;
          return rules.claim(task, { name: queue.name, leaseMs }, clock.now(), freed);
        },
      );
      assert.deepEqual(
        claimed.map(({ change }) => change.task.id),
        [third.id],
      );
      assert.deepEqual(failed, [{ taskId: second.id, error: broken }]);
      assert.deepEqual(ids(await tasks.claim()), [first.id, second.id]);
    },
  );

  check('tasks of several tools are claimed in the order of their creation', async ({ clock, tasks }) => {
    const made: TaskId[] = [];
    for (let n = 0; n < 6; n++) {
      made.push((await tasks.create({ tool: tools[n % 2]!.tool })).id);
      clock.advance(10);
    }
    const claimed = await tasks.claim({ limit: 4 });
    assert.deepEqual(ids(claimed), made.slice(0, 4));
  });

  check(
    'a worker claims only tasks of its tools, and tasks of unknown tools are reported after a while',
    async (bench) => {
      const { queue, clock, tasks } = bench;
      const { id: strange } = await tasks.create({ tool: 'somebody_elses' });
      await tasks.create({ toolVersion: '2' });
      const { id: mine } = await tasks.create();
      clock.advance(1_000);
      assert.deepEqual(await queue.orphans(tools, clock.now() - 1_001, 9), []);
      const version2 = { tool: 'publish_report', version: '2' };
      assert.deepEqual(await queue.orphans([...tools, version2], clock.now() - 1_000, 9), [strange]);
      const all = [...tools, version2, { tool: 'somebody_elses', version: '1' }];
      assert.deepEqual(await queue.orphans(all, clock.now(), 9), []);
      assert.deepEqual(ids(await tasks.claim()), [mine]);
    },
  );

  check(
    'a claimed task can be claimed by others only after its lease has expired',
    async ({ clock, tasks }) => {
      const { id } = await tasks.create();
      await tasks.claim({ leaseMs: shortLeaseMs });
      assert.deepEqual(await tasks.claim(), []);
      assert.deepEqual(ids(await claimable(tasks, clock)), [id]);
    },
  );

  check(
    'a renewed lease protects the task, and a lost claim is reported',
    async ({ queue, clock, tasks }) => {
      await tasks.create();
      const [first] = await tasks.claim({ leaseMs: shortLeaseMs });
      assert.deepEqual(await queue.renew([first!.claim], leaseMs), []);
      await expectNoneFor(shortLeaseMs * 3, clock, () => tasks.claim());
      // A claim can be renewed twice in one call.
      const lost = { ...first!.claim, epoch: 9 };
      assert.deepEqual(await queue.renew([first!.claim, lost, first!.claim], shortLeaseMs), [lost]);
      const [second] = await claimable(tasks, clock);
      assert.deepEqual(await queue.renew([first!.claim, second!.claim], leaseMs), [first!.claim]);
    },
  );

  check('leases do not depend on the wall clock', async ({ clock, tasks }) => {
    await tasks.create();
    await tasks.claim();
    for (const ms of [86_400_000, 3_600_000, -172_800_000]) {
      clock.set(ms);
      assert.deepEqual(await tasks.claim(), []);
    }
  });

  check('a ready task can be claimed even if the clock is set back', async ({ clock, tasks }) => {
    const { id } = await tasks.create();
    clock.set(-86_400_000);
    const [first] = await tasks.claim();
    assert.equal(first?.task.id, id);
    await tasks.release(first!.claim);
    clock.set(-86_400_000);
    assert.deepEqual(ids(await tasks.claim()), [id]);
  });

  check(
    'a process claims a task that it still runs if the task is free, but does not take it from itself',
    async (bench) => {
      const { clock, tasks } = bench;
      const { id } = await tasks.create();
      const running = { ids: new Set([id]), hasStep: () => false };
      // `running` lists a pass that is still ending here, although the task itself is free.
      assert.deepEqual(ids(await tasks.claim({ running, leaseMs: shortLeaseMs })), [id]);
      await expectNoneFor(shortLeaseMs * 3, clock, () => tasks.claim({ running }));
    },
  );

  checkShared(
    'workers that only listen briefly detect an expired lease, too',
    async ({ clock, tasks, again }) => {
      const other = await again();
      await tasks.create();
      await tasks.claim({ leaseMs: shortLeaseMs });
      for (let found: readonly FreedWorker[] = []; found.length === 0; ) {
        const stop = other.queue.onWork(() => {});
        await aMoment(clock);
        found = await freedWorkers(other);
        stop();
      }
    },
  );

  checkShared(
    'a claim that was renewed after its lease expired is not taken over',
    async ({ queue, clock, tasks, again }) => {
      const other = await again();
      const { id } = await tasks.create();
      const [held] = await tasks.claim({ leaseMs: shortLeaseMs });
      let freed: FreedWorker | undefined;
      while (!freed) {
        await aMoment(clock);
        [freed] = await freedWorkers(other);
      }
      assert.deepEqual(await queue.renew([held!.claim], leaseMs), []);
      await assert.rejects(other.tasks.claimOne({ id }, other.queue.name, freed), { code: 'NOT_CLAIMABLE' });
      assert.deepEqual(await (await again()).tasks.claim(), []);
    },
  );

  checkShared(
    'a dead process does not prevent other tasks from running alone',
    async ({ queue, clock, tasks, again }) => {
      const other = await again();
      await tasks.create();
      const [dying] = await other.tasks.claim();
      assert.equal(await other.queue.isolate(dying!.claim), true);
      await tasks.create();
      const [living] = await tasks.claim();
      assert.equal(await queue.isolate(living!.claim), false);
      await other.close();
      while (!(await queue.isolate(living!.claim))) await aMoment(clock);
    },
  );

  check('only one task at a time may run alone, until its claim ends', async ({ queue, tasks }) => {
    for (let n = 0; n < 2; n++) await tasks.create();
    const [first, second] = await tasks.claim({ limit: 2 });
    assert.equal(await queue.isolate(first!.claim), true);
    assert.equal(await queue.isolate(first!.claim), true, 'a task that already has the right keeps it');
    assert.equal(await queue.isolate(second!.claim), false);
    assert.equal(await queue.isolate({ ...first!.claim, epoch: 9 }), false);
    await tasks.release(first!.claim);
    assert.equal(await queue.isolate(second!.claim), true);
  });

  check(
    'a parked task can be claimed at its wake-up time, and a released one at once',
    async ({ clock, tasks }) => {
      const { id } = await tasks.create();
      const [first] = await tasks.claim();
      await tasks.park(first!.claim, clock.now() + 500);
      clock.advance(499);
      assert.deepEqual(await tasks.claim(), []);
      clock.advance(1);
      const [second] = await tasks.claim();
      await tasks.release(second!.claim);
      assert.deepEqual(ids(await tasks.claim()), [id]);
    },
  );

  check('an answer wakes a task that is parked on a question', async ({ clock, tasks }) => {
    const { id } = await tasks.create();
    const [first] = await tasks.claim();
    await tasks.ask(first!.claim);
    await tasks.park(first!.claim, null);
    clock.advance(3_600_000);
    assert.deepEqual(await tasks.claim(), []);
    await tasks.act('task', { id }, (task, at) => rules.answer(task, { roots: { roots: [] } }, at));
    assert.deepEqual(ids(await tasks.claim()), [id]);
  });

  check('a subtask that ends wakes its parent', async ({ tasks }) => {
    const { id } = await tasks.create();
    const [parent] = await tasks.claim();
    const child = await tasks.startChild(parent!.claim);
    await tasks.park(parent!.claim, null);
    assert.deepEqual(ids(await tasks.claim()), [child.id]);
    await tasks.end(child);
    assert.deepEqual(ids(await tasks.claim()), [id]);
  });

  check('work is announced when it is created, and when a timer comes due', async (bench) => {
    const { queue, clock, tasks } = bench;
    const created = work(queue);
    await tasks.create();
    await created;
    const [claimed] = await tasks.claim();
    await tasks.park(claimed!.claim, clock.now() + 60);
    const announced = work(queue);
    await tasks.claim();
    clock.advance(60);
    await announced;
    assert.deepEqual(ids(await tasks.claim()), [claimed!.task.id]);
  });

  check(
    'the backlog counts ready tasks and tasks with open questions, up to a limit',
    async ({ queue, clock, tasks }) => {
      const backlog = (max: number) => queue.backlog(tools, max);
      assert.deepEqual(await backlog(10), { ready: 0, readySince: null, waiting: 0 });
      const since = clock.now();
      for (let n = 0; n < 4; n++) {
        await tasks.create({ tool: tools[n % 2]!.tool });
        clock.advance(10);
      }
      await tasks.create({ tool: 'somebody_elses' });
      assert.deepEqual(await backlog(10), { ready: 4, readySince: since, waiting: 0 });
      assert.deepEqual(await backlog(3), { ready: 3, readySince: since, waiting: 0 });
      const [first] = await tasks.claim({ limit: 1 });
      assert.deepEqual(await backlog(10), { ready: 3, readySince: since + 10, waiting: 0 });
      await tasks.ask(first!.claim);
      await tasks.park(first!.claim, null);
      assert.deepEqual(await backlog(10), { ready: 3, readySince: since + 10, waiting: 1 });
      await tasks.end(first!.task);
      assert.deepEqual(await backlog(10), { ready: 3, readySince: since + 10, waiting: 0 });
    },
  );

  check(
    'the backlog finds the oldest ready task, however many are counted before it',
    async ({ queue, clock, tasks }) => {
      const since = clock.now();
      await tasks.create({ owner: 'zoe' });
      clock.advance(10);
      for (let n = 0; n < 3; n++) await tasks.create();
      const backlog = await queue.backlog(tools, 2);
      assert.deepEqual(backlog, { ready: 2, readySince: since, waiting: 0 });
    },
  );

  check('a finished task is never claimed again', async ({ clock, tasks }) => {
    const { id } = await tasks.create();
    await tasks.claim();
    await tasks.end({ id });
    clock.advance(leaseMs * 2);
    assert.deepEqual(await tasks.claim(), []);
  });

  checkShared('two workers never claim the same task', async ({ tasks, again }) => {
    const other = await again();
    for (let n = 0; n < 40; n++) await tasks.create();
    const [mine, theirs] = await Promise.all([tasks.claim({ limit: 30 }), other.tasks.claim({ limit: 30 })]);
    const all = [...ids(mine), ...ids(theirs)];
    assert.equal(new Set(all).size, all.length);
    const rest = await other.tasks.claim({ limit: 40 });
    assert.equal(new Set([...all, ...ids(rest)]).size, 40);
  });

  checkShared('work that one process creates is announced to another', async ({ tasks, again }) => {
    const other = await again();
    const announced = work(other.queue);
    const { id } = await tasks.create();
    await announced;
    assert.deepEqual(ids(await other.tasks.claim()), [id]);
  });

  checkShared(
    'other processes can claim the tasks of a dead process at once',
    async ({ queue, clock, tasks, again }) => {
      const { id } = await tasks.create();
      const other = await again();
      const [held] = await other.tasks.claim();
      assert.deepEqual(held!.task.id, id);
      assert.deepEqual(await tasks.claim(), []);
      // Without a journal entry, the task is suspected of killing its worker and pauses before its next pass.
      await other.tasks.record(held!.claim, ['entry']);
      await other.close();
      const announced = work(queue);
      clock.advance(1_000);
      await announced;
      assert.deepEqual(ids(await tasks.claim()), [id]);
    },
  );
}

/**
 * The workers that lost their claims, as the rule of a claim receives them. The rule refuses, so nothing is claimed.
 */
async function freedWorkers({ store }: Database): Promise<FreedWorker[]> {
  const found: FreedWorker[] = [];
  await store.claim({ tools, limit: 1, running: new Set(), except: new Set() }, (task, freed) => {
    if (freed) found.push(freed);
    return refusal('NOT_CLAIMABLE', task.id, 'parked');
  });
  return found;
}

/** Lets `stepMs` pass on the real clock and on the manual clock, because stores may use either. */
async function aMoment(clock: ManualClock): Promise<void> {
  await pause(stepMs);
  clock.advance(stepMs);
}

/** Expects that `claim` returns nothing, again and again for this time. */
async function expectNoneFor(ms: number, clock: ManualClock, claim: () => Promise<Claimed[]>): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await aMoment(clock);
    assert.deepEqual(await claim(), []);
  }
}

/** Claims repeatedly until something was claimed, and returns it. */
async function claimable(tasks: StoreCommands, clock: ManualClock): Promise<Claimed[]> {
  for (;;) {
    const some = await tasks.claim();
    if (some.length > 0) return some;
    await aMoment(clock);
  }
}

/** Resolves when the queue announces work. */
function work(queue: Queue): Promise<void> {
  return new Promise((resolve) => {
    const stop = queue.onWork(() => {
      stop();
      resolve();
    });
  });
}

function ids(claimed: readonly Claimed[]): TaskId[] {
  return claimed.map(({ task }) => task.id);
}
