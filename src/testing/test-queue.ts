/** The examination that every `Queue` takes, together with the store that it serves. */
import assert from 'node:assert/strict';
import { type ClaimRequest, claimTasks } from '../engine/claims.ts';
import type { Claimed, Database, FreedHolder } from '../engine/queue.ts';
import * as rules from '../engine/transitions.ts';
import { NotClaimable } from '../model/errors.ts';
import { pause } from '../model/runtime.ts';
import type { NewTask } from '../model/task.ts';
import { aTask } from './fixtures.ts';
import type { ManualClock } from './manual-clock.ts';
import { checks, type SuiteOptions } from './suite.ts';

const leaseMs = 15_000;
const shortLeaseMs = 100;
const stepMs = 20;
const tools = [
  { tool: 'publish_report', version: '1' },
  { tool: 'summarise', version: '1' },
];

export function testQueue(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('new tasks are claimed in the order in which they came', async ({ database, clock }) => {
    const made: string[] = [];
    for (let n = 0; n < 5; n++) {
      made.push(await create(database, clock));
      clock.advance(10);
    }
    const first = await claim(database, clock, { limit: 3 });
    const rest = await claim(database, clock, { limit: 3 });
    assert.deepEqual(
      [...first, ...rest].map(({ task }) => task.id),
      made,
    );
    assert.deepEqual(await claim(database, clock), []);
  });

  check('what a claim changed is returned, whatever the rule made of each task', async (bench) => {
    const { database, clock } = bench;
    const [first, second, third] = [
      await create(database, clock),
      await create(database, clock),
      await create(database, clock),
    ];
    const broken = new TypeError('This rule is broken.');
    const { claimed, failed } = await database.store.claim(
      { tools, limit: 9, running: new Set(), except: new Set() },
      (task, freed) => {
        if (task.id === first) return new NotClaimable(task.id, 'parked');
        if (task.id === second) throw broken;
        return rules.claim(task, { name: database.queue.name, leaseMs }, clock.now(), freed);
      },
    );
    assert.deepEqual(
      claimed.map(({ change }) => change.task.id),
      [third],
    );
    assert.deepEqual(failed, [{ taskId: second, error: broken }]);
    assert.deepEqual(ids(await claim(database, clock)), [first, second]);
  });

  check('a claim begins a pass: the task runs under a new epoch', async ({ database, clock }) => {
    await create(database, clock);
    const [claimed] = await claim(database, clock);
    assert.equal(claimed?.task.phase, 'running');
    assert.deepEqual(claimed?.claim, { taskId: claimed?.task.id, epoch: 1 });
  });

  check('tools take turns by how long their tasks have waited', async ({ database, clock }) => {
    const made: string[] = [];
    for (let n = 0; n < 6; n++) {
      made.push(await create(database, clock, { tool: tools[n % 2]!.tool }));
      clock.advance(10);
    }
    const claimed = await claim(database, clock, { limit: 4 });
    assert.deepEqual(ids(claimed), made.slice(0, 4));
  });

  check('a worker is offered only tools and versions that it knows', async ({ database, clock }) => {
    await create(database, clock, { tool: 'somebody_elses' });
    await create(database, clock, { toolVersion: '2' });
    const mine = await create(database, clock);
    assert.deepEqual(ids(await claim(database, clock)), [mine]);
  });

  check('a task that none of the known tools can run is found after a while', async ({ database, clock }) => {
    const strange = await create(database, clock, { tool: 'somebody_elses' });
    await create(database, clock);
    clock.advance(1_000);
    const { queue } = database;
    assert.deepEqual(await queue.orphans(tools, clock.now() - 1_001, 9), []);
    assert.deepEqual(await queue.orphans(tools, clock.now() - 1_000, 9), [strange]);
    assert.deepEqual(
      await queue.orphans([{ tool: 'somebody_elses', version: '1' }, ...tools], clock.now(), 9),
      [],
    );
  });

  check(
    'a held task is not offered while its lease runs, and is when it has run out',
    async ({ database, clock }) => {
      const id = await create(database, clock);
      await claim(database, clock, { leaseMs: shortLeaseMs });
      assert.deepEqual(await claim(database, clock), []);
      assert.deepEqual(ids(await claimed(database, clock)), [id]);
    },
  );

  check(
    'a renewed lease keeps the task, and a lost claim is reported as lost',
    async ({ database, clock }) => {
      await create(database, clock);
      const [first] = await claim(database, clock, { leaseMs: shortLeaseMs });
      assert.deepEqual(await database.queue.renew([first!.claim], leaseMs), []);
      for (let passed = 0; passed < shortLeaseMs * 3; passed += stepMs) {
        await aMoment(clock);
        assert.deepEqual(await claim(database, clock), []);
      }
      assert.deepEqual(await database.queue.renew([first!.claim], shortLeaseMs), []);
      const [second] = await claimed(database, clock);
      assert.deepEqual(await database.queue.renew([first!.claim, second!.claim], leaseMs), [first!.claim]);
    },
  );

  check('a claim that is renewed twice at once is not lost', async ({ database, clock }) => {
    await create(database, clock);
    const [held] = await claim(database, clock);
    const lost = { ...held!.claim, epoch: 9 };
    const claims = [held!.claim, lost, held!.claim];
    assert.deepEqual(await database.queue.renew(claims, leaseMs), [lost]);
  });

  check('whether a lease has expired is no matter of the wall clock', async ({ database, clock }) => {
    await create(database, clock);
    await claim(database, clock);
    for (const ms of [86_400_000, 3_600_000, -172_800_000]) {
      clock.set(ms);
      assert.deepEqual(await claim(database, clock), []);
    }
  });

  check('a ready task is offered however far the clock is set back', async ({ database, clock }) => {
    const id = await create(database, clock);
    clock.set(-86_400_000);
    const [first] = await claim(database, clock);
    assert.equal(first?.task.id, id);
    await database.store.update('task', id, (task) => rules.release(task, first!.claim, clock.now()));
    clock.set(-86_400_000);
    assert.deepEqual(ids(await claim(database, clock)), [id]);
  });

  check(
    'a task that is free again is claimed, although its last run has not quite ended here',
    async (bench) => {
      const { database, clock } = bench;
      const id = await create(database, clock);
      const running = { ids: new Set([id]), hasStep: () => false };
      assert.deepEqual(ids(await claim(database, clock, { running })), [id]);
    },
  );

  check('what this process is running it does not claim, whatever became of its lease', async (bench) => {
    const { database, clock } = bench;
    const id = await create(database, clock);
    await claim(database, clock, { leaseMs: shortLeaseMs });
    const running = { ids: new Set([id]), hasStep: () => false };
    for (let passed = 0; passed < shortLeaseMs * 3; passed += stepMs) {
      await aMoment(clock);
      assert.deepEqual(await claim(database, clock, { running }), []);
    }
  });

  checkShared('workers that come and go see a lease expire as well', async ({ database, clock, again }) => {
    const other = await again();
    await create(database, clock);
    await claim(database, clock, { leaseMs: shortLeaseMs });
    for (let found: readonly FreedHolder[] = []; found.length === 0; ) {
      const stop = other.queue.onWork(() => {});
      await aMoment(clock);
      found = await freedHolders(other);
      stop();
    }
  });

  checkShared('a claim that was renewed after its lease expired is not taken', async (bench) => {
    const { database, clock, again } = bench;
    const other = await again();
    const id = await create(database, clock);
    const [held] = await claim(database, clock, { leaseMs: shortLeaseMs });
    let freed: FreedHolder | undefined;
    while (!freed) {
      await aMoment(clock);
      [freed] = await freedHolders(other);
    }
    assert.deepEqual(await database.queue.renew([held!.claim], leaseMs), []);
    const take = other.store.update('task', id, (task) =>
      rules.claim(task, { name: other.queue.name, leaseMs }, clock.now(), freed),
    );
    await assert.rejects(take, NotClaimable);
    assert.deepEqual(await claim(await again(), clock), []);
  });

  checkShared('a dead process keeps no other task from running alone', async ({ database, clock, again }) => {
    const other = await again();
    await create(database, clock);
    const [dying] = await claim(other, clock);
    assert.equal(await other.queue.isolate(dying!.claim), true);
    await create(database, clock);
    const [living] = await claim(database, clock);
    assert.equal(await database.queue.isolate(living!.claim), false);
    await other.close();
    while (!(await database.queue.isolate(living!.claim))) await aMoment(clock);
  });

  check('of all tasks one at a time may run alone, for as long as it is held', async (bench) => {
    const { database, clock } = bench;
    const made = [await create(database, clock), await create(database, clock)];
    const [first, second] = await claim(database, clock, { limit: 2 });
    const { queue } = database;
    assert.equal(await queue.isolate(first!.claim), true);
    assert.equal(await queue.isolate(first!.claim), true, 'a task that has it already keeps it');
    assert.equal(await queue.isolate(second!.claim), false);
    assert.equal(await queue.isolate({ ...first!.claim, epoch: 9 }), false);
    await database.store.update('task', made[0]!, (task) => rules.release(task, first!.claim, clock.now()));
    assert.equal(await queue.isolate(second!.claim), true);
  });

  check(
    'a parked task sleeps until its time, and a released one is free at once',
    async ({ database, clock }) => {
      const id = await create(database, clock);
      const [first] = await claim(database, clock);
      await park(database, clock, first!, clock.now() + 500);
      clock.advance(499);
      assert.deepEqual(await claim(database, clock), []);
      clock.advance(1);
      const [second] = await claim(database, clock);
      await database.store.update('task', id, (task) => rules.release(task, second!.claim, clock.now()));
      assert.deepEqual(ids(await claim(database, clock)), [id]);
    },
  );

  check('an answer wakes a task that is parked on a question', async ({ database, clock }) => {
    const id = await create(database, clock);
    const [first] = await claim(database, clock);
    const { task } = await database.store.update('task', id, (now) =>
      rules.ask(now, first!.claim, { key: 'roots', request: { kind: 'roots' } }, clock.now()),
    );
    await park(database, clock, { ...first!, task }, null);
    clock.advance(3_600_000);
    assert.deepEqual(await claim(database, clock), []);
    await database.store.update('task', id, (now) =>
      rules.answer(now, { roots: { roots: [] } }, clock.now()),
    );
    assert.deepEqual(ids(await claim(database, clock)), [id]);
  });

  check('a subtask that ends wakes its parent', async ({ database, clock }) => {
    const id = await create(database, clock);
    const [parent] = await claim(database, clock);
    const child = aTask({ tool: 'summarise' });
    const { task } = await database.store.update('task', id, (now) =>
      rules.startChild(now, parent!.claim, child, clock.now()),
    );
    await park(database, clock, { ...parent!, task }, null);
    assert.deepEqual(ids(await claim(database, clock)), [child.id]);
    await database.store.update('family', child.id, (family) => rules.cancel(family, clock.now()));
    assert.deepEqual(ids(await claim(database, clock)), [id]);
  });

  check('work is announced when it is created', async ({ database, clock }) => {
    const announced = work(database);
    await create(database, clock);
    await announced;
  });

  check('work is announced when a timer comes due', async ({ database, clock }) => {
    await create(database, clock);
    const [claimed] = await claim(database, clock);
    await park(database, clock, claimed!, clock.now() + 60);
    const announced = work(database);
    await claim(database, clock);
    clock.advance(60);
    await announced;
    assert.deepEqual(ids(await claim(database, clock)), [claimed!.task.id]);
  });

  check('the backlog counts what could run and what waits for people, up to a limit', async (bench) => {
    const { database, clock } = bench;
    const backlog = (most: number) => database.queue.backlog(tools, most);
    assert.deepEqual(await backlog(10), { ready: 0, readySince: null, waiting: 0 });
    const since = clock.now();
    for (let n = 0; n < 4; n++) {
      await create(database, clock, { tool: tools[n % 2]!.tool });
      clock.advance(10);
    }
    await create(database, clock, { tool: 'somebody_elses' });
    assert.deepEqual(await backlog(10), { ready: 4, readySince: since, waiting: 0 });
    assert.deepEqual(await backlog(3), { ready: 3, readySince: since, waiting: 0 });
    const [first] = await claim(database, clock, { limit: 1 });
    assert.deepEqual(await backlog(10), { ready: 3, readySince: since + 10, waiting: 0 });
    const { task } = await database.store.update('task', first!.task.id, (now) =>
      rules.ask(now, first!.claim, { key: 'roots', request: { kind: 'roots' } }, clock.now()),
    );
    await park(database, clock, { ...first!, task }, null);
    assert.deepEqual(await backlog(10), { ready: 3, readySince: since + 10, waiting: 1 });
    await database.store.update('family', task.id, (family) => rules.cancel(family, clock.now()));
    assert.deepEqual(await backlog(10), { ready: 3, readySince: since + 10, waiting: 0 });
  });

  check('the backlog finds the longest ready, however many are counted before it', async (bench) => {
    const { database, clock } = bench;
    const since = clock.now();
    await create(database, clock, { owner: 'zoe' });
    clock.advance(10);
    for (let n = 0; n < 3; n++) await create(database, clock);
    const backlog = await database.queue.backlog(tools, 2);
    assert.deepEqual(backlog, { ready: 2, readySince: since, waiting: 0 });
  });

  check('a done task is never offered again', async ({ database, clock }) => {
    const id = await create(database, clock);
    await claim(database, clock);
    await database.store.update('family', id, (family) => rules.cancel(family, clock.now()));
    clock.advance(leaseMs * 2);
    assert.deepEqual(await claim(database, clock), []);
  });

  checkShared('two workers never hold the same task', async ({ database, clock, again }) => {
    const other = await again();
    for (let n = 0; n < 40; n++) await create(database, clock);
    const [mine, theirs] = await Promise.all([
      claim(database, clock, { limit: 30 }),
      claim(other, clock, { limit: 30 }),
    ]);
    const all = [...ids(mine), ...ids(theirs)];
    assert.equal(new Set(all).size, all.length);
    const rest = await claim(other, clock, { limit: 40 });
    assert.equal(new Set([...all, ...ids(rest)]).size, 40);
  });

  checkShared('work that one process creates is announced to another', async ({ database, clock, again }) => {
    const other = await again();
    const announced = work(other);
    const id = await create(database, clock);
    await announced;
    assert.deepEqual(ids(await claim(other, clock)), [id]);
  });

  checkShared('what a process that is gone had claimed is free for the others at once', async (bench) => {
    const { database, clock, again } = bench;
    const id = await create(database, clock);
    const other = await again();
    const [held] = await claim(other, clock);
    assert.deepEqual(held!.task.id, id);
    assert.deepEqual(await claim(database, clock), []);
    // If it had got nowhere it would rest first.
    await other.store.update('task', id, (task) => rules.record(task, held!.claim, ['entry'], clock.now()));
    await other.close();
    const announced = work(database);
    clock.advance(1_000);
    await announced;
    assert.deepEqual(ids(await claim(database, clock)), [id]);
  });
}

