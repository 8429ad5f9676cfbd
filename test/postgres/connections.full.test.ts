/** Connections that break in the worst moment: nothing that was acknowledged is lost, nothing is done twice, nobody fails. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { claimTasks } from '../../src/engine/worker/claiming.ts';
import { onCrashPoint } from '../../src/ports/crash-point.ts';
import { openPostgres } from '../../src/postgres.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { StoreCommands } from '../../src/testing/stores/store-commands.ts';
import { query, startPostgres } from './server.ts';

test('a commit that a crash of the server took away is made again, although another transaction got its number', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const url = await server.createDatabase();
  const database = await openPostgres(url);
  onTestFinished(() => database.close());
  // The first one makes a queue, and with that commit the server would write down what is to be lost.
  await new StoreCommands(database, new ManualClock()).create();
  const crashed = Promise.withResolvers<void>();
  onCrashPoint((place) => {
    if (place !== 'commit: written') return;
    onCrashPoint(undefined);
    // The signal is sent at once; until the server is gone nothing else is done here.
    server.restart('immediate').then(crashed.resolve, crashed.reject);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  });
  const created = new StoreCommands(database, new ManualClock()).create();
  await crashed.promise;
  for (let n = 0; n < 20; n++) await query(url, 'select pg_current_xact_id()');
  const task = await created;
  expect(await database.store.get(task.id)).toEqual(task);
  expect(await database.store.journal(task.id)).toHaveLength(1);
});

test('a commit whose end was not heard, and that came about, is not made again', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const url = await server.createDatabase();
  const database = await openPostgres(url);
  onTestFinished(() => database.close());
  const task = await new StoreCommands(database, new ManualClock()).create();
  let attempts = 0;
  onCrashPoint((place) => {
    if (place !== 'commit: written' || ++attempts > 1) return;
    void cutSoon(url);
  });
  onTestFinished(() => onCrashPoint(undefined));
  for (let n = 1; n <= 40; n++) {
    attempts = 0;
    const before = (await database.store.get(task.id))!.version;
    await database.store.update('task', task.id, (now) => ({
      task: { ...now, version: now.version + 1 },
      writes: [
        { task: { ...now, version: now.version + 1 }, at: n, events: [{ type: 'awaited', until: n }] },
      ],
      removed: [],
    }));
    expect((await database.store.get(task.id))!.version).toBe(before + 1);
  }
});

test('a worker that is cut off while it asks for work for the first time asks again instead of failing', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const url = await server.createDatabase();
  const tools = [{ tool: 'publish_report', version: '1' }];
  const maker = await openPostgres(url);
  onTestFinished(() => maker.close());
  for (let n = 0; n < 12; n++) {
    await new StoreCommands(maker, new ManualClock(Date.now())).create();
    const worker = await openPostgres(url);
    const cut = cutSoon(url);
    const claimed = await claimTasks(worker, { tools, limit: 1, leaseMs: 60_000, now: Date.now });
    expect(claimed.length).toBeLessThanOrEqual(1);
    await cut;
    await worker.close();
  }
});

/** Cuts every connection, some time around the commit that comes. */
async function cutSoon(url: string): Promise<void> {
  await pause(Math.random() * 5);
  await query(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  ).catch(() => {});
}
