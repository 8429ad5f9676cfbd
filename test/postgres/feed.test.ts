/**
 * A server that crashed gives numbers of transactions that were lost with it to others. What these commit lies behind
 * where the others have looked already; here such numbers are given out by hand.
 */
import { expect, onTestFinished, test } from 'vitest';
import * as rules from '../../src/engine/rules/transitions.ts';
import { openPostgres } from '../../src/postgres.ts';
import { aTask } from '../../src/testing/fixtures.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { StoreCommands } from '../../src/testing/stores/store-commands.ts';
import { freshDatabase } from './database.ts';
import { query } from './server.ts';

/** A process that writes, and one that hears of it; and what is heard, by version. */
async function writerAndListener() {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  const [writer, listener] = [await openPostgres(url), await openPostgres(url)];
  onTestFinished(() => writer.close());
  onTestFinished(() => listener.close());
  const heard: number[] = [];
  listener.store.subscribe(({ version }) => void heard.push(version));
  const task = await new StoreCommands(writer, new ManualClock()).create();
  const [seen] = await query(url, 'select pg_current_xact_id()::text as number');
  const write = () =>
    writer.store.update('task', task.id, (now) => {
      const next = { ...now, version: now.version + 1 };
      return { task: next, writes: [{ task: next, at: 1, events: [] }], removed: [] };
    });
  /** A commit under a number that the listener has passed. */
  const writeBehind = async () => {
    const column = 'alter table holdfast.commits alter column xact set default';
    await query(url, `${column} '${seen!.number}'::xid8`);
    await write();
    await query(url, `${column} pg_current_xact_id()`);
  };
  for (let n = 0; n < 3; n++) await write();
  await expect.poll(() => heard).toEqual([1, 2, 3, 4]);
  return { url, heard, write, writeBehind };
}

test('a commit that lies behind where was looked is told before the next of its task', async () => {
  const { heard, write, writeBehind } = await writerAndListener();
  await writeBehind();
  await write();
  await expect.poll(() => heard).toEqual([1, 2, 3, 4, 5, 6]);
});

test('one that is the last of its task is found when the connection is back', async () => {
  const { url, heard, writeBehind } = await writerAndListener();
  await writeBehind();
  await query(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`,
  );
  await expect.poll(() => heard).toEqual([1, 2, 3, 4, 5]);
});

test('a task that is made again under the id of one that was removed is told from its first version on', async () => {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  const [writer, listener] = [await openPostgres(url), await openPostgres(url)];
  onTestFinished(() => writer.close());
  onTestFinished(() => listener.close());
  const clock = new ManualClock();
  const heard: string[] = [];
  listener.store.subscribe(({ version, events }) => void heard.push(`${version} ${events[0]?.type}`));
  const request = aTask();
  await new StoreCommands(writer, clock).create(request);
  await writer.store.update('family', request.id, (family) => rules.cancel(family, clock.now()));
  await expect.poll(() => heard).toEqual(['1 created', '2 finished']);
  await writer.store.update('family', request.id, (family) =>
    rules.crowdOut(family, clock.now(), clock.now()),
  );
  await new StoreCommands(writer, clock).create(request);
  await expect.poll(() => heard).toEqual(['1 created', '2 finished', '3 removed', '1 created']);
});