async function create(
  database: Database,
  clock: ManualClock,
  request: Partial<NewTask> = {},
): Promise<string> {
  const { task } = await database.store.create(undefined, () =>
    rules.create(undefined, aTask(request), clock.now()),
  );
  return task.id;
}

function claim(
  database: Database,
  clock: ManualClock,
  request: Partial<ClaimRequest> = {},
): Promise<Claimed[]> {
  return claimTasks(database, { tools, limit: 10, leaseMs, now: () => clock.now(), ...request });
}

/** Holders that lost their right, as the rule is told; it refuses, so that nothing is claimed. */
async function freedHolders({ store }: Database): Promise<FreedHolder[]> {
  const found: FreedHolder[] = [];
  await store.claim({ tools, limit: 1, running: new Set(), except: new Set() }, (task, freed) => {
    if (freed) found.push(freed);
    return new NotClaimable(task.id, 'parked');
  });
  return found;
}

/** Lets time pass on every clock that a store may go by. */
async function aMoment(clock: ManualClock): Promise<void> {
  await pause(stepMs);
  clock.advance(stepMs);
}

/** Waits until something can be claimed. */
async function claimed(database: Database, clock: ManualClock): Promise<Claimed[]> {
  for (;;) {
    const some = await claim(database, clock);
    if (some.length > 0) return some;
    await aMoment(clock);
  }
}

function park(database: Database, clock: ManualClock, { claim, task }: Claimed, until: number | null) {
  const seenVersion = task.version;
  return database.store.update('task', task.id, (now) =>
    rules.park(now, claim, { seenVersion, until }, clock.now()),
  );
}

function work({ queue }: Database): Promise<void> {
  return new Promise((resolve) => {
    const stop = queue.onWork(() => {
      stop();
      resolve();
    });
  });
}

function ids(claimed: readonly Claimed[]): string[] {
  return claimed.map(({ task }) => task.id);
}
