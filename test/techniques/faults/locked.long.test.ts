import { expect, test } from 'vitest';
import { create } from '../../../src/engine/rules/transitions.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import { aTask } from '../../../src/store-testing.ts';
import './locked.full.test.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { refusalOf } from './files.ts';
import { Other } from './other.ts';

test('a command gives up on a file that is locked for more than half a minute, and the next one works', async () => {
  const file = temporaryFile();
  const { store } = await openSqlite(file);
  const other = new Other(file);
  await other.do('lock', 'immediate', 120_000);
  const request = aTask();
  const failure = await store
    .create(undefined, () => create(undefined, request, Date.now()))
    .catch((error: Error) => error);
  expect(failure).toMatchObject({ code: 'STORE_BUSY' });
  expect((failure as Error).message).toContain(file);
  expect((failure as Error).message).toContain('Close it');
  await other.kill();

  expect(await store.get(request.id)).toBeUndefined();
  await store.create(undefined, () => create(undefined, request, Date.now()));
  expect(await store.get(request.id)).toBeDefined();
  await store.close();
});

test('opening gives up on a file that is locked for more than half a minute', async () => {
  const file = temporaryFile();
  await (await openSqlite(file)).close();
  await new Other(file).do('lock', 'exclusive', 120_000);
  const failure = await refusalOf(file);
  expect(failure).toMatchObject({ code: 'STORE_BUSY' });
  expect(failure.message).toContain(file);
});
