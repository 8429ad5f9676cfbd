import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test, vi } from 'vitest';
import * as rules from '../../engine/rules/transitions.ts';
import { claimTasks } from '../../engine/worker/claiming.ts';
import { aTask } from '../../testing/fixtures.ts';
import { ManualClock } from '../../testing/manual-clock.ts';
import { StoreCommands } from '../../testing/stores/store-commands.ts';
import type { Place } from '../../testing/stores/suite.ts';
import { testAudit, testCalls, testSecrets, testSessions } from '../../testing/stores/test-ports.ts';
import { testQueue } from '../../testing/stores/test-queue.ts';
import { testStore } from '../../testing/stores/test-store.ts';
import { connect } from './driver.ts';
import { openSqlite } from './open.ts';
import { FairOrder } from './queue/fair-order.ts';

async function file(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  return {
    open: (clock) => openSqlite(join(folder, 'tasks.db'), { clock }),
    remove: () => rm(folder, { recursive: true }),
  };
}

async function memory(): Promise<Place> {
  return { open: (clock) => openSqlite('memory:', { clock }), remove: async () => {} };
}

const notShared = 'a database in memory belongs to one connection';

describe('the store in a SQLite file', () => testStore({ test, place: file }));
describe('the store in memory', () => testStore({ test, place: memory, notShared }));
describe('the secrets in a SQLite file', () => testSecrets({ test, place: file }));
describe('the secrets in memory', () => testSecrets({ test, place: memory, notShared }));
describe('the sessions in a SQLite file', () => testSessions({ test, place: file }));
describe('the sessions in memory', () => testSessions({ test, place: memory, notShared }));
describe('the plain calls in a SQLite file', () => testCalls({ test, place: file }));
describe('the plain calls in memory', () => testCalls({ test, place: memory, notShared }));
describe('the audit log in a SQLite file', () => testAudit({ test, place: file }));
describe('the audit log in memory', () => testAudit({ test, place: memory, notShared }));
describe('the queue in a SQLite file', () => testQueue({ test, place: file }));
describe('the queue in memory', () => testQueue({ test, place: memory, notShared }));

test.each(['memory:', ':memory:'])('%s is in memory, not a file', async (location) => {
  const one = await openSqlite(location);
  const other = await openSqlite(location);
  const request = aTask();
  await one.store.create(undefined, () => rules.create(undefined, request, 0));
  expect(await one.store.get(request.id)).toMatchObject({ id: request.id });
  expect(await other.store.get(request.id)).toBeUndefined();
  await one.close();
  await other.close();
});

test('a task is claimed once if another process makes it ready while it is selected', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  const file = join(folder, 'tasks.db');
  const database = await openSqlite(file);
  const request = aTask();
  const tools = [{ tool: request.tool, version: request.toolVersion }];
  const claim = () => claimTasks(database, { tools, limit: 5, leaseMs: 15_000, now: Date.now });
  await database.store.create(undefined, () => rules.create(undefined, request, 0));
  const [held] = await claim();
  const given = { seenVersion: held!.task.version, until: 1 };
  await database.store.update('task', request.id, (task) => rules.park(task, held!.claim, given, 1));

  const db = connect(file);
  const other = new FairOrder(db);
  const { next } = FairOrder.prototype;
  const selecting = vi.spyOn(FairOrder.prototype, 'next').mockImplementationOnce(function (
    this: FairOrder,
    ...asked
  ) {
    other.enqueueDue(tools, Date.now());
    return next.apply(this, asked);
  });
  expect(await claim()).toMatchObject([{ claim: { taskId: request.id, epoch: 2 } }]);
  selecting.mockRestore();
  db.close();
  await database.close();
  await rm(folder, { recursive: true });
});

describe('a large result in SQLite', () => {
  const large = { content: [{ type: 'text', text: 'x'.repeat(300_000) }] };
  const result = { kind: 'result', isError: false, value: large } as const;
  const worker = { name: 'me', leaseMs: 15_000 };

  test('is read with its task and omitted from lists', async () => {
    const { store, close } = await openSqlite('memory:');
    const request = aTask();
    const claim = { taskId: request.id, epoch: 1 };
    await store.create(undefined, () => rules.create(undefined, request, 0, worker));
    await store.update('lineage', request.id, (lineage) => rules.complete(lineage, claim, result, 1));
    expect(await store.get(request.id)).toMatchObject({ phase: 'done', outcome: result });
    const { tasks } = await store.list({ owner: request.owner, limit: 1 });
    expect(tasks[0]).toMatchObject({
      phase: 'done',
      outcome: { kind: 'result', isError: false, value: null },
    });
    await close();
  });

  test('that waits for a subtask is readable after the subtask is done', async () => {
    const { store, close } = await openSqlite('memory:');
    const [parent, child] = [aTask(), aTask()];
    const claim = { taskId: parent.id, epoch: 1 };
    await store.create(undefined, () => rules.create(undefined, parent, 0, worker));
    await store.update('task', parent.id, (task) => rules.startChild(task, claim, child, 1));
    await store.update('lineage', parent.id, (lineage) => rules.complete(lineage, claim, result, 2));
    await store.update('family', child.id, (family) => rules.cancel(family, 3));
    expect(await store.get(parent.id)).toMatchObject({ phase: 'done', outcome: result });
    await close();
  });
});

test('commits of removed tasks are deleted after an hour, some with each removal', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  const clock = new ManualClock();
  const database = await openSqlite(join(folder, 'tasks.db'), { clock });
  const tasks = new StoreCommands(database, clock);
  const removeOne = async () => {
    const task = await tasks.create();
    await tasks.end(task);
    await tasks.act('family', task, (family, at) => rules.remove(family, at));
  };
  const reader = new DatabaseSync(join(folder, 'tasks.db'), { readOnly: true });
  const removals = () => reader.prepare('select count(*) as n from commits where task is null').get()!.n;
  for (let n = 0; n < 300; n++) await removeOne();
  expect(removals()).toBe(300);
  clock.advance(2 * 3_600_000);
  const left: unknown[] = [];
  for (let n = 0; n < 4; n++) {
    await removeOne();
    left.push(removals());
  }
  expect(left).toEqual([200, 100, 3, 4]);
  reader.close();
  await database.close();
  await rm(folder, { recursive: true });
});
