import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../../src/model/errors.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { canMount, smallDisk } from './disk.ts';
import { refusalOf } from './files.ts';
import { failureToOpen, nobody } from './opener.ts';
import { Other } from './other.ts';
import { populate } from './population.ts';

const nextVersion =
  "insert into holdfast_schema_version select max(version) + 1, '2030-01-01T00:00:00Z' from holdfast_schema_version";

describe('a file that is not a database of tasks is refused and left as it is:', () => {
  test('a text', async () => {
    const file = temporaryFile();
    writeFileSync(file, 'Dear diary,\n'.repeat(500));
    await expectRefusal(file, 'STORE_CORRUPT', /not a SQLite database/, /Choose another file/);
  });

  test('a database of another program', async () => {
    const file = temporaryFile();
    sql(file, "create table songs (title text); insert into songs values ('La mer')");
    await expectRefusal(file, 'STORE_CORRUPT', /of another program/, /Use a separate file/);
  });

  test('a database of another program that has a log', async () => {
    const file = temporaryFile();
    sql(
      file,
      "pragma journal_mode = wal; create table songs (title text); insert into songs values ('La mer')",
    );
    await expectRefusal(file, 'STORE_CORRUPT', /of another program/, /Use a separate file/);
  });

  test.for(['delete', 'wal'])(
    'a database from before the first release, in journal mode %s',
    async (mode) => {
      const file = temporaryFile();
      sql(
        file,
        `pragma journal_mode = ${mode};
      create table holdfast_schema (version integer primary key, applied_at text not null);
      insert into holdfast_schema values (12, '2026-01-01T00:00:00Z');
      create table tasks (seq integer primary key, id text not null unique, body text not null)`,
      );
      await expectRefusal(
        file,
        'STORE_NOT_OPENED',
        /before the first release/,
        /Use another file, or delete this/,
      );
    },
  );

  test('a database of a newer Holdfast', async () => {
    const file = temporaryFile();
    await populate(file, { tasks: 20, seed: 1 });
    sql(file, nextVersion);
    await expectRefusal(
      file,
      'STORE_TOO_NEW',
      /newer Holdfast.*version \d+, this Holdfast supports \d+/,
      /Update Holdfast/,
    );
  });

  test('a database whose version table is empty', async () => {
    const file = temporaryFile();
    await populate(file, { tasks: 20, seed: 1 });
    sql(file, 'delete from holdfast_schema_version');
    await expectRefusal(file, 'STORE_CORRUPT', /version table/, /[Rr]estore/);
  });

  test('a back-up made by a newer Holdfast', async () => {
    const [file, copy] = [temporaryFile(), temporaryFile()];
    const database = await openSqlite(file);
    await database.backup(copy);
    await database.close();
    sql(copy, nextVersion);
    await expectRefusal(copy, 'STORE_TOO_NEW', /newer Holdfast/, /Update Holdfast/);
  });

  test('a folder', async () => {
    const file = temporaryFile();
    mkdirSync(file);
    const failure = await refusalOf(file);
    expect(failure).toMatchObject({ code: 'STORE_NOT_OPENED' });
    expect(failure.message).toContain(file);
    expect(statSync(file).isDirectory()).toBe(true);
  });
});

describe('a database file that lost its end is refused', () => {
  test.for([0, 1, 100, 512, 4_096, 4_097, 8_192, 0.5, 0.9, 0.999])('when %f is left of it', async (left) => {
    const file = temporaryFile();
    await populate(file, { tasks: 300, seed: 1 });
    const { size } = statSync(file);
    truncateSync(file, left > 0 && left < 1 ? Math.floor(size * left) : left);
    const before = readFileSync(file);
    const failure = await refusalOf(file);
    expect(failure).toMatchObject({ code: 'STORE_CORRUPT' });
    expect(failure.message).toContain(file);
    expect(failure.message).toMatch(/[Rr]estore/);
    expect(readFileSync(file)).toEqual(before);
  });

  test('after a crash too, and its log is not thrown away', async () => {
    const file = temporaryFile();
    const other = new Other(file);
    await other.do('open');
    await other.do('work', 20, 1);
    await other.kill();
    const log = statSync(`${file}-wal`).size;
    truncateSync(file, 0);
    expect((await refusalOf(file)).message).toContain('the file is empty');
    expect(statSync(`${file}-wal`).size).toBe(log);
  });
});

