/** A fail-over to a server that has not heard of the latest key: what a process knew of it counts no more. */
import { expect, onTestFinished, test } from 'vitest';
import { create as creation } from '../../src/engine/rules/transitions.ts';
import { openPostgres } from '../../src/postgres.ts';
import { aTask } from '../../src/store-testing.ts';
import { freshDatabase } from '../postgres/database.ts';
import { query } from '../postgres/server.ts';
import { encryption } from './keys.ts';

test('a process writes under the key that the server knows, not under one whose beginning was lost', async () => {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  await (await openPostgres(url, { encryption: encryption('first') })).close();
  const tables = ['encryption', 'secrets'];
  const copies = tables.map((table) => `create table earlier.${table} as table holdfast.${table}`);
  await query(url, `create schema earlier; ${copies.join(';')}`);
  const database = await openPostgres(url, { encryption: encryption('first', 'second') });
  onTestFinished(() => database.close());
  await database.rekey();
  const create = () => database.store.create(undefined, () => creation(undefined, aTask(), Date.now()));
  await create();
  const restored = tables.map(
    (table) => `
      delete from holdfast.${table};
      insert into holdfast.${table} overriding system value table earlier.${table}`,
  );
  await query(
    url,
    `truncate holdfast.tasks, holdfast.commits; ${restored.join(';')};
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`,
  );
  const { task } = await create();
  const other = await openPostgres(url, { encryption: encryption('first') });
  onTestFinished(() => other.close());
  expect(await other.store.get(task.id)).toEqual(task);
});
