/** Through PgBouncer in transaction mode: with a direct URL for liveness and notifications, and without one. */
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks, durableTool, type Tasks } from 'holdfast';
import { openPostgres, type PostgresOptions, postgres } from 'holdfast/postgres';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { claimTasks } from '../../src/engine/worker/claiming.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { StoreCommands } from '../../src/testing/stores/store-commands.ts';
import { withCode } from '../kit/with-code.ts';
import { bouncerMissing, bouncerProgram, startBouncer } from './bouncer.ts';
import { freshDatabase } from './database.ts';
import { query } from './server.ts';

const pooled = test.skipIf(!bouncerProgram);
if (!bouncerProgram) console.warn(`${bouncerMissing}: the tests of poolers are skipped.`);

let database: Awaited<ReturnType<typeof freshDatabase>>;
let bouncer: Awaited<ReturnType<typeof startBouncer>>;
beforeAll(async () => {
  database = await freshDatabase();
  if (bouncerProgram) bouncer = await startBouncer(database.url);
});
afterAll(async () => {
  await bouncer?.stop();
  await database.remove();
});

const steps = durableTool('steps', { task: 'always' }, async (_, task) => {
  await task.step('one', () => 1);
  await task.sleep('20ms');
  return task.step('two', () => 'done');
});

async function started(options: PostgresOptions): Promise<{ maker: Tasks; worker: Tasks }> {
  const [maker, worker] = [1, 2].map(() =>
    createTasks({ store: postgres(bouncer.url, options), tools: [steps] }),
  ) as [Tasks, Tasks];
  onTestFinished(() => maker.close());
  onTestFinished(() => worker.close());
  await worker.work({ concurrency: 8 });
  return { maker, worker };
}

pooled.each([
  ['with a direct URL', () => ({ directUrl: database.url, schema: 'direct' })],
  ['without one', () => ({ schema: 'alone' })],
])('tasks are made, claimed, carried out and seen from another process: %s', async (_, options) => {
  const { maker } = await started(options());
  const made = await Promise.all(Array.from({ length: 40 }, () => maker.create(steps)));
  const outcomes = await Promise.all(made.map(({ id }) => maker.outcome(id)));
  expect(outcomes.every((outcome) => outcome.kind === 'result' && !outcome.isError)).toBe(true);
});

pooled('no session of the server keeps a lock, a listener or a setting of a pooled process', async () => {
  const { maker } = await started({ schema: 'clean' });
  await maker.outcome((await maker.create(steps)).id);
  const locks = `select count(*)::integer as n from pg_locks where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())`;
  await expect.poll(() => query(database.url, locks)).toEqual([{ n: 0 }]);
  for (let n = 0; n < 5; n++) {
    const [row] = await query(bouncer.url, `select current_setting('statement_timeout') as ms`);
    expect(row).toEqual({ ms: '0' });
  }
});

pooled(
  'a process without a direct URL that is gone counts as gone, and its leases decide over its tasks',
  async () => {
    const clock = new ManualClock();
    const open = () => openPostgres(bouncer.url, { schema: 'leases', clock });
    const [one, other] = [await open(), await open()];
    onTestFinished(() => other.close());
    await new StoreCommands(one, clock).create();
    const tools = [{ tool: 'publish_report', version: '1' }];
    const claim = (store: typeof one, leaseMs: number) =>
      claimTasks(store, { tools, limit: 1, leaseMs, now: () => clock.now() });
    const [held] = await claim(one, 1_000);
    await one.store.update('task', held!.task.id, (task) => {
      const next = { ...task, version: task.version + 1, recordedIn: held!.claim.epoch };
      return { task: next, writes: [{ task: next, at: 1, events: [] }], removed: [] };
    });
    expect(await other.queue.isAlive(one.queue.name)).toBe(true);
    expect(await claim(other, 1_000)).toEqual([]);
    // As if it had been killed: it says nothing any more, and leaves its row behind.
    await query(
      database.url,
      `update leases.processes set seen_at = now() - interval '1 minute' where name = '${one.queue.name}'`,
    );
    expect(await other.queue.isAlive(one.queue.name)).toBe(false);
    let taken = await claim(other, 60_000);
    while (taken.length === 0) {
      await pause(50);
      taken = await claim(other, 60_000);
    }
    expect(taken[0]!.claim.epoch).toBe(2);
    await one.close();
  },
);

pooled('a direct URL that leads to the pooler as well is refused', async () => {
  const opening = openPostgres(bouncer.url, { directUrl: bouncer.url, schema: 'wrong' });
  await expect(opening).rejects.toThrow(withCode('STORE_NOT_OPENED'));
  await expect(opening).rejects.toThrow('leads to a connection pooler too');
});