test('a database from before the first release can be deleted, as the message says', async () => {
  const file = temporaryFile();
  sql(file, 'pragma journal_mode = wal; create table holdfast_schema (version integer primary key)');
  const { message } = await refusalOf(file);
  for (const [suffix] of message.matchAll(/-(wal|shm|instances)/g)) {
    rmSync(`${file}${suffix}`, { recursive: true, force: true });
  }
  rmSync(file);
  await (await openSqlite(file)).close();
  await (await openSqlite(file)).close();
});

test('an empty file can be deleted, as the message says, and a new database begun', async () => {
  const file = temporaryFile();
  writeFileSync(file, '');
  expect((await refusalOf(file)).message).toContain('delete the file to start with an empty store');
  rmSync(file);
  await (await openSqlite(file)).close();
  await (await openSqlite(file)).close();
  expect(readdirSync(dirname(file))).toEqual(['tasks.db']);
});

test('a database whose making was cut short is made by the next process', async () => {
  for (const place of ['open: instance locked', 'open: migrating'] as const) {
    const file = temporaryFile();
    const other = new Other(file);
    await other.do('killAt', place);
    other.do('open');
    expect(await other.end()).toBe('SIGKILL');
    await (await openSqlite(file)).close();
  }
});

test('processes that make the same database at the same time all get it', async () => {
  const file = temporaryFile();
  const others = Array.from({ length: 4 }, () => new Other(file));
  await Promise.all(others.map((other) => other.do('open')));
  await Promise.all(others.map((other) => other.do('work', 5, 1)));
  for (const other of others) await other.do('close');
  const { store } = await openSqlite(file);
  const { tasks } = await store.list({ owner: 'alice', limit: 100 });
  expect(tasks).toHaveLength(others.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0));
  await store.close();
});

test.skipIf(!canMount)('a file on a disk that is mounted read-only is refused', async () => {
  const disk = smallDisk();
  const file = join(disk.folder, 'tasks.db');
  await populate(file, { tasks: 20, seed: 1 });
  disk.makeReadOnly();
  await expectRefusal(file, 'STORE_READ_ONLY', /read-only/, /Make the file and its folder writable/);
});

describe.skipIf(process.getuid?.() !== 0)('a user who may not write is told', () => {
  test('when it is the folder', async () => {
    const folder = join(dirname(temporaryFile()), 'theirs');
    mkdirSync(folder);
    chmodSync(dirname(folder), 0o755);
    const file = join(folder, 'tasks.db');
    const { code, message } = await failureToOpen(file, nobody);
    expect(code).toBe('STORE_NOT_OPENED');
    expect(message).toContain(file);
    expect(message).toContain('this user can read and write there');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('when the folder cannot be made', async () => {
    const file = join(dirname(temporaryFile()), 'theirs', 'tasks.db');
    chmodSync(dirname(dirname(file)), 0o755);
    const { code, message } = await failureToOpen(file, nobody);
    expect(code).toBe('STORE_NOT_OPENED');
    expect(message).toContain(file);
    expect(message).toContain('Choose a location where this user can write');
    expect(existsSync(dirname(file))).toBe(false);
  });

  test('when it is the file', async () => {
    const file = temporaryFile();
    await populate(file, { tasks: 20, seed: 1 });
    chownSync(dirname(file), nobody, nobody);
    chmodSync(file, 0o644);
    const { code, message } = await failureToOpen(file, nobody);
    expect(code).toBe('STORE_READ_ONLY');
    expect(message).toContain(file);
    expect(message).toContain('Make the file and its folder writable');
  });

  test('when it is the file of another user, which is private', async () => {
    const file = temporaryFile();
    await populate(file, { tasks: 20, seed: 1 });
    chownSync(dirname(file), nobody, nobody);
    const { code, message } = await failureToOpen(file, nobody);
    expect(code).toBe('STORE_NOT_OPENED');
    expect(message).toContain(file);
    expect(message).toContain('this user can read and write there');
  });
});

async function expectRefusal(file: string, code: ErrorCode, problem: RegExp, remedy: RegExp): Promise<void> {
  const before = readFileSync(file);
  const failure = await refusalOf(file);
  expect(failure).toMatchObject({ code });
  expect(failure.message).toContain(file);
  expect(failure.message).toMatch(problem);
  expect(failure.message).toMatch(remedy);
  expect(readFileSync(file)).toEqual(before);
  expect(existsSync(`${file}-instances`)).toBe(false);
}

function sql(file: string, statements: string): void {
  const db = new DatabaseSync(file);
  db.exec(statements);
  db.close();
}
