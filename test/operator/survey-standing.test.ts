/** Rows that do not say how they stand, because an older Holdfast wrote them, are surveyed rightly all the same. */
import { DatabaseSync } from 'node:sqlite';
import type { Database } from 'holdfast';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cancel, complete } from '../../src/engine/endings.ts';
import { claim as claimRule, create } from '../../src/engine/transitions.ts';
import { aTask } from '../../src/testing.ts';
import { encryption } from '../encryption/keys.ts';
import { query } from '../postgres/server.ts';
import { isPostgres, kinds, type Options, open } from '../stores/kinds.ts';
import { beforeTurns } from '../stores/older-tables.ts';

/** One that is queued, one that completed and one that was cancelled. */
async function someTasks({
  store,
}: Database): Promise<{ queued: string; completed: string; cancelled: string }> {
  const made = { queued: aTask(), completed: aTask(), cancelled: aTask() };
  const now = Date.now();
  for (const request of Object.values(made))
    await store.create(undefined, () => create(undefined, request, now));
  const { id } = made.completed;
  const holder = { name: 'worker', leaseMs: 60_000 };
  const { task } = await store.update('task', id, (one) => claimRule(one, holder, now));
  const claim = { taskId: id, epoch: task.epoch };
  await store.update('lineage', id, (lineage) =>
    complete(lineage, claim, { kind: 'result', isError: false, value: {} }, now + 500),
  );
  await store.update('family', made.cancelled.id, (family) => cancel(family, now));
  return { queued: made.queued.id, completed: id, cancelled: made.cancelled.id };
}

async function expectAllSeen(database: Database, made: Awaited<ReturnType<typeof someTasks>>): Promise<void> {
  const { survey } = database;
  for (const [standing, id] of Object.entries(made)) {
    const standings = [standing as keyof typeof made];
    const { tasks } = await survey.list({ standings, limit: 10 });
    expect(tasks.map((task) => task.id)).toEqual([id]);
    expect(await survey.count({ standings }, 10)).toEqual({ count: 1, isMore: false });
  }
  const { tasks } = await survey.list({ since: Date.now() - 60_000, until: Date.now() + 60_000, limit: 10 });
  expect(tasks).toHaveLength(3);
  const until = Date.now() + 60_000;
  const { live, ended } = await survey.overview({ since: until - 120_000, until, buckets: 4 });
  expect(live).toEqual({ queued: 1, running: 0, waiting: 0 });
  expect(ended).toMatchObject({ completed: 1, cancelled: 1, failed: 0 });
  expect(ended.medianMs).toBeGreaterThan(480);
}

async function run(place: string, sql: string): Promise<Record<string, unknown>[]> {
  if (isPostgres(place)) return query(place, `set search_path to holdfast; ${sql}`);
  const db = new DatabaseSync(place, { timeout: 10_000 });
  const statements = sql.split(';');
  try {
    for (const statement of statements.slice(0, -1)) db.exec(statement);
    return db.prepare(statements.at(-1)!).all();
  } finally {
    db.close();
  }
}

async function opened(place: string, options: Options): Promise<Database> {
  const database = await open(place, options);
  onTestFinished(() => database.close());
  return database;
}

const countUnknown = 'select count(*) as n from tasks where standing = 0 or created_at is null';
const forget = `update tasks set standing = 0, created_at = null; ${countUnknown}`;

/** What the tables were before operators could look over them. */
const backInTime = `
  drop index tasks_live; drop index tasks_by_end; drop index tasks_ended_by_tool; drop index tasks_ended_badly;
  drop index tasks_of_unknown_standing;
  alter table tasks drop column standing; alter table tasks drop column created_at;
  create index tasks_live on tasks (owner) where parent_id is null and purge_at is null;
  create index tasks_by_end on tasks (ended_at) where ended_at is not null;
  ${beforeTurns}
  delete from holdfast_schema where version >= (select max(version) - 3 from holdfast_schema);
  select 1`;

const manners: readonly (readonly [string, Options])[] = [
  ['plain', {}],
  ['encrypted', { encryption: encryption('first') }],
];

describe.each(kinds)('on $name', (kind) => {
  describe.each(manners)('%s', (_, options) => {
    test('a row that does not say how it stands is asked itself', async () => {
      const place = await kind.place();
      const database = await opened(place, options);
      const made = await someTasks(database);
      await run(place, forget);
      await expectAllSeen(database, made);
      await expectAllSeen(database, made);
    });

    // Postgres refuses the tables of older versions.
    test.skipIf(kind.name === 'Postgres')(
      'a store of before learns how its tasks stand once it is opened',
      async () => {
        const place = await kind.place();
        const before = await open(place, options);
        const made = await someTasks(before);
        await before.close();
        await run(place, backInTime);
        const database = await opened(place, options);
        await expect.poll(async () => Number((await run(place, countUnknown))[0]!.n)).toBe(0);
        await expectAllSeen(database, made);
      },
    );
  });

  test('what an older Holdfast writes beside a newer one is seen as it stands', async () => {
    const place = await kind.place();
    const database = await opened(place, {});
    const made = await someTasks(database);
    const queued = 1;
    await run(place, `update tasks set standing = ${queued} where ended_at is not null; select 1`);
    await expectAllSeen(database, made);
  });
});
