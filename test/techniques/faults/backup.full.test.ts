import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqlite } from '../../../src/sqlite.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { until } from '../../kit/until.ts';
import { withCode } from '../../kit/with-code.ts';
import { readSnapshot } from '../chaos/snapshot.ts';
import { refusalOf } from './files.ts';
import { lookFor, Other } from './other.ts';
import { populate } from './population.ts';

test('a back-up holds everything acknowledged before it began, though others write at full speed', async () => {
  const [file, copy] = [temporaryFile(), temporaryFile()];
  const { other, database } = await withBusyWriter(file);
  for (let round = 0; round < 3; round++) {
    const before = new Map(other.acknowledged);
    await database.backup(copy);
    expect(readSnapshot(copy).integrity).toEqual([]);
    const { store } = await openSqlite(copy);
    expect(await lookFor(before, store)).toEqual({ lost: [], reported: [] });
    await store.close();
    rmSync(copy);
    const { size } = other.acknowledged;
    await until(() => other.acknowledged.size > size + 40);
  }
  expect(other.acknowledged.size).toBeGreaterThan(100);
  await database.close();
});

test('a back-up taken by the process that writes holds what it acknowledged before', async () => {
  const [file, copy] = [temporaryFile(), temporaryFile()];
  const other = new Other(file);
  await other.do('open');
  other.do('write');
  await until(() => other.acknowledged.size >= 100);
  const before = new Map(other.acknowledged);
  await other.do('backUp', copy);
  const { store } = await openSqlite(copy);
  expect(await lookFor(before, store)).toEqual({ lost: [], reported: [] });
  await store.close();
});

test('a back-up is one file', async () => {
  const [file, copy] = [temporaryFile(), temporaryFile()];
  await populate(file, { tasks: 50, seed: 1 });
  const database = await openSqlite(file);
  await database.backup(copy);
  await database.close();
  expect(readdirSync(dirname(copy))).toEqual(['tasks.db']);
});

test('a back-up takes the place of the original after a crash, and nothing is missed', async () => {
  const [file, copy] = [temporaryFile(), temporaryFile()];
  const { other, database } = await withBusyWriter(file);
  const before = new Map(other.acknowledged);
  await database.backup(copy);
  await database.close();
  const { size } = other.acknowledged;
  await until(() => other.acknowledged.size > size + 10);
  await other.kill();
  expect(readdirSync(`${file}-instances`).length).toBeGreaterThan(0);

  rmSync(`${file}-wal`);
  renameSync(copy, file);
  const { store } = await openSqlite(file);
  expect(await lookFor(before, store)).toEqual({ lost: [], reported: [] });
  expect((await lookFor(other.acknowledged, store)).lost.length).toBeGreaterThan(0);
  await store.close();
});

test('a back-up beside the log of the original is refused until the log is gone', async () => {
  const [file, copy] = [temporaryFile(), temporaryFile()];
  const { other, database } = await withBusyWriter(file);
  const before = new Map(other.acknowledged);
  await database.backup(copy);
  const { size } = other.acknowledged;
  await until(() => other.acknowledged.size > size + 10);
  await other.kill();
  await database.close();
  // The database was closed in good order; a log is left when a process dies.
  const dying = new Other(file);
  await dying.do('open');
  await dying.do('work', 20, 1);
  await dying.kill();

  renameSync(copy, file);
  const failure = await refusalOf(file);
  expect(failure).toMatchObject({ code: 'STORE_CORRUPT' });
  expect(failure.message).toContain(`its write-ahead log (${file}-wal) belongs to another database`);
  expect(failure.message).toContain(`Delete ${file}-wal and ${file}-instances`);

  rmSync(`${file}-wal`);
  rmSync(`${file}-instances`, { recursive: true });
  const { store } = await openSqlite(file);
  expect(await lookFor(before, store)).toEqual({ lost: [], reported: [] });
  await store.close();
});

test('a back-up may replace an older one', async () => {
  const [file, copy] = [temporaryFile(), temporaryFile()];
  const other = new Other(file);
  await other.do('open');
  await other.do('backUp', copy);
  await other.do('work', 10, 1);
  await other.do('backUp', copy);
  const { store } = await openSqlite(copy);
  expect(await lookFor(other.acknowledged, store)).toEqual({ lost: [], reported: [] });
  await store.close();
});

test('a process that dies in the middle of a back-up leaves nothing under its name, and the next one works', async () => {
  const [file, copy] = [temporaryFile(), temporaryFile()];
  await populate(file, { tasks: 200, seed: 1 });
  const other = new Other(file);
  await other.do('open');
  await other.do('killAt', 'backup: copied');
  other.do('backUp', copy);
  expect(await other.end()).toBe('SIGKILL');
  expect(existsSync(copy)).toBe(false);

  const database = await openSqlite(file);
  await database.backup(copy);
  await database.close();
  expect(readSnapshot(copy).integrity).toEqual([]);
  expect(readdirSync(dirname(copy))).toEqual(['tasks.db']);
});

test('a process that dies in the middle of a back-up leaves the older one as it was', async () => {
  const [file, copy] = [temporaryFile(), temporaryFile()];
  const other = new Other(file);
  await other.do('open');
  await other.do('backUp', copy);
  const older = readFileSync(copy);
  await other.do('work', 10, 1);
  await other.do('killAt', 'backup: copied');
  other.do('backUp', copy);
  expect(await other.end()).toBe('SIGKILL');
  expect(readFileSync(copy)).toEqual(older);
});

test('a back-up to an impossible place says so, and names the place', async () => {
  const file = temporaryFile();
  const database = await openSqlite(file);
  const folder = dirname(file);
  mkdirSync(join(folder, 'folder'));
  for (const target of [join(folder, 'missing', 'copy.db'), join(folder, 'folder'), join(file, 'copy.db')]) {
    const failure = await database.backup(target).catch((error: Error) => error);
    expect(failure).toMatchObject({ code: 'STORE_NOT_OPENED' });
    expect((failure as Error).message).toContain(target);
  }
  expect(readdirSync(folder).filter((name) => name.endsWith('.unfinished'))).toEqual([]);
  await database.close();
});

test('a database is never replaced by its own back-up', async () => {
  const file = temporaryFile();
  await populate(file, { tasks: 50, seed: 1 });
  const database = await openSqlite(file);
  const link = join(dirname(file), 'link.db');
  symlinkSync(file, link);
  for (const target of [file, link])
    await expect(database.backup(target)).rejects.toThrow(`${target}: the target is the database itself`);
  await database.close();
});

test('a store that is closed makes no back-up', async () => {
  const database = await openSqlite(temporaryFile());
  await database.close();
  await expect(database.backup(temporaryFile())).rejects.toThrow(withCode('STORE_CLOSED'));
});

async function withBusyWriter(file: string) {
  const other = new Other(file);
  await other.do('open');
  const database = await openSqlite(file);
  other.do('write');
  await until(() => other.acknowledged.size >= 100);
  return { other, database };
}
