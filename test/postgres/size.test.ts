/** The size is estimated from a sample of pages: of small tables all of them, of large ones a part. */
import { expect, onTestFinished, test } from 'vitest';
import { openPostgres } from '../../src/postgres.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { StoreCommands } from '../../src/testing/stores/store-commands.ts';
import { freshDatabase } from './database.ts';
import { query } from './server.ts';

test('a sample of a large table gives about what all of its rows take, and removed rows do not count', async () => {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  const database = await openPostgres(url);
  const { store } = database;
  onTestFinished(() => database.close());
  const clock = new ManualClock();
  await new StoreCommands(database, clock).create();
  const one = await store.size();
  const many = 20_000;
  await query(
    url,
    `alter table holdfast.tasks set (autovacuum_enabled = off);
    insert into holdfast.tasks (id, owner, tool, tool_version, ordinal, epoch, purge_at, status, created_at, body)
    select id || n, owner, tool, tool_version, ordinal, epoch, 1e15, status, created_at, body || repeat(' ', n % 900)
    from holdfast.tasks, generate_series(1, ${many}) n`,
  );
  const [{ body }] = (await query(
    url,
    'select sum(pg_column_size(body)) + count(*) * 500 as body from holdfast.tasks',
  )) as [{ body: string }];
  const full = await store.size();
  expect(full / Number(body)).toBeGreaterThan(0.8);
  expect(full / Number(body)).toBeLessThan(1.2);
  await query(url, `delete from holdfast.tasks where purge_at = 1e15`);
  expect(await store.size()).toBeLessThan(full * 0.01 + one);
});
