import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as rules from '../../src/engine/rules/transitions.ts';
import { openSqlite, type SqliteDatabase } from '../../src/sqlite.ts';
import { StoreCommands } from '../../src/testing/stores/store-commands.ts';
import { ManualClock } from '../../src/testing.ts';
import { kinds } from '../stores/kinds.ts';

const megabyte = 1_000_000;
const clock = new ManualClock();
const { place } = kinds.find(({ name }) => name === 'SQLite')!;

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Fills the store with `count` finished tasks of 50 kB each, and gives what removes them. */
async function fill(database: SqliteDatabase, count: number): Promise<() => Promise<unknown>> {
  const tasks = new StoreCommands(database, clock);
  const made = await Promise.all(
    Array.from({ length: count }, async () => {
      const task = await tasks.create({ arguments: { text: 'x'.repeat(50_000) } });
      await tasks.end(task);
      return task;
    }),
  );
  return () =>
    Promise.all(made.map((task) => tasks.act('family', task, (family, at) => rules.remove(family, at))));
}

async function opened(file: string): Promise<SqliteDatabase> {
  const database = await openSqlite(file, { clock });
  onTestFinished(() => database.close());
  return database;
}

describe('while it is open', () => {
  test('a SQLite file gives back the space of what was removed, and stays sound', async () => {
    const file = await place();
    const database = await opened(file);
    const removeAll = await fill(database, 400);
    const kept = await new StoreCommands(database, clock).create();
    const largest = bytesOf(file);
    expect(largest).toBeGreaterThan(15 * megabyte);
    await removeAll();
    await expect.poll(() => bytesOf(file)).toBeLessThan(3 * megabyte);
    expect(await database.store.get(kept.id)).toMatchObject({ id: kept.id });
    const looker = new DatabaseSync(file, { readOnly: true });
    expect(looker.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' });
    looker.close();
    await fill(database, 20);
    await database.close();
    await opened(file);
  });

  test('the log of a SQLite file shrinks once nobody reads what it holds', async () => {
    const file = await place();
    const database = await opened(file);
    const reader = new DatabaseSync(file, { readOnly: true });
    reader.exec('begin; select count(*) from tasks');
    await fill(database, 400);
    expect(bytesOf(`${file}-wal`)).toBeGreaterThan(15 * megabyte);
    reader.close();
    await expect.poll(() => bytesOf(`${file}-wal`)).toBeLessThan(megabyte);
  });

  test('what a process left behind when it ended is given back by the next that opens the file', async () => {
    const file = await place();
    const before = await openSqlite(file, { clock });
    await (await fill(before, 400))();
    await before.close();
    expect(bytesOf(file)).toBeGreaterThan(15 * megabyte);
    await opened(file);
    await expect.poll(() => bytesOf(file)).toBeLessThan(3 * megabyte);
  });

  test('a little free space stays for the next tasks', async () => {
    const file = await place();
    const database = await opened(file);
    await fill(database, 100);
    await (await fill(database, 10))();
    const looker = new DatabaseSync(file, { readOnly: true });
    const free = () => looker.prepare('pragma freelist_count').get()!.freelist_count as number;
    const before = free();
    expect(before).toBeGreaterThan(100);
    await fill(database, 1);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(free()).toBeGreaterThan(before - 40);
    looker.close();
  });
});

test('a file that was rewritten without auto_vacuum keeps its free pages until it is compacted', async () => {
  const file = await place();
  await (await openSqlite(file, { clock })).close();
  const rewriting = new DatabaseSync(file);
  rewriting.exec('pragma auto_vacuum = none; vacuum');
  rewriting.close();
  const mode = () => {
    const looker = new DatabaseSync(file, { readOnly: true });
    const { auto_vacuum } = looker.prepare('pragma auto_vacuum').get()!;
    looker.close();
    return auto_vacuum;
  };
  expect(mode()).toBe(0);
  const plain = await openSqlite(file, { clock });
  await (await fill(plain, 100))();
  expect(mode()).toBe(0);
  await plain.close();
  const keys = { a: new Uint8Array(32).fill(7) };
  const encrypted = await openSqlite(file, { clock, encryption: { keys, current: 'a' } });
  await encrypted.rekey();
  expect(mode()).toBe(2);
  await encrypted.close();
});
