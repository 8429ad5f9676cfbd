/** Claims straight from the rows of tasks: shares of owners, few slots, and what others see of them. */
import { createTasks, durableTool, type LogEntry } from 'holdfast';
import { expect, onTestFinished, test } from 'vitest';
import * as rules from '../../src/engine/rules/transitions.ts';
import { claimTasks } from '../../src/engine/worker/claiming.ts';
import { openPostgres } from '../../src/postgres.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { StoreCommands } from '../../src/testing/stores/store-commands.ts';
import { emptyDatabase, freshDatabase } from './database.ts';
import { query } from './server.ts';

const tools = [{ tool: 'publish_report', version: '1' }];

async function twoProcesses() {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  const clock = new ManualClock();
  const [one, other] = [await openPostgres(url, { clock }), await openPostgres(url, { clock })];
  onTestFinished(() => one.close());
  onTestFinished(() => other.close());
  const claim = async (database: typeof one, limit: number) => {
    const claimed = await claimTasks(database, { tools, limit, leaseMs: 15_000, now: () => clock.now() });
    return claimed.map(({ task }) => task);
  };
  const made = (count: number, owner = 'ada') =>
    Promise.all(Array.from({ length: count }, () => new StoreCommands(one, clock).create({ owner })));
  return { url, clock, one, other, claim, made };
}

test('a worker with few slots claims as many tasks, and another gets those that are left', async () => {
  const { one, other, made, claim } = await twoProcesses();
  const all = (await made(20)).map(({ id }) => id);
  const mine = [...(await claim(one, 3)), ...(await claim(one, 2)), ...(await claim(other, 20))];
  expect(mine.map(({ id }) => id).toSorted()).toEqual(all.toSorted());
});

test('of several owners each gives its share, and those that have more fill the slots that are left', async () => {
  const { one, made, claim } = await twoProcesses();
  await made(30, 'greedy');
  await made(1, 'ann');
  await made(2, 'zoe');
  const owners = (await claim(one, 12)).map(({ owner }) => owner);
  expect(Object.groupBy(owners, (owner) => owner)).toMatchObject({
    ann: ['ann'],
    zoe: ['zoe', 'zoe'],
    greedy: Array(9).fill('greedy'),
  });
});

test('one slot at a time is given to one owner after the other', async () => {
  const { one, made, claim } = await twoProcesses();
  for (const owner of ['greedy', 'ann', 'zoe']) await made(5, owner);
  const owners: string[] = [];
  for (let n = 0; n < 9; n++) owners.push((await claim(one, 1))[0]!.owner);
  for (const owner of ['greedy', 'ann', 'zoe']) expect(owners.filter((one) => one === owner)).toHaveLength(3);
});

test('timers that came due wait in line with the others, whoever has many of them', async () => {
  const { clock, one, made, claim } = await twoProcesses();
  await made(40, 'sleeper');
  for (const task of await claim(one, 40))
    await one.store.update('task', task.id, (now) =>
      rules.park(
        now,
        { taskId: task.id, epoch: 1 },
        { seenVersion: task.version, until: clock.now() + 1_000 },
        clock.now(),
      ),
    );
  await made(2, 'ann');
  expect((await claim(one, 9)).map(({ owner }) => owner)).toEqual(['ann', 'ann']);
  clock.advance(1_000);
  await made(2, 'bob');
  const owners = (await claim(one, 4)).map(({ owner }) => owner);
  expect(owners.toSorted()).toEqual(['bob', 'bob', 'sleeper', 'sleeper']);
});

test('a task that another transaction has locked is passed over, and nobody waits for it', async () => {
  const { url, one, made, claim } = await twoProcesses();
  const [first, second] = await made(2);
  const { default: pg } = await import('pg');
  const locker = new pg.Client(url);
  await locker.connect();
  onTestFinished(() => locker.end());
  await locker.query('begin');
  await locker.query('select 1 from holdfast.tasks where id = $1 for update', [first!.id]);
  expect((await claim(one, 9)).map(({ id }) => id)).toEqual([second!.id]);
  await locker.query('rollback');
  expect((await claim(one, 9)).map(({ id }) => id)).toEqual([first!.id]);
});

test('the log of a worker says that it claimed a task', async () => {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  const entries: LogEntry[] = [];
  const echo = durableTool('echo', { task: 'always' }, async () => 'ok');
  const tasks = createTasks({
    store: () => openPostgres(url),
    tools: [echo],
    log: (entry) => entries.push(entry),
  });
  onTestFinished(() => tasks.close());
  const { id } = await tasks.create(echo);
  await tasks.work();
  await tasks.outcome(id);
  const events = () => entries.filter(({ task }) => task === id).map(({ event }) => event);
  await expect.poll(events).toEqual(['created', 'claimed', 'finished']);
});

test('tables of a Holdfast before the first release are refused, and nothing is changed', async () => {
  const { url, remove } = await emptyDatabase();
  onTestFinished(remove);
  await query(
    url,
    'create schema holdfast; create table holdfast.holdfast_schema (version integer primary key)',
  );
  await expect(openPostgres(url)).rejects.toThrow(/before the first release.*another schema or database/);
  const tables = await query(
    url,
    `select count(*)::integer as n from pg_tables where schemaname = 'holdfast'`,
  );
  expect(tables).toEqual([{ n: 1 }]);
});
