import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasCode } from '../../../src/model/errors.ts';
import { newId } from '../../../src/model/id.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { orDamage, refusalOf } from './files.ts';
import { lookFor, Other } from './other.ts';

/*
 * Beside the database every process notes the last transaction that it acknowledged. What is noted and not found is a
 * loss, and is said; but nobody may be alarmed for nothing.
 */

describe('nobody is alarmed', () => {
  test('after a crash', async () => {
    const file = temporaryFile();
    const other = await workThenDie(file);
    const { store } = await openSqlite(file);
    expect(await lookFor(other.acknowledged, store)).toEqual({ lost: [], reported: [] });
    await store.close();
    expect(readdirSync(dirname(file))).toEqual(['tasks.db']);
  });

  test('when the database was deleted and begun anew', async () => {
    const file = temporaryFile();
    await workThenDie(file);
    rmSync(file);
    const { store } = await openSqlite(file);
    expect((await store.list({ owner: 'alice', limit: 10 })).tasks).toEqual([]);
    await store.close();
    await (await openSqlite(file)).close();
  });

  test('when the database was deleted with its log and begun anew by a process that dies too', async () => {
    const file = temporaryFile();
    await workThenDie(file);
    for (const leftover of [file, `${file}-wal`]) rmSync(leftover);
    const other = await workThenDie(file);
    const { store } = await openSqlite(file);
    expect(await lookFor(other.acknowledged, store)).toEqual({ lost: [], reported: [] });
    await store.close();
  });

  test('by a note that was cut short, or belongs to another database', async () => {
    const file = temporaryFile();
    await (await openSqlite(file)).close();
    mkdirSync(`${file}-instances`);
    writeFileSync(join(`${file}-instances`, `${newId()}.mark`), '');
    writeFileSync(join(`${file}-instances`, `${newId()}.mark`), `${newId()} 0000000000001234\n`);
    await (await openSqlite(file)).close();
    expect(existsSync(`${file}-instances`)).toBe(false);
  });

  test('when processes come and go while others write', async () => {
    const file = temporaryFile();
    const others = Array.from({ length: 3 }, () => new Other(file));
    const rounds = await Promise.all(others.map((other, n) => other.do('comeAndGo', 3_000, n * 1_000)));
    expect(Math.min(...rounds)).toBeGreaterThan(3);
    const { store } = await openSqlite(file);
    for (const { acknowledged } of others)
      expect(await lookFor(acknowledged, store)).toEqual({ lost: [], reported: [] });
    await store.close();
  });

  test('when processes are killed while others come and go', async () => {
    const file = temporaryFile();
    const steady = new Other(file);
    const done = steady.do('comeAndGo', 3_000, 1);
    const killed: Other[] = [];
    for (const end = Date.now() + 2_500; Date.now() < end; ) {
      const other = new Other(file);
      killed.push(other);
      await other.do('open');
      await other.do('work', 5, killed.length * 1_000);
      other.do('write');
      await other.kill();
    }
    await done;
    const { store } = await openSqlite(file);
    for (const { acknowledged } of [steady, ...killed])
      expect(await lookFor(acknowledged, store)).toEqual({ lost: [], reported: [] });
    await store.close();
  });
});

describe('an older copy of the file in its place', () => {
  test('is reported after a crash, and is used once the notes are deleted, as the message says', async () => {
    const [file, copy] = [temporaryFile(), temporaryFile()];
    const first = new Other(file);
    await first.do('open');
    await first.do('work', 10, 1);
    await first.do('close');
    copyFileSync(file, copy);
    const second = await workThenDie(file);

    rmSync(`${file}-wal`);
    copyFileSync(copy, file);
    const failure = await refusalOf(file);
    expect(failure).toMatchObject({ code: 'STORE_CORRUPT' });
    expect(failure.message).toContain(file);
    expect(failure.message).toContain('the file is an older copy');
    expect(failure.message).toContain(`delete ${file}-instances`);

    rmSync(`${file}-instances`, { recursive: true });
    const { store } = await openSqlite(file);
    expect(await lookFor(first.acknowledged, store)).toEqual({ lost: [], reported: [] });
    expect((await lookFor(second.acknowledged, store)).lost).toHaveLength(second.acknowledged.size);
    await store.close();
    await (await openSqlite(file)).close();
  });

  test('never leads to a silent loss, even if the log of the newer one is still there', async () => {
    const [file, copy] = [temporaryFile(), temporaryFile()];
    const all = [];
    for (let round = 0; round < 4; round++) {
      const other = new Other(file);
      await other.do('open');
      await other.do('work', 30, round);
      await other.do('close');
      if (round === 0) copyFileSync(file, copy);
      all.push(other);
    }
    all.push(await workThenDie(file));
    copyFileSync(copy, file);
    const database = await orDamage(openSqlite(file));
    if (hasCode(database, 'STORE_CORRUPT')) return;
    for (const { acknowledged } of all)
      expect((await lookFor(acknowledged, database.store)).lost).toEqual([]);
    await database.close();
  });
});

test('what a process acknowledged before it closed is missed, if the log that held it was lost with another', async () => {
  const file = temporaryFile();
  const [first, second] = [new Other(file), new Other(file)];
  await first.do('open');
  await second.do('open');
  await second.do('read');
  await first.do('work', 10, 1);
  await first.do('close');
  await second.kill();
  rmSync(`${file}-wal`);
  expect((await refusalOf(file)).message).toContain('acknowledged changes are missing');
});

async function workThenDie(file: string): Promise<Other> {
  const other = new Other(file);
  await other.do('open');
  await other.do('work', 10, 2);
  await other.kill();
  return other;
}
