/** Most commands are one statement, decided on what the process remembers. What it remembers wrongly must not matter. */
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import * as rules from '../../src/engine/rules/transitions.ts';
import { claimTasks } from '../../src/engine/worker/claiming.ts';
import { openPostgres } from '../../src/postgres.ts';
import { clientConfig } from '../../src/stores/postgres/connections/driver.ts';
import { Connections } from '../../src/stores/postgres/connections/pool.ts';
import { WriteLane } from '../../src/stores/postgres/connections/write-lanes.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { StoreCommands } from '../../src/testing/stores/store-commands.ts';
import { withCode } from '../kit/with-code.ts';
import { freshDatabase } from './database.ts';
import { query } from './server.ts';

const tools = [{ tool: 'publish_report', version: '1' }];
const outcome = { kind: 'result', isError: false, value: { content: [] } } as const;

/** A database, a process that has claimed its only task, and another beside it. */
async function aClaimedTask() {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  const clock = new ManualClock();
  const [holder, other] = [await openPostgres(url, { clock }), await openPostgres(url, { clock })];
  onTestFinished(() => holder.close());
  onTestFinished(() => other.close());
  await new StoreCommands(other, clock).create();
  const [taken] = await claimTasks(holder, { tools, limit: 1, leaseMs: 15_000, now: () => clock.now() });
  const { task, claim } = taken!;
  const record = (entry: number) =>
    holder.store.update('task', task.id, (now) => rules.record(now, claim, [entry], clock.now()));
  const complete = () =>
    holder.store.update('lineage', task.id, (lineage) =>
      rules.complete(lineage, claim, outcome, clock.now()),
    );
  return { url, clock, holder, other, id: task.id, claim, record, complete };
}

test('a row that was rewritten behind the back of its holder is read again', async () => {
  const { url, holder, id, record, complete } = await aClaimedTask();
  await record(1);
  await query(url, 'update holdfast.tasks set body = body');
  await record(2);
  await query(url, 'update holdfast.tasks set body = body');
  await complete();
  expect(await holder.store.journal(id)).toEqual([{ arguments: expect.anything() }, 1, 2]);
  expect((await holder.store.get(id))!.version).toBe(5);
});

test('what another process has decided meanwhile is what counts', async () => {
  const { clock, other, holder, id, record, complete } = await aClaimedTask();
  await record(1);
  await other.store.update('family', id, (family) => rules.cancel(family, clock.now()));
  await expect(complete()).rejects.toThrow(withCode('TASK_IS_DONE'));
  expect(await holder.store.get(id)).toMatchObject({ phase: 'done', outcome: { kind: 'cancelled' } });
});

test('a lease that is renewed on top of what another process wrote hides nothing of it', async () => {
  const { clock, other, holder, id, claim, record } = await aClaimedTask();
  await other.store.update('task', id, (now) => rules.record(now, claim, [1], clock.now()));
  expect(await holder.queue.renew([claim], 15_000)).toEqual([]);
  await record(2);
  expect(await holder.store.journal(id)).toEqual([{ arguments: expect.anything() }, 1, 2]);
});

test('commands on one task that come at the same time are all decided, one after the other', async () => {
  const { holder, id, record } = await aClaimedTask();
  await Promise.all(Array.from({ length: 20 }, (_, entry) => record(entry)));
  const [, ...entries] = await holder.store.journal(id);
  expect(entries).toEqual(Array.from({ length: 20 }, (_, entry) => entry));
});

test('one task that moved does not keep the others of its transaction from being written', async () => {
  const { url, clock, holder, id, record } = await aClaimedTask();
  await new StoreCommands(holder, clock).create();
  const [second] = await claimTasks(holder, { tools, limit: 1, leaseMs: 15_000, now: () => clock.now() });
  await query(url, `update holdfast.tasks set body = body where id = '${id}'`);
  const [one, two] = await Promise.all([
    record(1),
    holder.store.update('task', second!.task.id, (now) => rules.record(now, second!.claim, [2], clock.now())),
  ]);
  expect([one.task.version, two.task.version]).toEqual([3, 3]);
});

test('a process whose lane was taken for dead goes on with another row', async () => {
  const { url, holder, id, record } = await aClaimedTask();
  await record(1);
  await query(url, 'delete from holdfast.lanes');
  await record(2);
  expect(await holder.store.journal(id)).toHaveLength(3);
});

/** A lane on a database of its own, and a transaction of it as the server would see it. */
async function aLane() {
  const { url, remove } = await freshDatabase();
  await (await openPostgres(url)).close();
  const pool = new pg.Pool({ ...clientConfig(url, { statementMs: 30_000 }), max: 2 });
  const connections = new Connections(pool, 'here');
  onTestFinished(async () => {
    await connections.close();
    await remove();
  });
  const lane = new WriteLane('somebody/0', { connections, schema: 'holdfast', place: 'here' });
  const turn = await lane.next();
  const text = 'update holdfast.lanes set turn = $3 where name = $1 and turn = $2 returning 1';
  const write = () => connections.query(text, [turn.lane, turn.before, turn.after]);
  return { url, lane, turn, write };
}

test('a transaction that had ended before it was asked after is found to have', async () => {
  const { lane, turn, write } = await aLane();
  await write();
  expect(await lane.settle(turn)).toBe(true);
  expect((await lane.next()).before).toBe(turn.after);
});

test('one that had not never will, however late it comes', async () => {
  const { lane, turn, write } = await aLane();
  expect(await lane.settle(turn)).toBe(false);
  expect(await write()).toEqual([]);
  // Asked again, after the lane has gone on, nobody could say.
  await expect(lane.settle(turn)).rejects.toThrow(withCode('COMMIT_UNKNOWN'));
});

test('one that a server lost, which was replaced by another that is behind, has not come about', async () => {
  const { url, lane, turn, write } = await aLane();
  await write();
  await query(url, `update holdfast.lanes set turn = ${turn.before - 1} where name = 'somebody/0'`);
  expect(await lane.settle(turn)).toBe(false);
  expect(await write()).toEqual([]);
  expect((await lane.next()).before).toBe(turn.before - 1);
});

test('whether one has ended whose row is gone nobody could say', async () => {
  const { url, lane, turn } = await aLane();
  await query(url, `delete from holdfast.lanes where name = 'somebody/0'`);
  await expect(lane.settle(turn)).rejects.toThrow(withCode('COMMIT_UNKNOWN'));
});
